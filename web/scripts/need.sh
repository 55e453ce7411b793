#!/bin/sh
# Sees to it that what the tests of the web UI need is there: in CI, as root, on a
# Debian-like system it is installed; elsewhere this says what is missing.
set -eu
need() { # command, package
	command -v "$1" >/dev/null && return
	if [ -n "${CI:-}" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
		apt-get update -q && apt-get install -q -y --no-install-recommends "$2"
	else
		echo "the tests of the web UI need $1: install it (Debian, Ubuntu: apt-get install $2)" >&2
		exit 1
	fi
}
need node nodejs
need npm npm
[ -n "${CHROMIUM:-}" ] || need chromium chromium
