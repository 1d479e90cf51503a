#!/bin/sh
# Make or complete the Python environment.
#
#   tools/environment.sh FOLDER app|dev|bench|docs
#
# PYTHON names the Python to use (default python3), TORCH_INDEX a package index for torch and torchvision.
# Whatever else pip needs, it takes from where it's configured to.
set -eu
venv=$1
purpose=$2
python=${PYTHON:-python3}

fail() {
    echo "$*" >&2
    exit 1
}

# An interrupted set-up or a removed Python leaves an environment that doesn't start, has no pip, or isn't one.
usable='import os, pip, sys; sys.exit(os.path.realpath(sys.prefix) != os.path.realpath(sys.argv[1]))'
if ! "$venv/bin/python" -c "$usable" "$venv" 2>/dev/null; then
    command -v "$python" >/dev/null || fail "There is no $python here. Install Python 3.11 or newer, or name it: make PYTHON=python3.12 ..."
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
        fail "$python is $("$python" -V 2>&1), but calm-gui needs Python 3.11 or newer. Name another: make PYTHON=python3.12 ..."
    rm -rf "$venv"
    echo "Making the environment in $venv"
    "$python" -m venv "$venv" || {
        rm -rf "$venv"
        fail "$python couldn't make an environment. On Debian and Ubuntu its module for that is a package of its own:
  sudo apt-get install python3-venv"
    }
fi

if [ -n "${TORCH_INDEX:-}" ]; then
    requirements=$("$venv/bin/python" - <<'END'
import tomllib
with open("pyproject.toml", "rb") as file:
    dependencies = tomllib.load(file)["project"]["dependencies"]
print(*(line for line in dependencies if line.startswith("torch")))
END
    )
    # Unquoted on purpose: one word per requirement.
    "$venv/bin/python" -m pip install --index-url "$TORCH_INDEX" $requirements
fi

case $purpose in
    app) extras="" complete="app" ;;
    dev) extras="[dev]" complete="app dev" ;;
    bench) extras="[dev,bench]" complete="app dev bench" ;;
    docs) extras="[docs]" complete="app docs" ;;
    *) fail "unknown purpose: $purpose" ;;
esac
"$venv/bin/python" -m pip install --editable ".$extras"

# make compares these with pyproject.toml to see whether there is anything to do.
for stamp in $complete; do
    touch "$venv/.$stamp"
done
