#!/bin/sh
# Proves that a bare system with nothing but `make` on it can do what the README promises: builds a
# minimal Debian tree with debootstrap, puts a copy of this clone in it, in a folder whose name has
# spaces, and runs make there without a terminal and with almost no environment.
#
#   sudo sh scripts/prove-bare.sh              make demo, then make test
#   sudo sh scripts/prove-bare.sh setup        these targets instead
#
# Needs root, debootstrap, git, about 4 GB where TMPDIR points (/tmp), and a network. The environment
# may say:
#   SUITE      the release: bookworm (as without it), trixie, or an Ubuntu one with its MIRROR
#   MIRROR     where packages come from: http://deb.debian.org/debian
#   CA_BUNDLE  certificates to trust instead of the system's own (as without it: $SSL_CERT_FILE)
#   KEEP=1     leave the tree there for a look
# http_proxy, https_proxy, no_proxy, PIP_INDEX_URL and PIP_EXTRA_INDEX_URL are handed on, and where
# VIDPIPE_TEST_DATA names a folder, the tests find it, read-only.
set -eu
unset CDPATH
cd "$(dirname "$0")/.."

suite=${SUITE:-bookworm}
mirror=${MIRROR:-http://deb.debian.org/debian}
bundle=${CA_BUNDLE:-${SSL_CERT_FILE:-}}
[ $# -gt 0 ] || set -- demo test

say() { printf '== prove-bare: %s\n' "$*" >&2; }
[ "$(id -u)" -eq 0 ] || { say "only root can make a tree to change into"; exit 2; }
for tool in debootstrap git; do
    command -v "$tool" >/dev/null || { say "please install $tool"; exit 2; }
done

work=$(mktemp -d "${TMPDIR:-/tmp}/vidpipe-bare.XXXXXX")
root=$work/root
clone="/src/a clone of vidpipe"

# Nothing is removed while anything is still mounted below: it might be the machine's own.
clean_up() {
    code=$?
    trap - EXIT
    for place in src/data sys dev/pts dev/shm proc; do
        while grep -q " $root/$place " /proc/mounts; do
            umount "$root/$place" 2>/dev/null || umount -l "$root/$place" || break
        done
    done
    if [ -n "${KEEP:-}" ]; then
        say "the tree stays: $root"
    elif grep -q " $root/" /proc/mounts; then
        say "something is still mounted below $root: please unmount and remove it"
    else
        rm -rf --one-file-system "$work"
    fi
    exit "$code"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

inside() {
    env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root CI=true \
        ${http_proxy:+"http_proxy=$http_proxy"} ${https_proxy:+"https_proxy=$https_proxy"} \
        ${no_proxy:+"no_proxy=$no_proxy"} \
        ${PIP_INDEX_URL:+"PIP_INDEX_URL=$PIP_INDEX_URL"} \
        ${PIP_EXTRA_INDEX_URL:+"PIP_EXTRA_INDEX_URL=$PIP_EXTRA_INDEX_URL"} \
        ${bundle:+SSL_CERT_FILE=/etc/given-ca.pem PIP_CERT=/etc/given-ca.pem} \
        ${test_data:+"VIDPIPE_TEST_DATA=$test_data"} \
        chroot "$root" "$@" </dev/null
}

say "a minimal $suite"
debootstrap --variant=minbase "$suite" "$root" "$mirror" >"$work/debootstrap.log" 2>&1 ||
    { tail -n 20 "$work/debootstrap.log" >&2; exit 1; }
mkdir -p "$root$clone" "$root/src/data"
mount -t proc proc "$root/proc"
mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts" || mount --bind /dev/pts "$root/dev/pts"
mount --bind /sys "$root/sys"

# What git would commit: no .venv, no caches.
git -c safe.directory="$PWD" ls-files -z --cached --others --exclude-standard |
    tar -c --null --verbatim-files-from --ignore-failed-read -T - 2>/dev/null | tar -x -C "$root$clone"
[ -z "$bundle" ] || cp "$bundle" "$root/etc/given-ca.pem"
test_data=
if [ -n "${VIDPIPE_TEST_DATA:-}" ]; then
    mount --bind "$VIDPIPE_TEST_DATA" "$root/src/data"
    mount -o remount,bind,ro "$root/src/data"
    test_data=/src/data
fi

say "make alone"
inside sh -c 'apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends make' \
    >"$work/apt.log" 2>&1 || { tail -n 20 "$work/apt.log" >&2; exit 1; }
for target in "$@"; do
    say "make $target"
    begun=$(date +%s)
    inside make -C "$clone" "$target" || { say "make $target FAILED"; exit 1; }
    say "make $target: done in $(($(date +%s) - begun)) s"
done
# Labels in every script need what Pillow only finds at run time.
inside "$clone/.venv/bin/python" -c \
    'import cv2; from PIL import features; assert features.check("raqm"), "Pillow finds no raqm"'
say "proven: $* on a bare $suite"
