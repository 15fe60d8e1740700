#!/bin/sh
# Sets up everything that vidpipe needs on Debian and Ubuntu, and does nothing where all is there.
#
#   sh scripts/setup.sh run     to run vidpipe: system packages, .venv with vidpipe in it
#   sh scripts/setup.sh dev     the same, and the linters and the test runner in .venv
#   sh scripts/setup.sh test    the same, and the system packages that the tests need
#
# System packages are installed by root or through a sudo that asks for no password; any other account
# is told the exact command. PYTHON=... chooses another interpreter than the first fit one.
set -eu
unset CDPATH
cd "$(dirname "$0")/.."

say() { printf 'vidpipe setup: %s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }

level=${1:-run}
case $level in
    run | dev) groups="run" ;;
    test) groups="run test test?" ;;
    *) fail "unknown level '$level': run, dev or test" ;;
esac
export DEBIAN_FRONTEND=noninteractive
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_USER=0 PIP_NO_INPUT=1

# Two at once (make demo beside make test) take turns. The lock ends with this process: no child that
# may outlive it (a service that apt starts) gets the descriptor.
if command -v flock >/dev/null 2>&1; then
    exec 9<.
    flock 9
fi

# ---- Python ------------------------------------------------------------------------------------

# Fit: 3.11 or newer, able to make an environment with pip in it (Debian splits that off).
is_fit() {
    "$1" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

find_python() {
    for candidate in ${PYTHON:+"$PYTHON"} python3 python3.13 python3.12 python3.11 python3.14 /usr/bin/python3; do
        if is_fit "$candidate"; then
            printf '%s\n' "$candidate"
            return
        fi
    done
}

# The release's own Python where it is new enough, else a newer one beside it (Ubuntu 22.04).
python_packages() {
    version=$(apt-cache show --no-all-versions python3 2>/dev/null |
        sed -n 's/^Version: \([0-9]*\.[0-9]*\).*/\1/p' | head -n 1)
    case $version in
        3.[0-9] | 3.10)
            for name in python3.13 python3.12 python3.11 python3.14; do
                if is_known "$name-venv"; then
                    printf '%s\n' "$name" "$name-venv"
                    return
                fi
            done
            ;;
        *) printf '%s\n' python3 python3-venv ;;
    esac
}

# ---- System packages ---------------------------------------------------------------------------

is_known() { apt-cache show --no-all-versions "$1" >/dev/null 2>&1; }

# One line for each package of the wanted groups: the group, then the alternatives.
wanted() {
    sed -e 's/#.*//' scripts/system-packages.txt | while read -r group names; do
        case " $groups " in *" ${group:-none} "*) printf '%s %s\n' "$group" "$names" ;; esac
    done
}

# Of these, those that are not installed under any of their names.
missing() {
    installed=$(wanted | cut -d' ' -f2 | tr '|' '\n' |
        xargs dpkg-query -W -f='${db:Status-Status} ${Package}\n' 2>/dev/null |
        sed -n 's/^installed //p' | tr '\n' ' ')
    wanted | while read -r group names; do
        found=
        for name in $(printf '%s' "$names" | tr '|' ' '); do
            case " $installed" in *" $name "*) found=$name ;; esac
        done
        [ -n "$found" ] || printf '%s %s\n' "$group" "$names"
    done
}

# The names to install: what this release calls each missing package. One that no list knows is
# left out where tests can be skipped, and else named all the same, so that apt says what is wrong.
chosen() {
    [ -n "$python" ] || python_packages
    missing | while read -r group names; do
        name=
        for name in $(printf '%s' "$names" | tr '|' ' '); do
            if is_known "$name"; then
                printf '%s\n' "$name"
                continue 2
            fi
        done
        case $group in
            *\?) say "no package '$name' in this release: the tests that need it will be skipped" ;;
            *) printf '%s\n' "$name" ;;
        esac
    done
}

one_line() { tr '\n' ' ' | sed 's/ $//'; }

install_packages() {
    if [ "$(id -u)" -eq 0 ]; then
        sudo=
    elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
        sudo="sudo -n DEBIAN_FRONTEND=noninteractive"
    else
        packages=$(chosen | one_line)
        [ -n "$packages" ] || return 0
        say "these system packages are missing, and this account may not install them. Run as root (or with sudo):"
        printf '\n    apt-get update && apt-get install -y --no-install-recommends %s\n\n' "$packages" >&2
        fail "then run make again"
    fi
    # Another apt at work (unattended upgrades) is waited for. A foreign repository that is down
    # must not stop us: what counts is whether the install below succeeds.
    apt="apt-get -q -o DPkg::Lock::Timeout=600"
    say "updating the lists of packages"
    $sudo $apt update >&2 9>&- || say "apt-get update failed in part; going on with the lists that are there"
    packages=$(chosen | one_line)
    [ -n "$packages" ] || return 0
    say "installing $packages"
    # shellcheck disable=SC2086  # the names are words
    $sudo $apt install -y --no-install-recommends $packages </dev/null >&2 9>&- ||
        fail "apt-get could not install them; when its complaint above is dealt with, run make again, or:
    apt-get update && apt-get install -y --no-install-recommends $packages"
}

# Whether anything is to be installed at all; a package that this release never had is not.
is_complete() {
    [ -n "$python" ] || return 1
    missing | {
        while read -r group names; do
            case $group in
                *\?) ! is_known "${names%%|*}" || exit 1 ;;
                *) exit 1 ;;
            esac
        done
    }
}

python=$(find_python)
if command -v dpkg-query >/dev/null 2>&1 && command -v apt-get >/dev/null 2>&1; then
    if ! is_complete; then
        install_packages
        python=$(find_python)
    fi
else
    say "no apt here: please see to it that this system has what scripts/system-packages.txt names"
fi
[ -n "$python" ] || fail "no Python 3.11 or newer with venv and pip was found (python3 is $(python3 -V 2>&1 || true)).
Install one, with its venv module, and name it: PYTHON=/path/to/python3.12 make ..."

# ---- The virtual environment -------------------------------------------------------------------

# An environment can't be moved, nor taken over by another Python: either makes it anew.
identity() { printf '%s %s\n' "$(.venv/bin/python -V 2>/dev/null)" "$PWD/.venv"; }
wish=$(cat pyproject.toml scripts/setup.sh | cksum)
is_stamped() { [ "$(cat ".venv/stamp-$1" 2>/dev/null)" = "$2" ]; }

if ! is_stamped identity "$(identity)"; then
    say "making .venv with $("$python" -V)"
    "$python" -m venv --clear .venv || fail "could not make .venv"
    # `--group` came with pip 25.1
    .venv/bin/python -m pip install -q --upgrade 'pip>=25.1' ||
        fail "pip could not fetch a newer pip: is there a network, and a proxy or certificate to configure?"
    identity >.venv/stamp-identity
fi

case $level in
    run) stamp=run; extra= ;;
    *) stamp=dev; extra="--group dev" ;;
esac
if ! is_stamped "$stamp" "$wish"; then
    say "installing vidpipe and what it needs into .venv (about 300 MB, once)"
    rm -f ".venv/stamp-$stamp"
    quiet=-q
    [ ! -t 2 ] || quiet=
    # shellcheck disable=SC2086  # options are words
    .venv/bin/python -m pip install $quiet -e . $extra >&2 ||
        fail "pip could not install everything; when its complaint above is dealt with, run make again"
    .venv/bin/python -W error -c 'import av, cv2, openvino, PIL' ||
        fail "a library does not load (see above): is a system package missing?"
    # dev holds all of run, so it vouches for both
    printf '%s\n' "$wish" | tee ".venv/stamp-$stamp" >.venv/stamp-run
fi
