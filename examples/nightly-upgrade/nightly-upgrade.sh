#!/bin/sh
# Has agents race to upgrade the dependencies of the repository in this folder, and keeps what
# the fastest that passes the check did, on a branch of its own.
#
#   nightly-upgrade.sh 'go test ./...' claude codex
#
# Nothing else in the repository changes, whatever happens. Set TASK to ask for something else,
# BRANCH for another name, FROM for another place to begin, PUSH=origin to push the branch.
set -eu
if [ $# -lt 3 ]; then
	echo "usage: nightly-upgrade.sh CHECK AGENT AGENT..." >&2
	exit 2
fi
check=$1
shift
start=$(git rev-parse --verify "${FROM:-HEAD}^{commit}")
branch=${BRANCH:-upgrade/$(date +%Y-%m-%d)}
task=${TASK:-"Upgrade the dependencies of this project to their newest compatible versions. Fix what breaks. This must pass: $check"}
if git show-ref --verify --quiet "refs/heads/$branch"; then
	echo "nightly-upgrade: there is a branch $branch already; merge or delete it" >&2
	exit 3
fi

# The race keeps its winner on the branch that is checked out, so it gets a folder in which that
# is the new branch.
here=$(pwd)
temp=$(mktemp -d)
done=
tidy() {
	if [ -z "$done" ]; then # cut off, or nobody was good enough: nothing of the race stays
		races=$(terret race list --json | awk -v cwd="\"cwd\": \"$(cd "$temp/work" && pwd -P)\"" '/"id": / { id = $2 } index($0, cwd) { gsub(/[",]/, "", id); print id }')
		for race in $races; do
			terret race drop "$race" || true
		done
	fi
	cd "$here"
	git worktree remove --force "$temp/work" 2>/dev/null || true
	rm -rf "$temp"
	[ -n "$done" ] || git branch -q -D "$branch" 2>/dev/null || true
}
trap tidy EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
git worktree add -q -b "$branch" "$temp/work" "$start"
cd "$temp/work"

n=$#
while [ "$n" -gt 0 ]; do # each AGENT becomes --agent AGENT
	set -- "$@" --agent "$1"
	shift
	n=$((n - 1))
done
code=0
terret race "$task" "$@" --check "$check" --json >"$temp/race.json" || code=$?
race=$(sed -n 's/^  "id": "\(.*\)",$/\1/p' "$temp/race.json" | head -n 1)
[ -z "$race" ] || terret race show "$race" || true
[ $code != 0 ] || terret race keep "$race" best || code=$?
[ $code = 0 ] || exit $code

done=yes
if [ -n "${PUSH:-}" ]; then
	git -C "$here" push -q "$PUSH" "$branch"
fi
echo "$branch: $(git log -1 --format=%s), $(git diff --shortstat "$start" HEAD)"
