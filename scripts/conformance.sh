#!/bin/sh
# Runs every test that needs a real agent, and compares what the drivers can do with
# docs/CONFORMANCE.md. A test that is skipped fails here: it runs nowhere else.
#
# In CI, columns of the matrix whose drivers and agents are as they were when everything
# was last run take turns: a third of them is run whole, by the number of commits, and the
# others run the core of the suite. THIRD=0, 1 or 2 chooses one, THIRD=all runs everything.
set -eu
cd "$(dirname "$0")/.."
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# run WHAT ARGUMENTS: go test, of which only what went wrong is shown. The programs of
# others are not ours to make steady: up to three tests that failed are run once more,
# and that is said. The suite of the drivers does the same for its scenarios.
run() {
	echo "conformance: $1"
	shift
	if ! "${GO:-go}" test -v -count=1 "$@" >"$dir/log" 2>&1; then
		grep -vE '^ *(=== |--- PASS)' "$dir/log" >&2
		again "$@"
		return
	fi
	grep -h -A3 'SECOND TRY of' "$dir/log" >&2 || true
	if grep -E -- '--- SKIP|no tests to run' "$dir/log" >&2; then
		echo "conformance: a test did not run" >&2
		return 1
	fi
}

# again ARGUMENTS: run the tests that failed once more, by themselves.
again() {
	# The names of failed tests, without those that failed only for what is in them.
	sed -nE 's/^ *--- FAIL: ([^ ]+) .*/\1/p' "$dir/log" | sort | awk '
		{ if (last != "" && index($0, last "/") != 1) print last; last = $0 } END { if (last != "") print last }' >"$dir/failed"
	n=$(wc -l <"$dir/failed")
	case "$*" in *drivertest* | *-args*) return 1 ;; esac # the suite did so itself; the others are ours
	if [ "$n" -eq 0 ] || [ "$n" -gt 3 ]; then
		return 1
	fi
	while read -r name; do
		echo "SECOND TRY of $name" >&2
		pattern="^$(echo "$name" | sed 's:/:$/^:g')\$"
		"${GO:-go}" test -v -count=1 "$@" -run "$pattern" </dev/null >"$dir/log" 2>&1 || {
			grep -vE '^ *(=== |--- PASS)' "$dir/log" >&2
			return 1
		}
	done <"$dir/failed"
}

export TERRET_CONFORMANCE=1 TERRET_CONFORMANCE_TABLE="$dir/table.md"
if [ -n "${AGENT:-}" ]; then # only the suite, on one agent
	unset TERRET_CONFORMANCE_TABLE
	run "the suite of the drivers on $AGENT" -parallel 4 -timeout 25m -run "(?i)^Test$(echo "$AGENT" | tr -d '-')\$" ./driver/drivertest
	exit 0
fi
third=${THIRD:-all}
if [ -n "${CI:-}" ] && [ -z "${THIRD:-}" ]; then
	third=$(($(git rev-list --count HEAD) % 3))
fi
if [ "$third" != all ]; then
	echo "conformance: columns that have not changed take turns; this is third $third (THIRD=all runs everything)"
	export TERRET_CONFORMANCE_THIRD="$third"
fi
export TERRET_CLAUDE="$PWD/agents/node_modules/.bin/claude"
run "a minute of shell scripts, judged and run" -run '^TestDifferential$' ./policy -args -differ 1m
run "200 kills of a process that writes to the store" -run '^TestFile$/^nothing_acknowledged' ./store/sqlite -args -storetest.kills=200
run "the suite of the drivers on the real agents (some minutes)" -parallel 4 -timeout 55m ./driver/drivertest
run "what the suite does not look at" -run "^TestReal" ./driver/claude ./driver/codex ./driver/native ./driver/opencode
run "searches with ripgrep, of which an agent brings one" -run '^TestRipgrep' ./driver/native/internal/tools
run "the command line with the real Claude Code" -parallel 4 -run '^TestClaudeScripts$' ./cmd/terret
run "doors, with clients of others" -parallel 2 -run '^Test(ACP|MCP|OpenAI)Stories$' ./cmd/terret
run "the official suite of MCP, on /mcp and on the native agent" -run '^TestMCP(Server|Client)Suite$' ./cmd/terret ./driver/native/internal/mcphost
run "sessions that people had with agents themselves" -parallel 2 -run '^TestDiscoverStories$' ./cmd/terret
run "terminals: the full-screen workspace, and agents in some of their own" -parallel 2 -run '^Test(HookedTerminal|HookedQwen|HookedGemini|WorkspaceClaude)$' ./cmd/terret
run "one story over HTTP with every agent" -parallel 2 -timeout 20m -run '^TestAgentStories$' ./cmd/terret
run "several agents on one thing" -parallel 2 -timeout 20m -run '^TestSeveralStories$' ./cmd/terret
run "one scenario of the scripted models with every agent" -parallel 2 -timeout 15m -run 'Agents|Codex' ./test/sim ./internal/rpc

if [ "$third" = all ] && [ -z "${CI:-}" ]; then
	cp "$dir/table.md.sums" driver/drivertest/testdata/whole.json
fi
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
