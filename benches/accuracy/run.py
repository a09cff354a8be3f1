#!/usr/bin/env python3
"""How exact the generator's times are: against known delays and one known stall.

Usage: run.py [TAPSTAT]        a binary built with optimisation, on a quiet machine

Delays: `tapstat calibrate` measures a null target that holds every answer back for 1, 5
and 50 ms. A percentile is exact if it is within 2% or 100 µs of the delay, whichever is
wider. The target's own timer and the loopback are in the error, and so is the time that an
idle core takes to wake, twice in each request. To tell that apart all is measured a second
time with cores that do not sleep (0 written to /dev/cpu_dma_latency, which needs root).

Stall: `tapstat load` sends an open loop at 200 requests/s to a null target that stalls once
for 2 s in 8 s; what arithmetic says stands beside it.
"""

import contextlib
import json
import os
import pathlib
import struct
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


@contextlib.contextmanager
def awake():
    """Keeps idle cores from sleeping for as long as the block does; says whether it can."""
    try:
        latency = open("/dev/cpu_dma_latency", "wb", buffering=0)
    except OSError as error:
        print(f"cores cannot be kept awake: {error}")
        yield False
        return
    with latency:
        latency.write(struct.pack("i", 0))
        yield True


@contextlib.contextmanager
def null_target(binary, *flags):
    """The URL of a null target that runs for as long as the block does."""
    process = subprocess.Popen([binary, "null-target", *flags], stdout=subprocess.PIPE, text=True)
    try:
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait()


def stall(binary, *flags):
    """What an open loop says of a stall, beside what arithmetic says.

    Of 1600 requests 400 wait: by 2 s, 1.995 s, … The 99th percentile lies at
    0.99 × 1599 of the sorted ones, so 15.99 steps of 5 ms below the top.
    """
    expected = 2 - 0.005 * 15.99
    with null_target(binary, *flags) as url:
        command = [binary, "load", f"{url}/stall/bytes/100?at=2s&for=2s", "--connections", "1", "--warmup", "0"]
        command += ["--rate", "200", "--duration", "8", "--format", "json"]
        command += ["--insecure"] * ("--tls" in flags) + ["--http2"] * ("--http2" in flags)
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    found = json.loads(done.stdout)["figures"]
    p99, service = found["response"]["p99_s"], found["service"]["p99_s"]
    print(f"{' '.join(flags) or 'HTTP/1.1':>14}: p99 {p99:.4f} s, by arithmetic {expected:.4f} s "
          f"({(p99 / expected - 1) * 100:+.2f}%); p99 of the service time {service:.4f} s")


def main():
    default = os.environ.get("CARGO_TARGET_DIR", ROOT / "target") / pathlib.Path("release/tapstat")
    binary = sys.argv[1] if len(sys.argv) > 1 else default
    wires = [], ["--tls"], ["--http2"], ["--tls", "--http2"]
    print("== idle cores sleep, as usual")
    missed = sum(delays(binary, *flags) for flags in wires)
    print(f"\n{missed} percentiles off by more than 2% and 100 µs (marked !)")
    print("\none stall of 2 s, open loop at 200 requests/s for 8 s")
    for flags in wires:
        stall(binary, *flags)
    print("\n== cores kept awake")
    with awake() as is_awake:
        if is_awake:
            missed = sum(delays(binary, *flags) for flags in wires)
            print(f"\n{missed} percentiles off by more than 2% and 100 µs (marked !)")


main()
