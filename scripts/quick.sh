#!/bin/sh
# Tests the packages that have changed, and those that depend on them: scripts/quick.sh [REV]
#
# What has changed is what differs from REV, by default from where this branch left the
# one it follows (or from the last commit), and what git does not know yet.
set -eu
cd "$(dirname "$0")/.."
base=${1:-$(git merge-base HEAD '@{upstream}' 2>/dev/null || git rev-parse HEAD)}
changed=$({
	git diff --name-only "$base" -- '*.go' '*/testdata/*' go.mod
	git ls-files --others --exclude-standard -- '*.go' '*/testdata/*'
} | sed -E 's#/testdata/.*#/x#' | xargs -r -n1 dirname | sort -u)
if [ -z "$changed" ]; then
	echo "quick: no Go has changed since $(git rev-parse --short "$base"): nothing to test"
	exit 0
fi
# A package is tested if it, its tests, or anything they import is in a folder that changed.
packages=$("${GO:-go}" list -test -f '{{.ImportPath}} {{join .Deps " "}}' ./... | CHANGED="$changed" awk -v module="$("${GO:-go}" list -m)" '
	BEGIN {
		n = split(ENVIRON["CHANGED"], dirs, "\n")
		for (i = 1; i <= n; i++) is[dirs[i] == "." ? module : module "/" dirs[i]] = 1
		everything = (module in is) # all packages use the root
	}
	{
		name = $1
		sub(/(_test)?(\.test)?$/, "", name)
		hit = everything || (name in is)
		for (i = 2; i <= NF && !hit; i++) hit = ($i in is)
		if (hit) print name
	}' | sort -u)
echo "quick: testing $(echo "$packages" | wc -l) packages"
# shellcheck disable=SC2086 # they are several
exec "${GO:-go}" test -vet=off $packages
