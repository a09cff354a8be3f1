#!/bin/sh
# What other programs say of tapstat's files:
#
#     run.sh PATH-OF-TAPSTAT [FOLDER-OF-PUBLISHED-DATA]
#
# Makes a virtual environment of its own for as long as it runs; in its place
# one that has its and the notebooks' requirements.txt already can be named by TAPSTAT_VENV.
set -eu

if [ $# -lt 1 ] || [ $# -gt 2 ] || [ ! -x "$1" ]; then
    echo "usage: $0 PATH-OF-TAPSTAT [FOLDER-OF-PUBLISHED-DATA]" >&2
    exit 2
fi
tapstat=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
if [ $# -eq 2 ]; then
    TAPSTAT_PUBLISHED=$(cd "$2" && pwd)
    export TAPSTAT_PUBLISHED
fi
here=$(cd "$(dirname "$0")" && pwd)
notebooks=$(cd "$here/../../notebooks" && pwd)

if [ -n "${TAPSTAT_VENV:-}" ]; then
    venv=$TAPSTAT_VENV
else
    venv=$(mktemp -d)
    trap 'rm -rf "$venv"' EXIT
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check -r "$here/requirements.txt" \
        -r "$notebooks/requirements.txt"
fi

for script in other_readers raw_schemas report_page tap_clients; do
    "$venv/bin/python" -B "$here/$script.py" "$tapstat"
done

# The notebooks give what they were saved with.
TAPSTAT=$tapstat "$venv/bin/python" -B "$notebooks/run.py" --check
