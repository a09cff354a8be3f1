#!/usr/bin/env python3
"""Ingest beside DuckDB and Polars: the same JSON lines to Parquet.

Each round runs every tool once, so that what else the machine does hits all
alike. Printed are the medians of wall time, CPU time (user and system) and the
largest resident size, and their ratios to tapstat's. tapstat also hashes,
checks, sorts and recomputes percentiles; the others only convert.

Needs `pip install duckdb polars` in the Python that runs this, and a release
build of tapstat.
"""

import argparse
import os
import pathlib
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
RUN = "20260101T000000Z-0badcafe-bench"

DUCKDB = """
import duckdb, sys
connection = duckdb.connect()
connection.execute(f"SET threads = {sys.argv[3]}")
connection.execute(f"COPY (SELECT * FROM read_json('{sys.argv[1]}/samples/*.jsonl')) "
                   f"TO '{sys.argv[2]}' (FORMAT parquet, COMPRESSION zstd)")
"""

# Columns that are null in the first lines need their type said.
POLARS = """
import polars, sys
types = {"t_offered": polars.Float64, "error": polars.String, "pod": polars.String}
lines = polars.scan_ndjson(f"{sys.argv[1]}/samples/*.jsonl", schema_overrides=types)
lines.sink_parquet(sys.argv[2], compression="zstd")
"""


def measure(command, environment):
    """Runs a command: wall seconds, CPU seconds, and peak resident MiB."""
    begin = time.perf_counter()
    child = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    wall = time.perf_counter() - begin
    if status != 0:
        sys.exit(f"failed: {' '.join(map(str, command))}")
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tapstat", default=HERE.parents[1] / "target/release/tapstat", help="the binary (default: %(default)s)")
    parser.add_argument("--data", type=pathlib.Path, help="folder to keep the generated run in (default: a temporary one)")
    parser.add_argument("--requests", type=int, default=4_000_000, help="requests to generate (default: %(default)s)")
    parser.add_argument("--rungs", type=int, default=90, help="rungs to spread them over (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="rounds (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=2, help="threads of each tool (default: %(default)s)")
    options = parser.parse_args()

    with tempfile.TemporaryDirectory(prefix="tapstat-bench-") as temporary:
        temporary = pathlib.Path(temporary)
        run = (options.data or temporary) / RUN
        if not run.exists():
            subprocess.check_call([sys.executable, HERE / "generate.py", run, "--requests", str(options.requests), "--rungs", str(options.rungs)])
        size = sum(file.stat().st_size for file in (run / "samples").iterdir())
        print(f"{size / 1e9:.2f} GB of JSON lines, {options.threads} threads, {options.rounds} rounds")

        threads = str(options.threads)
        output, store = temporary / "out.parquet", temporary / "store"
        environment = dict(os.environ, POLARS_MAX_THREADS=threads)
        tools = {
            "tapstat": [options.tapstat, "--store", store, "ingest", "--threads", threads, run],
            "DuckDB": [sys.executable, "-c", DUCKDB, run, output, threads],
            "Polars": [sys.executable, "-c", POLARS, run, output],
        }
        results = {tool: [] for tool in tools}
        written = {}
        for _ in range(options.rounds):
            for tool, command in tools.items():
                shutil.rmtree(store, ignore_errors=True)
                output.unlink(missing_ok=True)
                results[tool].append(measure(command, environment))
                files = [output] if output.exists() else store.rglob("*.parquet")
                written[tool] = sum(file.stat().st_size for file in files)

        own = [statistics.median(column) for column in zip(*results["tapstat"])]
        print(f"{'':10}{'wall s':>14}{'CPU s':>16}{'peak MiB':>16}{'written MB':>12}")
        for tool, rounds in results.items():
            figures = [statistics.median(column) for column in zip(*rounds)]
            cells = "".join(f"{value:9.2f} {value / base:4.1f}×" for value, base in zip(figures, own))
            print(f"{tool:10}{cells}{written[tool] / 1e6:12.0f}")


if __name__ == "__main__":
    main()
