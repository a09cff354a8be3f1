"""schemas/*.schema.json take what tapstat takes, and refuse what it refuses."""

import json
import tempfile
from itertools import count
from pathlib import Path

from jsonschema import Draft202012Validator

from common import SCHEMAS, published, tapstat, write_lines, write_run

RUNG = {
    "target": "one", "query_class": "Q01", "response_format": "csv", "concurrency": 8,
    "repetition": 1, "requests": 600, "errors": 0, "rps": 10.0,
}
# Where a line stands in a run directory, and the rung that it is about.
FILES = {
    "rung": ("rungs.jsonl", None),
    "request": ("samples/one-csv-Q01-c8-r1.jsonl", RUNG | {"requests": 1, "rps": 0.1}),
    "resource": ("resources.jsonl", RUNG),
    "event": ("events.jsonl", RUNG),
    "corpus": ("corpus.jsonl", RUNG),
}
# No empty text: readers take it for null, but writers should not count on that.
VALUES = [None, -1, 1.5, 7, 7.0, True, "text", [], {}]
# What only the generator looks at, when it sends the query.
NOT_INGESTED = ("headers", "body")
# What no schema can say: a figure that does not go with another one.
BETWEEN_FIELDS = [
    "within 1%", "as in `", "out of order", "at most the", "not before", "errors / ",
    " but samples/", "for 600 requests",
]


def read(name):
    schema = json.loads((SCHEMAS / f"{name}.schema.json").read_text())
    Draft202012Validator.check_schema(schema)
    return schema


def validator(name):
    return Draft202012Validator(read(name))


def variants(schema):
    """Lines with one field dropped, or set to something else."""
    full, minimal = schema["examples"]
    for example in (full, minimal):
        for field in example:
            yield f"without {field}", {k: v for k, v in example.items() if k != field}
    for field, property in schema["properties"].items():
        if field in NOT_INGESTED:
            continue
        for value in VALUES:
            yield f"{field} = {value!r}", minimal | {field: value}
        for inner in property.get("properties", {}):
            for value in (None, -1, 7, True, "text"):
                yield f"{field}.{inner} = {value!r}", minimal | {field: {inner: value}}


def failed(name, line):
    """Whether this is a request that failed."""
    if name != "request":
        return False
    status = line.get("status")
    return line.get("error") is not None or not isinstance(status, int) or status >= 400


def compare(name, folder):
    """Every variant is valid by the schema just if tapstat ingests it."""
    schema = read(name)
    judge = Draft202012Validator(schema)
    path, rung = FILES[name]
    numbers = count()
    wrong = []
    for what, line in variants(schema):
        run = folder / f"{name}-{next(numbers)}"
        write_lines(run / path, [line])
        if rung is not None:
            write_lines(run / "rungs.jsonl", [rung | {"errors": int(failed(name, line))}])
        code, _, stderr = tapstat(folder / "store", "ingest", run)
        valid = judge.is_valid(line)
        # What was left out, with a warning, was not taken.
        accepted = code == 0 and "not known" not in stderr
        if accepted != valid and not any(words in stderr for words in BETWEEN_FIELDS):
            says = "valid" if valid else "invalid"
            wrong.append(f"{name}, {what}: {says} by the schema, but: {stderr.strip()}")
    assert not wrong, "\n".join(wrong)
    print(f"{name}: {next(numbers)} variants judged alike")


for name in [path.name.split(".")[0] for path in SCHEMAS.glob("*.schema.json")]:
    for example in read(name)["examples"]:
        validator(name).validate(example)

with tempfile.TemporaryDirectory() as folder:
    run = Path(folder) / "run"
    write_run(run)
    for name, pattern in [
        ("rung", "rungs.jsonl"),
        ("request", "samples/*.jsonl"),
        ("resource", "resources.jsonl"),
        ("event", "events.jsonl"),
    ]:
        judge = validator(name)
        for path in run.glob(pattern):
            for line in path.read_text().splitlines():
                judge.validate(json.loads(line))
    for name in FILES:
        compare(name, Path(folder))

if data := published():
    for path in data.glob("*/environment.json"):
        validator("environment").validate(json.loads(path.read_text()))
    for path in data.glob("examples/*gates.json"):
        validator("gates").validate(json.loads(path.read_text()))
