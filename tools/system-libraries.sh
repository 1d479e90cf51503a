#!/bin/sh
# See to the system libraries that Qt and the set-up need on Debian and Ubuntu.
#
#   tools/system-libraries.sh app|test
#
# Installs what is missing when run as root; otherwise prints the one line to type and goes on, because a missing
# library may not matter (a package of another name can provide it). Never fails: what can't work says so itself.
set -u

# Names of one package in different releases stand together, the newest first.
needed="libegl1 libgl1 libglib2.0-0t64|libglib2.0-0 libxkbcommon0 libxkbcommon-x11-0 libdbus-1-3 fontconfig
fonts-dejavu-core libxcb-cursor0 libxcb-icccm4 libxcb-image0 libxcb-keysyms1 libxcb-randr0 libxcb-render-util0
libxcb-shape0 libxcb-xinerama0 python3-venv"
[ "${1:-app}" = test ] && needed="$needed xvfb xauth"

if [ ! -e /etc/debian_version ] || ! command -v dpkg-query >/dev/null; then
    echo "This isn't Debian or Ubuntu: if the window doesn't start, install what Qt 6 needs here (EGL, xkbcommon, xcb, fonts)."
    exit 0
fi

names() {
    echo "$1" | tr '|' ' '
}

is_installed() {
    for name in $(names "$1"); do
        [ "$(dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null)" = installed ] && return 0
    done
    return 1
}

# This release's name of a package; the last one, which is the oldest, where the package lists know none.
name_here() {
    case $1 in *"|"*) ;; *) echo "$1" && return ;; esac  # asking the lists takes a while
    for name in $(names "$1"); do
        apt-cache show "$name" >/dev/null 2>&1 && break
    done
    echo "$name"
}

missing=""
for package in $needed; do
    is_installed "$package" || missing="$missing $package"
done
[ -z "$missing" ] && exit 0

names_here() {
    for package in $missing; do
        name_here "$package"
    done | tr '\n' ' '
}

install="apt-get install -y --no-install-recommends"
if [ "$(id -u)" = 0 ]; then
    packages=$(names_here)
    echo "Installing system libraries: $packages"
    export DEBIAN_FRONTEND=noninteractive
    # Package lists may be old or absent, as on a bare image: then once more with fresh ones. One by one last, because
    # a release that lacks one of them would otherwise get none.
    $install $packages >/dev/null 2>&1 || {
        apt-get update
        packages=$(names_here)
        $install $packages || for package in $packages; do
            $install "$package" || echo "Going on without $package, which couldn't be installed." >&2
        done
    }
else
    echo "System libraries are missing; if the window or the tests don't start, type:" >&2
    echo "  sudo $install $(names_here)" >&2
fi
exit 0
