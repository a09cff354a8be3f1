#!/usr/bin/env python3
"""How long a question takes: ratios within one run.

1. `tapstat verdicts --run RUN` as a whole process, from a warm store of one run
   and of fifty: asking for one run must not cost more because others are there.
2. Percentiles of each rung over all requests by `tapstat sql`, beside DuckDB's
   quantile_cont on the same files.

Rounds are interleaved; medians are printed. Needs `pip install duckdb` in the
Python that runs this, a release build of tapstat, and, for the second part, the
run that `benches/ingest/run.py --data DIR` keeps.
"""

import argparse
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
RUN = "20260912T225808Z-d43b538d-tap-compare-scaling"

TAPSTAT_SQL = (
    "SELECT rung, get_field(p, 'p50') AS p50, get_field(p, 'p95') AS p95, get_field(p, 'p99') AS p99 "
    "FROM (SELECT rung, percentiles(latency_s) AS p FROM requests GROUP BY rung) AS each_rung ORDER BY rung"
)
DUCKDB = """
import duckdb, sys
connection = duckdb.connect()
connection.execute(f"SET threads = {sys.argv[2]}")
connection.execute(
    "SELECT rung, quantile_cont(latency_s, [0.5, 0.95, 0.99]) "
    f"FROM read_parquet('{sys.argv[1]}/requests/*/*.parquet', hive_partitioning = true) "
    "GROUP BY rung ORDER BY rung").fetchall()
"""


def seconds(command):
    begin = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begin


def interleaved(commands, rounds):
    """Median seconds of each command."""
    times = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            times[name].append(seconds(command))
    return {name: statistics.median(values) for name, values in times.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tapstat", default=ROOT / "target/release/tapstat", help="the binary (default: %(default)s)")
    parser.add_argument("--run", type=pathlib.Path, default=ROOT / "runs" / RUN, help="run directory for part 1 (default: the one that ships)")
    parser.add_argument("--requests", type=pathlib.Path, help="run directory with samples, for part 2")
    parser.add_argument("--copies", type=int, default=50, help="runs in the larger store (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=9, help="rounds (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=2, help="DuckDB's threads (default: %(default)s)")
    arguments = parser.parse_args()
    tapstat = str(pathlib.Path(arguments.tapstat).resolve())

    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        one, many = scratch / "one", scratch / "many"
        subprocess.run([tapstat, "--store", one, "ingest", arguments.run], check=True)
        for copy in range(arguments.copies):
            name = arguments.run.name if copy == 0 else f"copy-{copy:03}"
            shutil.copytree(arguments.run, scratch / name)
            subprocess.run([tapstat, "--store", many, "ingest", scratch / name], check=True, stderr=subprocess.DEVNULL)
        name = arguments.run.name
        medians = interleaved(
            {
                "one run": [tapstat, "--store", one, "verdicts", "--run", name],
                f"one of {arguments.copies}": [tapstat, "--store", many, "verdicts", "--run", name],
            },
            arguments.rounds,
        )
        first = medians["one run"]
        for what, median in medians.items():
            print(f"verdicts, {what}: {1000 * median:.0f} ms, {median / first:.2f} ×")

        if arguments.requests:
            store = scratch / "requests"
            subprocess.run([tapstat, "--store", store, "ingest", arguments.requests], check=True)
            medians = interleaved(
                {
                    "tapstat": [tapstat, "--store", store, "sql", "--format", "csv", TAPSTAT_SQL],
                    "DuckDB": [sys.executable, "-c", DUCKDB, store, str(arguments.threads)],
                },
                arguments.rounds,
            )
            for what, median in medians.items():
                print(f"percentiles per rung, {what}: {median:.2f} s, {median / medians['tapstat']:.2f} ×")


if __name__ == "__main__":
    main()
