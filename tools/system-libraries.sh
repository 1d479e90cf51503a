#!/bin/sh
# See to the system libraries that Qt and the set-up need on Debian and Ubuntu.
#
#   tools/system-libraries.sh app|test
#
# Installs what is missing when run as root; otherwise prints the one line to type and goes on, because a missing
# library may not matter (a package of another name can provide it). Never fails: what can't work says so itself.
set -u

needed="libegl1 libgl1 libxkbcommon0 libxkbcommon-x11-0 libdbus-1-3 fontconfig fonts-dejavu-core
libxcb-cursor0 libxcb-icccm4 libxcb-image0 libxcb-keysyms1 libxcb-randr0 libxcb-render-util0 libxcb-shape0
libxcb-xinerama0 python3-venv"
[ "${1:-app}" = test ] && needed="$needed xvfb xauth"

if [ ! -e /etc/debian_version ] || ! command -v dpkg-query >/dev/null; then
    echo "This isn't Debian or Ubuntu: if the window doesn't start, install what Qt 6 needs here (EGL, xkbcommon, xcb, fonts)."
    exit 0
fi

missing=""
for package in $needed; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing="$missing $package"
done
[ -z "$missing" ] && exit 0

install="apt-get install -y --no-install-recommends"
if [ "$(id -u)" = 0 ]; then
    echo "Installing system libraries:$missing"
    export DEBIAN_FRONTEND=noninteractive
    # Package lists may be old or absent, as on a bare image: then once more with fresh ones. One by one last, because
    # a release that lacks one of them would otherwise get none.
    $install $missing >/dev/null 2>&1 || {
        apt-get update
        $install $missing || for package in $missing; do
            $install "$package" || echo "Going on without $package, which couldn't be installed." >&2
        done
    }
else
    echo "System libraries are missing; if the window or the tests don't start, type:" >&2
    echo "  sudo $install$missing" >&2
fi
exit 0
