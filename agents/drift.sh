#!/bin/sh
# Runs the suite of the drivers on the newest versions of the agents, and shows what
# is different from docs/CONFORMANCE.md. It needs the network.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
printf '{"private": true}\n' >"$dir/package.json"
"$here/install.sh" "$dir" latest

export TERRET_CONFORMANCE=1 TERRET_CONFORMANCE_TABLE="$dir/table.md"
programs=$("$here/programs.sh" "$dir")
for program in $programs goose; do
	if [ -x "$dir/node_modules/.bin/$program" ]; then
		export "TERRET_CONFORMANCE_$(echo "$program" | tr a-z- A-Z_)=$dir/node_modules/.bin/$program"
	fi
done

status=0
(cd "$root" && "${GO:-go}" test -count=1 -parallel 4 -timeout 60m ./driver/drivertest) >"$dir/log.txt" 2>&1 || status=$?
if [ $status != 0 ]; then
	cat "$dir/log.txt"
fi
if [ ! -s "$dir/table.md" ]; then
	echo "the suite did not come to its end" >&2
	exit 1
fi
if diff -U1 "$root/docs/CONFORMANCE.md" "$dir/table.md"; then
	echo "the newest agents behave as docs/CONFORMANCE.md says"
fi
exit $status
