#!/usr/bin/env python3
"""Whether the generator's memory grows from one window to the next.

Usage: memory.py [--tapstat FILE] [--windows 10] [--seconds 60] [--wire http1|tls|http2]

A campaign of so many rungs at full rate against the null target: 8 connections, bodies
of 1,000 bytes; http2 is over TLS, with 32 streams on each connection. Printed is the resident memory at the end of each window, which holds
32 bytes a request, and what each rung's file of samples takes.
"""

import argparse
import json
import os
import pathlib
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROTOCOL = """
name = "memory"
[rule]
guard_max = 9.0
[grid]
targets = ["null"]
classes = ["small"]
formats = ["-"]
concurrencies = [8]
repetitions = {windows}
[window]
warmup_seconds = 1
measure_seconds = {seconds}
[workload]
generator_workers = 1
[measure]
targets = "targets.toml"
corpus = "corpus.jsonl"
gates = false
streams = {streams}
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    default = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"), "release/tapstat")
    parser.add_argument("--tapstat", default=str(default))
    parser.add_argument("--windows", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--wire", choices=["http1", "tls", "http2"], default="http1")
    args = parser.parse_args()
    flags = {"http1": [], "tls": ["--tls"], "http2": ["--tls", "--http2"]}[args.wire]
    server = subprocess.Popen([args.tapstat, "null-target", *flags], stdout=subprocess.PIPE, text=True)
    try:
        url = server.stdout.readline().strip()
        with tempfile.TemporaryDirectory() as folder:
            measure(args, url, pathlib.Path(folder))
    finally:
        server.terminate()
        server.wait()


def measure(args, url, folder):
    (folder / "protocol.toml").write_text(
        PROTOCOL.format(windows=args.windows, seconds=args.seconds, streams=32 if args.wire == "http2" else 1))
    http = "2" if args.wire == "http2" else "1.1"
    tls = "" if args.wire == "http1" else "tls = { insecure = true }\n"
    (folder / "targets.toml").write_text(
        f'[target.null]\nserver = "null"\nbase_url = "{url}"\nkind = "http"\nhttp_version = "{http}"\n{tls}')
    query = {"query_id": "1", "query_class": "small", "method": "GET", "path": "/bytes/1000"}
    (folder / "corpus.jsonl").write_text(json.dumps(query) + "\n")
    subprocess.run([args.tapstat, "measure", "protocol.toml", "--into", "runs"], cwd=folder, check=True)
    (run,) = (folder / "runs").iterdir()
    print(f"{'window':>6} {'requests':>12} {'resident MiB':>13} {'samples MiB':>12}")
    for line in (run / "events.jsonl").read_text().splitlines():
        event = json.loads(line)
        if event["kind"] != "generator":
            continue
        found = event["detail"]
        resident = found["guard"]["rss_bytes"] / 2**20
        samples = (run / "samples" / f"{event['rung']}.parquet").stat().st_size / 2**20
        window = event["rung"].rsplit("-r", 1)[1]
        print(f"{window:>6} {found['counts']['sent']:>12,} {resident:>13.1f} {samples:>12.1f}")


main()
