#!/usr/bin/env python3
"""How exact the generator's times are: against known delays and one known stall.

Usage: run.py [TAPSTAT]        a binary built with optimisation, on a quiet machine

Delays: `tapstat calibrate` measures a null target that holds every answer back for 1, 5
and 50 ms. A percentile is exact if it is within 2% or 100 µs of the delay, whichever is
wider. The target's own timer and the loopback are in the error.

Stall: the ignored test `stall_arithmetic` of tests/all/generator.rs measures an open loop
at 200 requests/s with one stall of 2 s in 8 s, and prints what arithmetic says beside it.
"""

import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def delays(binary, *flags):
    command = [binary, "calibrate", "--format", "json", "--seconds", "4", "--repetitions", "1", *flags]
    found = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    print(f"\n{found['protocol']}: known delays")
    print(f"{'delay':>8} {'requests':>9} {'p50 off':>20} {'p95 off':>20} {'p99 off':>20}")
    missed = 0
    for timing in found["timing"]:
        delay = timing["delay_s"]
        cells = []
        for name in ("p50", "p95", "p99"):
            off = timing[f"{name}_error_s"]
            exact = abs(off) <= max(0.02 * delay, 100e-6)
            missed += not exact
            cells.append(f"{off * 1e6:7.0f} µs {off / delay * 100:6.2f}%{' ' if exact else '!'}")
        print(f"{delay * 1e3:5.0f} ms {timing['requests']:>9} " + " ".join(f"{c:>20}" for c in cells))
    return missed


def stall():
    command = ["cargo", "test", "--release", "--test", "all", "generator::stall_arithmetic", "--",
               "--ignored", "--nocapture"]
    done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True)
    print("\none stall of 2 s, open loop at 200 requests/s for 8 s")
    for line in done.stdout.splitlines():
        if line.startswith("stall "):
            print(line.removeprefix("stall "))


def main():
    default = os.environ.get("CARGO_TARGET_DIR", ROOT / "target") / pathlib.Path("release/tapstat")
    binary = sys.argv[1] if len(sys.argv) > 1 else default
    missed = 0
    for flags in ([], ["--tls"], ["--http2"], ["--tls", "--http2"]):
        missed += delays(binary, *flags)
    stall()
    print(f"\n{missed} percentiles off by more than 2% and 100 µs (marked !)")


main()
