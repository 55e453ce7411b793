#!/bin/sh
# Installs agents into a folder with a package.json, by default this one: exactly what
# its lock says or, with "latest" as the second argument, the newest versions.
#
# The programs are in node_modules/.bin, with a Node that is new enough for all of
# them. Put that folder first in PATH to run them.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
dir=${1:-$here}
which=${2:-locked}

"$here/../scripts/setup.sh" node

# list EXPRESSION prints what package.json lists there, each on a line.
list() {
	node -p "const about = require('$here/package.json'); ($1).join('\n')"
}

# names DEPENDENCIES lists the packages of that kind.
names() {
	list "Object.keys(about.$1)"
}

cd "$dir"
# No script of a package runs but those that package.json lists under "setup". What the
# agents say of Node's version is about the Node that installs them.
npm="npm install --no-audit --no-fund --loglevel=error --ignore-scripts"
if [ "$which" = latest ]; then
	$npm $(names dependencies | sed 's/$/@latest/')
	# One by one: most of them are for other machines.
	for name in $(names optionalDependencies); do
		$npm --save-optional "$name@latest" 2>/dev/null || true
	done
else
	# Not `npm ci`, which wants the lock to name the programs for every machine:
	# registries do not always hold them.
	$npm --no-save
fi

# Put the programs for this machine in place.
for script in $(list about.setup); do
	node "node_modules/$script"
done
for goose in node_modules/@aaif/goose-binary-*/bin/goose; do
	if [ -e "$goose" ]; then
		ln -sf "../../$goose" node_modules/.bin/goose
	fi
done

missing=
programs=$("$here/programs.sh" "$PWD")
for program in $programs; do
	if [ ! -x "node_modules/.bin/$program" ]; then
		missing="$missing $program"
	fi
done
if [ -n "$missing" ]; then
	echo "these programs could not be installed:$missing" >&2
	exit 1
fi
if [ ! -x node_modules/.bin/goose ]; then
	echo "goose is not to be had for this machine; its tests are left out" >&2
fi
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
export HOME="$home" PATH="$PWD/node_modules/.bin:$PATH"
node --version
claude --version
XDG_CACHE_HOME=$PWD/node_modules/.cache copilot --version # it unpacks itself
touch node_modules/.stamp
