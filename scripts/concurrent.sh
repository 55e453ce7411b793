#!/bin/sh
# Lists packages by whether things run at once in them: scripts/concurrent.sh yes|no
#
# They do where goroutines are started, and where locks and atomics guard what goroutines of
# others use. That is where the race detector can find something.
set -eu
cd "$(dirname "$0")/.."
all=$("${GO:-go}" list -f '{{.ImportPath}} {{.Dir}}' ./...)
echo "$all" | while read -r package dir; do
	found=no
	for file in "$dir"/*.go; do
		case $file in *_test.go) continue ;; esac
		if grep -qE '^[[:space:]]*go [a-z]|\.Go\(|sync\.(RW)?Mutex|sync\.Cond|sync\.WaitGroup|atomic\.' "$file"; then
			found=yes
			break
		fi
	done
	if [ "$found" = "$1" ]; then
		echo "$package"
	fi
done
