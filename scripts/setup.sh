#!/bin/sh
# Sees to it that what the tests need is there:
# scripts/setup.sh [compiler] [curl] [node] [browser] [firefox] [postgres] [variants]
#
# As root on Debian what is missing is installed; elsewhere this names the one command
# that does it. It ends with 1 if something is still missing, with 3 if the tests can do
# without it: the compiler, Firefox, and the variants, which are programs that change what
# is tested if they are there. Building and running terret needs none of it.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
node_from=20.19 # what the tools of the web UI need
PATH="$root/bin/tools:$PATH" # as in the Makefile

say() { echo "setup: $*" >&2; }

# want PACKAGES WHAT: something is missing that these packages of Debian hold.
want() {
	say "missing: $2"
	packages="$packages $1"
}

# need is want for what the tests cannot do without.
need() {
	want "$@"
	needed=yes
}

has() { command -v "$1" >/dev/null; }

# compiles tries it, since the headers are a package of their own.
compiles() {
	echo '#include <stdlib.h>' | $("${GO:-go}" env CC) -x c -c -o /dev/null - 2>/dev/null
}

node_is_new() {
	node -e 'const [a, b] = process.versions.node.split("."), [x, y] = process.argv[1].split("."); process.exit(+a > +x || a === x && +b >= +y ? 0 : 1)' "$node_from"
}

# has_postgres looks where internal/test/pgtest does: Debian keeps the server out of the PATH.
has_postgres() {
	has initdb || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1
}

has_firefox() {
	if [ -n "${FIREFOX:-}" ]; then has "$FIREFOX"; else has firefox-esr || has firefox; fi
}

# newer_node puts a Node.js of our own before one that is too old.
newer_node() {
	node_is_new && return
	say "installing a newer Node.js into tools/node, since $(node --version) is too old for the web UI"
	(cd "$root/tools/node" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >/dev/null)
	mkdir -p "$root/bin/tools"
	ln -sf "$root"/tools/node/node_modules/node-*/bin/node "$root/bin/tools/node" # which older npms do not
	hash -r
	node_is_new || { say "Node.js $node_from or newer is needed: install it from https://nodejs.org"; exit 1; }
}

# by_hand is the command with which a person installs packages, given by Debian's names.
by_hand() {
	if has apt-get; then
		echo "sudo apt-get install --no-install-recommends $*"
	elif has dnf; then
		echo "sudo dnf install $(echo "$*" | sed 's/libc6-dev/glibc-devel/; s/ npm/ nodejs-npm/; s/postgresql/postgresql-server/; s/firefox-esr/firefox/')"
	elif has pacman; then
		echo "sudo pacman -S $(echo "$*" | sed 's/libc6-dev/glibc/; s/firefox-esr/firefox/')"
	elif has brew; then
		echo "brew install$(echo " $*" | sed 's/ gcc libc6-dev/ gcc/; s/ nodejs/ node/; s/ npm//; s/ ca-certificates//; s/firefox-esr/firefox/')"
	else
		echo "the installer of your system, for what Debian calls: $*"
	fi
}

# install installs packages, or says how and fails.
install() {
	if [ "$(id -u)" != 0 ] || ! grep -qsx 'ID=debian' /etc/os-release; then
		say "run: $(by_hand "$@")"
		return 1
	fi
	say "installing with apt-get: $*"
	log=$(mktemp)
	if (apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "$@") >"$log" 2>&1; then
		rm -f "$log"
		return
	fi
	tail -n 20 "$log" >&2
	rm -f "$log"
	return 1
}

# look sets packages to what is missing of what was asked for.
look() {
	packages= needed=
	for what in "$@"; do
		case $what in
		compiler) compiles || want "gcc libc6-dev" "a C compiler, for the race detector" ;;
		curl) has curl || need "curl ca-certificates" "curl, which talks to the HTTP API" ;;
		node)
			has node || need nodejs "Node.js, for the agents and the web UI"
			has npm || need npm "npm, which installs the agents and the tools of the web UI"
			;;
		browser) has "${CHROMIUM:-chromium}" || need chromium "Chromium, in which the web UI is tested (another one: CHROMIUM=path)" ;;
		firefox) has_firefox || want firefox-esr "Firefox, in which the web UI is tested, too (another one: FIREFOX=path)" ;;
		postgres)
			has_postgres || need postgresql "PostgreSQL, on which the store of a fleet is tested"
			has pgbouncer || [ -x /usr/sbin/pgbouncer ] || need pgbouncer "PgBouncer, through which it is tested, too"
			;;
		variants)
			has dash || want dash "dash, by which shell scripts are run that rules allow"
			has zsh || want zsh "zsh, by which shell scripts are run, too"
			[ "$(uname)" != Linux ] || has bwrap || want bubblewrap "bubblewrap, with which sandboxes are tested beside Landlock"
			has gh || want gh "gh, with which pull requests are tested"
			has rg || want ripgrep "ripgrep, with which searches of the native agent are tested"
			[ "$(uname)" != Linux ] || has systemd-analyze || want systemd "systemd-analyze, which reads the units"
			;;
		*) say "there is no $what"; exit 2 ;;
		esac
	done
}

look "$@"
if [ -n "$packages" ]; then
	# shellcheck disable=SC2086 # they are several
	! install $packages || look "$@"
	[ -z "$needed" ] || exit 1
	[ -z "$packages" ] || exit 3
fi
for what in "$@"; do
	[ "$what" != node ] || newer_node
done
