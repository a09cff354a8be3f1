"""What taplint and pyvo, which nobody here wrote, say of `tapstat serve`."""

import random
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pyvo

from common import TAPSTAT

ROWS = 2000
STAGES = "TMV TME TMS TMC CPV CAP AVV QGE QPO QAS UWS MDQ OBS EXA"
TEXTS = """dataproduct_type obs_collection obs_id obs_publisher_did access_url access_format
    target_name s_region o_ucd pol_states facility_name instrument_name""".split()
DOUBLES = "s_ra s_dec t_min t_max t_exptime t_resolution".split()
FLOATS = "s_fov s_resolution em_min em_max em_res_power".split()
LONGS = "access_estsize s_xel1 s_xel2 t_xel em_xel pol_xel".split()


def corpus():
    """An ObsCore table with nulls and text that is hard to write."""
    rng = random.Random(20261130)
    maybe = lambda value: None if rng.random() < 0.1 else value
    columns = {}
    for name in TEXTS:
        words = ["image", "a, \"b\" & <c>", "α Cen", "x" * 50] if name == "target_name" else ["plain"]
        columns[name] = pa.array([maybe(rng.choice(words)) for _ in range(ROWS)], pa.string())
    for name in DOUBLES + FLOATS:
        kind = pa.float64() if name in DOUBLES else pa.float32()
        columns[name] = pa.array([maybe(rng.uniform(0, 1000)) for _ in range(ROWS)], kind)
    for name in LONGS:
        columns[name] = pa.array([maybe(rng.randrange(1 << 40)) for _ in range(ROWS)], pa.int64())
    columns["calib_level"] = pa.array([rng.randrange(5) for _ in range(ROWS)], pa.int32())
    columns["dataproduct_type"] = pa.array(["image"] * ROWS)
    columns["obs_collection"] = pa.array(["C"] * ROWS)
    columns["obs_id"] = pa.array([f"o{row:05}" for row in range(ROWS)])
    columns["obs_publisher_did"] = pa.array([f"ivo://test.example/o?{row}" for row in range(ROWS)])
    columns["s_ra"] = pa.array([rng.uniform(0, 360) for _ in range(ROWS)])
    columns["s_dec"] = pa.array([rng.uniform(-90, 90) for _ in range(ROWS)])
    return pa.table(columns)


def same(found, expected, name):
    """Whether a column has the values that the corpus has."""
    for row, (value, wanted) in enumerate(zip(found, expected, strict=True)):
        missing = value is np.ma.masked or value is None or (value != value)
        if wanted is None:
            assert missing or value == "", (name, row, value)
        elif isinstance(wanted, str):
            assert str(value) == wanted, (name, row, value, wanted)
        else:
            assert not missing and float(value) == float(wanted), (name, row, value, wanted)


def check_pyvo(url, table):
    service = pyvo.dal.TAPService(url)
    assert "ivoa.obscore" in service.tables, list(service.tables)
    query = f"SELECT TOP {ROWS} * FROM ivoa.obscore ORDER BY obs_id"
    for serialization in ("BINARY2", "TABLEDATA"):
        media_type = f"application/x-votable+xml;serialization={serialization}"
        sync = pyvo.dal.TAPQuery(url, query, RESPONSEFORMAT=media_type).execute()
        job = service.submit_job(query, RESPONSEFORMAT=media_type)
        job.run().wait(phases=["COMPLETED", "ERROR"], timeout=60)
        job.raise_if_error()
        for kind, results in (("sync", sync), ("async", job.fetch_result())):
            found = results.to_table()
            assert len(found) == ROWS, len(found)
            assert set(found.colnames) == set(table.column_names)
            for name in found.colnames:
                same(found[name], table[name].to_pylist(), name)
            print(f"pyvo {pyvo.__version__}: {kind} with {serialization} gave {ROWS} rows as they are")
        job.delete()
    cut = service.search("SELECT * FROM ivoa.obscore", maxrec=5)
    assert len(cut) == 5 and cut.status[0] == "OVERFLOW", cut.status
    try:
        service.search("SELECT nothing FROM ivoa.obscore")
    except pyvo.dal.DALQueryError as error:
        assert "nothing" in str(error)
    else:
        sys.exit("pyvo saw no error where there was one")


def check_taplint(url):
    if shutil.which("stilts") is None:
        print("skipped: taplint, as no stilts is installed")
        return
    command = ["stilts", "taplint", f"tapurl={url}", f"stages={STAGES}"]
    report = subprocess.run(command, capture_output=True, text=True, timeout=600).stdout
    # taplint always ends with 0: its totals say what it found.
    totals = re.search(r"^Totals: Errors: (\d+); Warnings: (\d+);.* Failures: (\d+)", report, re.M)
    if totals is None or int(totals[1]) > 0 or int(totals[3]) > 0:
        sys.exit(f"taplint:\n{report}")
    print(f"taplint, {STAGES}: {totals[0]}")


def main():
    table = corpus()
    with tempfile.TemporaryDirectory() as folder:
        pq.write_table(table, Path(folder) / "obscore.parquet")
        command = [TAPSTAT, "serve", "--corpus", folder]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            try:
                url = server.stdout.readline().strip()
                check_pyvo(url, table)
                check_taplint(url)
            finally:
                server.terminate()
        if server.returncode != 0:
            sys.exit(f"tapstat serve ended with {server.returncode}")


main()
