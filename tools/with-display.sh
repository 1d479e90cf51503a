#!/bin/sh
# Run a command on a virtual X server of a known size.
#
#   tools/with-display.sh COMMAND...
set -eu
if ! command -v xvfb-run >/dev/null; then
    echo "xvfb-run isn't here, so the tests on an X server are left out (Debian: apt-get install xvfb xauth)." >&2
    exit 0
fi
exec xvfb-run --auto-servernum --server-args="-screen 0 1600x1000x24" "$@"
