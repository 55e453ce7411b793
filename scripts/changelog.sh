#!/bin/sh
# Puts the changes of changes/unreleased into CHANGELOG.md as the section of a release, and removes their files.
# usage: scripts/changelog.sh VERSION [DATE]
set -eu
version=${1:-}
date=${2:-$(date +%Y-%m-%d)}
case $version in
[0-9]*.[0-9]*.[0-9]*) ;;
*) echo "name the version, such as: make changelog VERSION=0.1.0" >&2 && exit 2 ;;
esac
if grep -q "^## $version " CHANGELOG.md; then
	echo "CHANGELOG.md has $version already" >&2
	exit 1
fi
set -- changes/unreleased/[0-9]*.md
if [ ! -e "$1" ]; then
	echo "there is no change in changes/unreleased" >&2
	exit 1
fi

new=$(mktemp CHANGELOG.XXXXXX)
trap 'rm -f "$new"' EXIT
# The newest section comes first, below what stands above all sections.
awk '/^## / { exit } { print }' CHANGELOG.md >"$new"
printf '## %s (%s)\n' "$version" "$date" >>"$new"
for kind in security added changed fixed; do
	awk -v kind="$kind" '
		FNR == 1 { of = $0 == "kind: " kind; next }
		of && NF { if (!any++) printf "\n### %s\n\n", toupper(substr(kind, 1, 1)) substr(kind, 2); print "- " $0 }
	' "$@" >>"$new"
done
if grep -q '^## ' CHANGELOG.md; then
	echo >>"$new"
	awk '/^## / { on = 1 } on' CHANGELOG.md >>"$new"
fi
cat "$new" >CHANGELOG.md
rm -f "$@"
