"""Run the notebooks here from the top, and save them with their outputs:

    python run.py [--check] [NOTEBOOK.ipynb …]

With --check nothing is saved: exit 1 if a notebook fails, or if the text that
it gives is not what it was saved with. Pictures are left out of that, for they
differ by the version of the library that draws them.
"""

import argparse
import sys
import tempfile
from pathlib import Path

import nbformat
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

HERE = Path(__file__).resolve().parent
#: What one machine draws or measures otherwise than another.
VOLATILE = {"image/png", "image/svg+xml"}


def texts(notebook):
    """The text that each code cell gives, without what differs by machine."""
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        for output in cell.outputs:
            if output.output_type == "stream":
                yield output.text
            elif "data" in output and not VOLATILE & output.data.keys():
                yield output.data.get("text/plain", "")


def run(path, check):
    """Whether a notebook runs and, where it is checked, gives what it is saved with."""
    saved = nbformat.read(path, as_version=4)
    notebook = nbformat.read(path, as_version=4)
    # Files, not ports: nobody else's business.
    sockets = tempfile.TemporaryDirectory()
    kernel = AsyncKernelManager(
        kernel_name="python3", transport="ipc", ip=str(Path(sockets.name) / "kernel")
    )
    client = NotebookClient(
        notebook, km=kernel, timeout=300, record_timing=False, resources={"metadata": {"path": str(HERE)}}
    )
    try:
        client.execute()
    except CellExecutionError as error:
        print(f"{path.name}: {error}", file=sys.stderr)
        return False
    finally:
        sockets.cleanup()
    if not check:
        notebook.metadata.pop("widgets", None)
        notebook.metadata["language_info"] = {"name": "python"}
        nbformat.write(notebook, path)
        print(f"{path.name}: saved")
        return True
    for before, now in zip(texts(saved), texts(notebook), strict=True):
        if before != now:
            print(f"{path.name}: saved with\n{before}\nnow\n{now}", file=sys.stderr)
            return False
    print(f"{path.name}: as it was saved")
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="save nothing; fail where the text differs")
    parser.add_argument("notebooks", nargs="*", type=Path, help="all of this folder by default")
    arguments = parser.parse_args()
    paths = arguments.notebooks or sorted(HERE.glob("*.ipynb"))
    return 0 if all([run(path, arguments.check) for path in paths]) else 1


if __name__ == "__main__":
    sys.exit(main())
