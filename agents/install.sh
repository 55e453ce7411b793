#!/bin/sh
# Installs agents into a folder with a package.json, by default this one: exactly what
# its lock says or, with "latest" as the second argument, the newest versions.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
dir=${1:-$here}
which=${2:-locked}

"$here/../scripts/setup.sh" node
cd "$dir"
# No script of a package runs but the one below. The agents are native programs; what
# they say of Node's version is about their installer.
if [ "$which" = latest ]; then
	npm install --ignore-scripts --no-audit --no-fund --loglevel=error @anthropic-ai/claude-code@latest
else
	npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
fi
node node_modules/@anthropic-ai/claude-code/install.cjs # puts the program for this machine in place

home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
HOME=$home node_modules/.bin/claude --version
touch node_modules/.stamp
