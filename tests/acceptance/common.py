"""What the acceptance scripts share: the program, and a run to ingest."""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

SOURCES = Path(__file__).resolve().parents[2]
SCHEMAS = SOURCES / "schemas"
TAPSTAT = Path(sys.argv[1])


def published():
    """The folder of published data, or None."""
    path = Path(os.environ.get("TAPSTAT_PUBLISHED", SOURCES / ".." / "shared" / "published"))
    return path if path.is_dir() else None


def tapstat(store, *arguments):
    """Calls the program: exit code, standard output, standard error."""
    command = [TAPSTAT, "--store", store, *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def expect(store, *arguments):
    """Calls the program, which must succeed: standard output."""
    code, stdout, stderr = tapstat(store, *arguments)
    if code != 0:
        sys.exit(f"tapstat {' '.join(map(str, arguments))} ended with {code}: {stderr}")
    return stdout


def write_lines(path, objects):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(thing) + "\n" for thing in objects))


def requests(rng, start, count):
    """Requests of one rung; some of them fail."""
    for number in range(count):
        failed = rng.random() < 0.05
        latency = rng.lognormvariate(-4, 1)
        yield {
            "t_start": start + 60 * number / count,
            "query_class": "Q01",
            "query_id": f"q{rng.randrange(20)}",
            "status": 503 if failed and number % 2 else None if failed else 200,
            "error": "timeout" if failed and number % 2 == 0 else None,
            "latency_s": latency,
            "ttfb_s": latency * rng.random(),
            "response_bytes": rng.randrange(100_000),
            "rows": None if failed else rng.randrange(1000),
            "pod": rng.choice([None, "api-0", "api-1"]),
            "mode": "sync",
            "request_id": f"{start:.0f}-{number}",
        }


def write_run(path):
    """A run with samples: two tiers, two targets, two or three repetitions."""
    rng = random.Random(20260912)
    rungs = []
    for tier in ("8", "16"):
        for target in ("ant", "bee"):
            for concurrency in (8, 32):
                for repetition in range(1, 4 if target == "ant" else 3):
                    name = f"t{tier}-{target}-csv-Q01-c{concurrency}-r{repetition}"
                    count = rng.randrange(200, 400)
                    lines = list(requests(rng, 1_789_253_888.5 + 100 * len(rungs), count))
                    write_lines(path / "samples" / f"{name}.jsonl", lines)
                    failed = [r["error"] is not None or r["status"] >= 400 for r in lines]
                    rungs.append({
                        "tier": tier,
                        "target": target,
                        "query_class": "Q01",
                        "response_format": "csv",
                        "concurrency": concurrency,
                        "repetition": repetition,
                        "requests": count,
                        "errors": sum(failed),
                        "elapsed_s": 60.5,
                        "generator_cpu_peak": rng.random() / 2,
                        "generator_guard_ok": True,
                    })
    write_lines(path / "rungs.jsonl", rungs)
    resources = [
        {"t": 1_789_253_888.0 + t, "container": c, "cpu_usec": 500_000 * t, "mem_bytes": 1 << 30}
        for t in range(100)
        for c in ("ant", "bee")
    ]
    write_lines(path / "resources.jsonl", resources)
    write_lines(path / "events.jsonl", [{"t": 1_789_253_900.0, "kind": "note", "detail": "fine"}])
