#!/usr/bin/env python3
"""Two or more targets, each measured by tapstat, wrk, h2load and oha: what each says.

Usage: compare.py [options] NAME=URL NAME=URL…

A closed loop over so many connections, keep-alive, one page or query of each target by
GET. The tools take turns, and so do the targets. Throughput is what the tool itself
says; so are latencies, but for h2load, whose percentiles are taken from its log of
requests. Tools that are missing are left out.
"""

import argparse
import json
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

POINTS = ("p50", "p90", "p99", "max")
UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0}


def run(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def seconds(text):
    """`1.23ms` in seconds."""
    number, unit = re.fullmatch(r"([\d.]+)([a-z]+)", text).groups()
    return float(number) * UNITS[unit]


def tapstat(program, url, connections, duration):
    found = json.loads(run([program, "load", url, "-c", connections, "-d", duration, "--warmup", "0",
                            "--guard-max", "9", "--format", "json"]))
    response = found["figures"]["response"]
    return found["figures"]["rps"], {
        "p50": response["p50_s"], "p90": response["p90_s"], "p99": response["p99_s"],
        "max": response["max_s"],
    }


def wrk(program, url, connections, duration):
    text = run([program, "-t", "1", "-c", connections, "-d", f"{duration}s", "--latency", url])
    at = dict(re.findall(r"^\s+(\d+)%\s+(\S+)$", text, re.MULTILINE))
    latency = re.search(r"Latency\s+\S+\s+\S+\s+(\S+)", text).group(1)
    return float(re.search(r"Requests/sec:\s+([\d.]+)", text).group(1)), {
        "p50": seconds(at["50"]), "p90": seconds(at["90"]), "p99": seconds(at["99"]),
        "max": seconds(latency),
    }


def h2load(program, url, connections, duration):
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "log")
        text = run([program, "--h1", "-t", "1", "-c", connections, "-D", duration,
                    f"--log-file={log}", url])
        # Start, status, microseconds.
        times = sorted(int(line.split("\t")[2]) / 1e6 for line in log.read_text().splitlines())
    cut = statistics.quantiles(times, n=100, method="inclusive")
    return float(re.search(r"([\d.]+) req/s", text).group(1)), {
        "p50": cut[49], "p90": cut[89], "p99": cut[98], "max": times[-1],
    }


def oha(program, url, connections, duration):
    found = json.loads(run([program, "--no-tui", "--output-format", "json", "-c", connections,
                            "-z", f"{duration}s", url]))
    at = found["latencyPercentiles"]
    return found["summary"]["requestsPerSec"], {
        "p50": at["p50"], "p90": at["p90"], "p99": at["p99"], "max": found["summary"]["slowest"],
    }


TOOLS = {"tapstat": tapstat, "wrk": wrk, "h2load": h2load, "oha": oha}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--tapstat", required=True, help="a binary built with optimisation")
    parser.add_argument("--connections", default="8")
    parser.add_argument("--seconds", default="5")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("targets", nargs="+", metavar="NAME=URL")
    args = parser.parse_args()
    targets = dict(target.split("=", 1) for target in args.targets)
    programs = {tool: args.tapstat if tool == "tapstat" else shutil.which(tool) for tool in TOOLS}
    rates, points = {}, {}
    for _ in range(args.repeats):
        for tool, program in programs.items():
            if program is None:
                continue
            for name, url in targets.items():
                rate, latencies = TOOLS[tool](program, url, args.connections, args.seconds)
                rates.setdefault((tool, name), []).append(rate)
                points.setdefault((tool, name), []).append(latencies)
    print(f"{args.connections} connections, median of {args.repeats} × {args.seconds} s\n")
    print("| target | tool | requests/s | " + " | ".join(POINTS) + " |")
    print("|---|---|---:|" + "---:|" * len(POINTS))
    for name in targets:
        for tool in (tool for tool in TOOLS if (tool, name) in rates):
            median = {point: statistics.median(at[point] for at in points[tool, name])
                      for point in POINTS}
            cells = " | ".join(f"{1e3 * median[point]:.3f} ms" for point in POINTS)
            print(f"| {name} | {tool} | {statistics.median(rates[tool, name]):,.0f} | {cells} |")
    first, *others = targets
    for other in others:
        ratios = ", ".join(
            f"{tool} ×{statistics.median(rates[tool, other]) / statistics.median(rates[tool, first]):.2f}"
            for tool in TOOLS if (tool, first) in rates)
        print(f"\n{other} over {first}: {ratios}")


if __name__ == "__main__":
    main()
