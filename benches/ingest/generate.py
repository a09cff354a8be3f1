#!/usr/bin/env python3
"""Writes a run directory of many requests, to measure ingest with.

The lines are those of a Python load generator: times as `time.time()` and
`time.perf_counter()` give them, requests in the order in which they ended, a
few failed ones. Nothing here depends on the clock or the host: the same
arguments give the same bytes.
"""

import argparse
import hashlib
import json
import pathlib
import random
import statistics

CLASSES = {"Q01": (0.004, 18_000, 100), "Q05": (0.022, 250_000, 2_000), "Q09": (0.09, 1_400_000, 10_000)}
TARGETS = {"argus": 1.35, "egernia": 1.0}


def requests(rng, query_class, concurrency, slower, count, start):
    """The requests of one rung, in order of their end."""
    base, size, rows = CLASSES[query_class]
    free = [start + rng.random() * 1e-3 for _ in range(concurrency)]
    done = []
    for number in range(count):
        worker = number % concurrency
        latency = base * slower * rng.lognormvariate(0.0, 0.35)
        sent = free[worker]
        free[worker] = sent + latency + rng.random() * 2e-5
        query = rng.randrange(200)
        failed = rng.random() < 0.0005
        done.append((sent + latency, sent, worker, number, latency, query, failed))
    done.sort()
    for _, sent, worker, number, latency, query, failed in done:
        yield {
            "t_start": sent,
            "t_offered": None,
            "query_class": query_class,
            "query_id": f"{query_class}-{query:04}",
            "status": None if failed else 200,
            "error": "timed out" if failed else None,
            "latency_s": latency,
            "ttfb_s": None if failed else latency * (0.6 + 0.3 * rng.random()),
            "response_bytes": None if failed else int(size * (0.8 + 0.002 * query)) + number % 7,
            "rows": None if failed else rows,
            "pod": None,
            "mode": "sync",
            "request_id": hashlib.blake2b(f"{worker}-{number}".encode(), digest_size=4).hexdigest(),
        }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=pathlib.Path, help="run directory to make; its name is the run id")
    parser.add_argument("--requests", type=int, default=4_000_000, help="requests in all (default: %(default)s)")
    parser.add_argument("--rungs", type=int, default=90, help="rungs they are spread over (default: %(default)s)")
    options = parser.parse_args()

    samples = options.directory / "samples"
    samples.mkdir(parents=True)
    rng = random.Random(1)
    start = 1_757_718_488.0
    cells = [(c, n, t) for c in CLASSES for n in (1, 8, 32, 64, 128) for t in TARGETS]
    with open(options.directory / "rungs.jsonl", "w") as rungs:
        for index in range(options.rungs):
            query_class, concurrency, target = cells[index % len(cells)]
            repetition = index // len(cells) + 1
            count = options.requests // options.rungs + (index < options.requests % options.rungs)
            name = f"{target}-csv-{query_class}-c{concurrency}-r{repetition}"
            latencies, errors, end = [], 0, start
            with open(samples / f"{name}.jsonl", "w") as file:
                for request in requests(rng, query_class, concurrency, TARGETS[target], count, start):
                    file.write(json.dumps(request) + "\n")
                    end = max(end, request["t_start"] + request["latency_s"])
                    if request["error"]:
                        errors += 1
                    else:
                        latencies.append(request["latency_s"])
            percentiles = statistics.quantiles(latencies, n=100, method="inclusive")
            rung = {
                "target": target,
                "server": target,
                "query_class": query_class,
                "response_format": "csv",
                "concurrency": concurrency,
                "repetition": repetition,
                "requests": count,
                "errors": errors,
                "elapsed_s": end - start,
                "rps": count / (end - start),
                "latency_p50_s": percentiles[49],
                "latency_p95_s": percentiles[94],
                "latency_p99_s": percentiles[98],
                "generator_workers": 4,
                "generator_cpu_peak": 0.4,
                "generator_guard_ok": True,
                "position": index,
            }
            rungs.write(json.dumps(rung) + "\n")
            start = end + 5.0


if __name__ == "__main__":
    main()
