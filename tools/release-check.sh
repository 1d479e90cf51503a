#!/bin/bash
# What a release is tried with beyond CI; `make release-check` builds dist first.
#
#   tools/release-check.sh [systems] [bounds] [pythons]      all three by default
#
# systems  sdist and wheel in bare Debian systems (RELEASES, by default "bookworm trixie"; MIRROR): install, explain a picture
# bounds   the oldest releases of all libraries that pyproject.toml allows, but torch and torchvision: the fast tests
# pythons  core, render and session without torch under every Python 3.11 or newer on this machine
#
# Everything lies in WORK, by default build/release-check, and goes on where it was.
set -euo pipefail
cd "$(dirname "$0")/.."
work=${WORK:-build/release-check}
python=${PYTHON:-python3}
mkdir -p "$work"

# Tests of arithmetic, figures and files that need neither torch nor Qt.
without_torch="test_arrays test_comparison test_core_readings test_documents test_hierarchy_direction test_limits test_map_words
test_notation test_ranks test_session test_tiff"

systems() {
    picture=/tmp/calm-gui/lib/python3*/site-packages/calm_resources/samples/afghan_hound.jpg
    for release in ${RELEASES:-bookworm trixie}; do
        for package in dist/*.tar.gz dist/*.whl; do
            echo "== $package in a bare $release =="
            RELEASE=$release tools/bare-system.sh "$work/$release" dist "
                set -e
                rm -rf /tmp/calm-gui /tmp/out && python3 -m venv /tmp/calm-gui
                /tmp/calm-gui/bin/pip install --quiet /packages/$(basename "$package")
                cd /tmp
                calm=/tmp/calm-gui/bin
                \$calm/calm-explain $picture --target n02084071 --format png,npz --out /tmp/out --device cpu
                test -s /tmp/out/summary.csv -o -n \"\$(ls /tmp/out/*.png /tmp/out/*.npz)\"
                test -s /tmp/calm-gui/lib/python3*/site-packages/calm_resources/site/index.html
                \$calm/calm-gui --version"
        done
    done
}

bounds() {
    echo "== the oldest libraries that are allowed =="
    "$python" -m venv "$work/bounds"
    "$work/bounds/bin/python" - >"$work/oldest.txt" <<'END'
import re
import tomllib

with open("pyproject.toml", "rb") as file:
    project = tomllib.load(file)["project"]
for line in project["dependencies"]:
    name, oldest = re.match(r"([A-Za-z0-9_.-]+)>=([0-9.]+)", line).groups()
    marker = line.partition(";")[2]
    if not name.startswith("torch"):
        print(f"{name}=={oldest}" + (f" ;{marker}" if marker else ""))
END
    "$work/bounds/bin/pip" install --quiet --constraint "$work/oldest.txt" --editable ".[dev]"
    QT_QPA_PLATFORM=offscreen OMP_NUM_THREADS=1 "$work/bounds/bin/pytest" -q -n auto -m "not slow and not shared"
}

pythons() {
    for one in python3.11 python3.12 python3.13 python3.14; do
        "$one" -c 'import sys' 2>/dev/null || continue
        echo "== $one without torch =="
        "$one" -m venv "$work/$one"
        "$work/$one/bin/pip" install --quiet numpy scipy pillow tifffile matplotlib nltk safetensors platformdirs tqdm \
            pytest pytest-timeout hypothesis
        printf '[pytest]\nfilterwarnings = error\nmarkers =\n    slow: slow\n    shared: needs data\n' >"$work/pytest.ini"
        # Unquoted on purpose: one word per file.
        PYTHONPATH=.:training:resources "$work/$one/bin/python" -m pytest -q -c "$work/pytest.ini" --rootdir . \
            -m "not slow and not shared" $(printf 'tests/unit/%s.py ' $without_torch)
    done
}

for part in ${@:-systems bounds pythons}; do
    case $part in
        systems | bounds | pythons) "$part" ;;
        *) echo "There is no part $part; there are systems, bounds, pythons." >&2; exit 2 ;;
    esac
done
