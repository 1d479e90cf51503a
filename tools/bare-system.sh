#!/bin/bash
# Run a command in a Debian system that holds nothing but Python and certificates. Needs root, debootstrap and chroot.
#
#   RELEASE=bookworm tools/bare-system.sh ROOT FOLDER COMMAND
#
# ROOT    folder of the system; made at the first call (some 250 MB)
# FOLDER  appears in it as /packages, readable
# MIRROR  Debian's mirror, by default the one that debootstrap takes
#
# Settings of pip and certificates come from the environment (PIP_*, *_CA_*, SSL_*) and from /etc/pip.conf. A folder of wheels that
# PIP_FIND_LINKS names appears at the same place inside.
set -euo pipefail
root=$(realpath -m "$1")
folder=$(realpath "$2")
command=$3
[ "$(id -u)" = 0 ] || { echo "A bare system can only be made as root." >&2; exit 2; }
command -v debootstrap >/dev/null || { echo "debootstrap is missing (Debian: apt-get install debootstrap)." >&2; exit 2; }

if [ ! -e "$root/etc/debian_version" ]; then
    debootstrap --variant=minbase --include=python3,python3-venv,ca-certificates "${RELEASE:-bookworm}" "$root" ${MIRROR:+"$MIRROR"}
fi
for file in /etc/resolv.conf /etc/hosts /etc/pip.conf /etc/xdg/pip /usr/local/share/ca-certificates /etc/ssl/certs; do
    [ -e "$file" ] && mkdir -p "$root$(dirname "$file")" && cp -rLT --remove-destination "$file" "$root$file"
done

mounted=()
off() {
    for ((i = ${#mounted[@]} - 1; i >= 0; i--)); do umount "${mounted[i]}"; done
}
trap off EXIT
on() {  # SOURCE TARGET OPTIONS...
    mkdir -p "$root$2"
    mount "${@:3}" "$1" "$root$2"
    mounted+=("$root$2")
}
on "$folder" /packages --bind -o ro
on proc /proc -t proc
on /dev /dev --bind
case ${PIP_FIND_LINKS:-} in
    /*) [ -d "$PIP_FIND_LINKS" ] && on "$PIP_FIND_LINKS" "$PIP_FIND_LINKS" --bind -o ro ;;
esac

keep=()
while IFS='=' read -r name value; do
    case $name in PIP_* | SSL_CERT_* | *_CA_BUNDLE) keep+=("$name=$value") ;; esac
done < <(env)
chroot "$root" env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 "${keep[@]}" \
    bash -c "$command"
