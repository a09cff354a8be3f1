"""DuckDB, Polars and PyArrow read the store as it lies, and agree with tapstat."""

import csv
import io
import json
import math
import tempfile
from pathlib import Path

import duckdb
import numpy
import polars
import pyarrow.parquet

from common import SCHEMAS, expect, published, write_run

KEY = ["run", "tier", "response_format", "query_class", "concurrency", "target"]
RUN = "20260912T225808Z-0123abcd-generated"
SCALING = "20260912T225808Z-d43b538d-tap-compare-scaling"


def agree(what, ours, theirs):
    """Both have the same keys, and the same figures but for rounding."""
    assert ours, f"{what}: nothing to compare"
    assert ours.keys() == theirs.keys(), f"{what}: {ours.keys() ^ theirs.keys()}"
    for key, figure in ours.items():
        other = theirs[key]
        same = figure == other or math.isclose(figure, other, rel_tol=1e-12)
        assert same, f"{what}: {key}: {figure} by tapstat, {other} by another"
    print(f"{what}: {len(ours)} agree")


def keyed(rows):
    """The last column by the others, as text; nulls are empty."""
    return {tuple("" if k is None else str(k) for k in key): figure for *key, figure in rows}


def medians_by_tapstat(store):
    rows = csv.DictReader(io.StringIO(expect(store, "cells", "--format", "csv")))
    return keyed([*(row[k] for k in KEY), float(row["rps_median"])] for row in rows)


def medians_by_duckdb(store):
    columns = ", ".join(KEY)
    sql = f"""
        SELECT {columns}, median(rps)
        FROM read_parquet('{store}/rungs/*/*.parquet', hive_partitioning=true)
        GROUP BY {columns}
    """
    return keyed(duckdb.sql(sql).fetchall())


def medians_by_polars(store):
    rungs = polars.scan_parquet(f"{store}/rungs/*/*.parquet", hive_partitioning=True)
    cells = rungs.group_by(KEY).agg(polars.col("rps").median())
    return keyed(cells.select(*KEY, "rps").collect().rows())


PERCENTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p999": 0.999, "max": 1.0}


def percentiles_by_tapstat(store):
    columns = ", ".join(f"latency_{name}_s" for name in PERCENTILES)
    sql = f"SELECT rung, {columns} FROM rungs WHERE run = '{RUN}'"
    rows = json.loads(expect(store, "sql", sql, "--format", "json"))
    return {(row["rung"], p): row[f"latency_{p}_s"] for row in rows for p in PERCENTILES}


def percentiles_by_duckdb(store):
    figures = ", ".join(f"quantile_cont(latency_s, {share})" for share in PERCENTILES.values())
    sql = f"""
        SELECT rung, {figures}
        FROM read_parquet('{store}/requests/*/*.parquet', hive_partitioning=true)
        WHERE error IS NULL AND status < 400
        GROUP BY rung
    """
    rows = duckdb.sql(sql).fetchall()
    return {(rung, p): figure for rung, *row in rows for p, figure in zip(PERCENTILES, row)}


def percentiles_by_numpy(run):
    found = {}
    for path in (run / "samples").iterdir():
        requests = [json.loads(line) for line in path.read_text().splitlines()]
        latencies = [r["latency_s"] for r in requests if r["error"] is None and r["status"] < 400]
        for name, share in PERCENTILES.items():
            found[path.stem, name] = float(numpy.quantile(latencies, share))
    return found


def assert_schemas(store):
    """The files have the columns that schemas/*.arrow.json says."""
    arrow = {"string": "Utf8", "int64": "Int64", "double": "Float64", "bool": "Boolean"}
    files = sorted(store.glob("*/run=*/*.parquet"))
    for path in files:
        table = path.parts[-3]
        described = json.loads((SCHEMAS / f"{table}.arrow.json").read_text())["fields"]
        expected = [(f["name"], f["type"], f["nullable"]) for f in described]
        schema = pyarrow.parquet.read_schema(path)
        found = [(field.name, arrow[str(field.type)], field.nullable) for field in schema]
        assert found == expected, f"{path}: {found}"
    tables = {path.parts[-3] for path in files}
    assert {"runs", "rungs", "requests", "resources", "events"} <= tables, tables
    print(f"schemas of {len(files)} files of {len(tables)} tables: as described")


with tempfile.TemporaryDirectory() as folder:
    store, run = Path(folder) / "store", Path(folder) / RUN
    write_run(run)
    expect(store, "ingest", run)
    if data := published():
        expect(store, "ingest", data / SCALING)
    else:
        print("skipped: no published data")

    medians = medians_by_tapstat(store)
    agree("median rps of every cell, DuckDB", medians, medians_by_duckdb(store))
    agree("median rps of every cell, Polars", medians, medians_by_polars(store))
    percentiles = percentiles_by_tapstat(store)
    agree("percentiles of every rung, DuckDB", percentiles, percentiles_by_duckdb(store))
    agree("percentiles of every rung, NumPy", percentiles, percentiles_by_numpy(run))
    assert_schemas(store)
