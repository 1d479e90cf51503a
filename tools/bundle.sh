#!/bin/sh
# Pack calm-gui with Python and all libraries into build/bundle/calm-gui, a folder that runs on other Linux machines.
#
#   TORCH_INDEX=URL tools/bundle.sh
#
# TORCH_INDEX is the package index of torch's CPU builds: without it the bundle would hold gigabytes of CUDA libraries, which
# this script refuses. PYTHON names the Python to use. The bundle is built in an environment of its own and tried by a
# screenshot on a virtual X server.
set -eu
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
work=build/bundle-work
out=build/bundle

if [ -z "${TORCH_INDEX:-}" ]; then
    echo "Name the index of torch's CPU builds: make bundle TORCH_INDEX=URL" >&2
    exit 2
fi

"$python" -m venv "$work/venv"
bin=$work/venv/bin
requirements=$("$bin/python" - <<'END'
import tomllib
with open("pyproject.toml", "rb") as file:
    dependencies = tomllib.load(file)["project"]["dependencies"]
print(*(line for line in dependencies if line.startswith("torch")))
END
)
# Unquoted on purpose: one word per requirement.
"$bin/python" -m pip install --index-url "$TORCH_INDEX" $requirements
"$bin/python" -m pip install . "pyinstaller>=6.11"
if "$bin/python" -c 'import sys, torch; sys.exit(torch.version.cuda is None)'; then
    echo "The torch of $TORCH_INDEX is a CUDA build; name an index of CPU builds." >&2
    exit 1
fi

cat > "$work/calm-gui.py" <<'END'
from calm_gui.__main__ import script

script()
END
"$bin/pyinstaller" --noconfirm --clean --onedir --name calm-gui --distpath "$out" --workpath "$work/build" --specpath "$work" \
    --collect-all calm_gui --collect-all calm_resources --collect-submodules timm --copy-metadata calm-gui \
    --copy-metadata torch --copy-metadata numpy --copy-metadata matplotlib \
    --exclude-module tkinter --exclude-module calm_training "$work/calm-gui.py"

du -sh "$out/calm-gui"
tools/with-display.sh "$out/calm-gui/calm-gui" --screenshot "$out/screenshot.png"
echo "The bundle is $out/calm-gui; its first window is $out/screenshot.png."
