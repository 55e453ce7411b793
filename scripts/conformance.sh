#!/bin/sh
# Runs every test that needs a real agent, and compares what the drivers can do with
# docs/CONFORMANCE.md. A test that is skipped fails here: it runs nowhere else.
set -eu
cd "$(dirname "$0")/.."
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# run WHAT ARGUMENTS: go test, of which only what went wrong is shown.
run() {
	echo "conformance: $1"
	shift
	if ! "${GO:-go}" test -v -count=1 "$@" >"$dir/log" 2>&1; then
		grep -vE '^ *(=== |--- PASS)' "$dir/log" >&2
		return 1
	fi
	if grep -E -- '--- SKIP|no tests to run' "$dir/log" >&2; then
		echo "conformance: a test did not run" >&2
		return 1
	fi
}

export TERRET_CONFORMANCE=1 TERRET_CONFORMANCE_TABLE="$dir/table.md"
if [ -n "${AGENT:-}" ]; then # only the suite, on one agent
	unset TERRET_CONFORMANCE_TABLE
	run "the suite of the drivers on $AGENT" -parallel 4 -timeout 25m -run "(?i)^Test$(echo "$AGENT" | tr -d '-')\$" ./driver/drivertest
	exit 0
fi
export TERRET_CLAUDE="$PWD/agents/node_modules/.bin/claude"
run "a minute of shell scripts, judged and run" -run '^TestDifferential$' ./policy -args -differ 1m
run "200 kills of a process that writes to the store" -run '^TestFile$/^nothing_acknowledged' ./store/sqlite -args -storetest.kills=200
run "the suite of the drivers on the real agents (some minutes)" -parallel 4 -timeout 45m ./driver/drivertest
run "what the suite does not look at" -run '^TestReal' ./driver/claude ./driver/codex
run "the command line with the real Claude Code" -parallel 4 -run '^TestClaudeScripts$' ./cmd/terret
run "one story over HTTP with every agent" -parallel 2 -timeout 20m -run '^TestAgentStories$' ./cmd/terret
run "one scenario of the scripted models with every agent" -parallel 2 -timeout 15m -run 'Agents|Codex' ./sim ./internal/rpc

if [ "$(uname)" != Linux ] || cmp -s "$dir/table.md" docs/CONFORMANCE.md; then
	exit 0
fi
diff -U1 docs/CONFORMANCE.md "$dir/table.md" || true
if [ -n "${CI:-}" ]; then
	echo "docs/CONFORMANCE.md is not what the suite found: run 'make conformance' and commit it" >&2
	exit 1
fi
cat "$dir/table.md" >docs/CONFORMANCE.md
echo "docs/CONFORMANCE.md has changed: commit it"
