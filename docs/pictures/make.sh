#!/usr/bin/env bash
# Makes the pictures of the terminal and a recording of it: real conversations with the demo
# model, in a real terminal. Needs tmux.
set -euo pipefail
cd "$(dirname "$0")/../.."
make -s build
work=$(mktemp -d)
trap 'tmux -L terret-picture kill-server 2>/dev/null || true; rm -rf "$work" 2>/dev/null || { sleep 1; rm -rf "$work"; }' EXIT # it may still be ending
mkdir "$work/hello" "$work/shop"
cp go.mod "$work/hello/"
terret=$PWD/bin/terret
run() { tmux -L terret-picture "$@"; }
own() { env -i HOME="$work" TERRET_HOME="$work/data" PATH="$PATH" TERM=xterm-256color COLORTERM=truecolor USER=you LANG=C.UTF-8 "$@"; }
# wait until the screen shows the words, in so many lines if that is said
sees() { for _ in $(seq 100); do [ "$(run capture-pane -p -t p | grep -cF -- "$1")" -ge "${2:-1}" ] && return; sleep 0.1; done; echo "never saw: $1" >&2; run capture-pane -p -t p >&2; exit 1; }
say() { run send-keys -t p "$1" Enter; }
# press a key until the screen shows the words: what just came takes no answer yet
answer() { for _ in $(seq 50); do run send-keys -t p "$1"; sleep 0.4; run capture-pane -p -t p | grep -qF -- "$2" && return; done; sees "$2"; }
draw() { run capture-pane -e -p -t p | sed "s#$work#~#g" | go run ./test/termpic -title "$1" >"docs/pictures/$2"; }

# terret chat
run new-session -d -s p -x 92 -y 40 \
	"cd $work/hello && exec env -i HOME=$work TERRET_HOME=$work/data PATH=$PATH TERM=xterm-256color USER=you LANG=C.UTF-8 $terret chat --model demo --cwd ."
sees '/help lists'
say 'create main.go containing package main, then run: cat main.go'
sees 'deny and stop >'
say y
sees 'deny and stop >' 2
say s
sees 'tokens'
say '/undo'
sees 'undone'
draw "terret chat" chat.svg
run kill-session -t p

# the workspace
rm -rf "$work/data" "$work/hello/main.go"
git() { own git -C "$work/hello" -c user.name=you -c user.email=you@localhost "$@"; }
git init -q -b fix/greeting
git init -q --bare "$work/origin"
git remote add origin "$work/origin"
git add go.mod
git commit -qm 'begin'
git push -qu origin fix/greeting
git commit -qm 'a better greeting' --allow-empty
printf 'package hello\n\nimport "testing"\n' >"$work/hello/greet_test.go"
cd "$work/shop"
own "$terret" run --model demo --policy auto-approve 'list files' >/dev/null 2>&1
own "$terret" run --model demo --policy auto-approve 'create cart.go containing package shop' >/dev/null 2>&1
cd - >/dev/null
run new-session -d -s p -x 160 -y 34 \
	"cd $work/hello && exec env -i HOME=$work TERRET_HOME=$work/data PATH=$PATH TERM=xterm-256color COLORTERM=truecolor USER=you LANG=C.UTF-8 $terret"
sees 'What should the agent do?'
say 'run: go test ./...'
sees 'y allow'
run send-keys -t p M-n
sees 'What should the agent do?'
say 'list files, then create greet.go containing package hello, then run: git status --short'
sees 'Create greet.go'
answer y 'Bash(git status'
sleep 2 # the header's branch, and what has changed
draw "terret" workspace.svg
run kill-session -t p

# the recording: a request in the workspace, answered, and what it did taken back
rm -rf "$work/data" "$work/hello/greet_test.go"
mkdir "$work/frames"
run new-session -d -s p -x 112 -y 30 \
	"cd $work/hello && exec env -i HOME=$work TERRET_HOME=$work/data PATH=$PATH TERM=xterm-256color COLORTERM=truecolor USER=you LANG=C.UTF-8 $terret"
sees 'What should the agent do?'
(for i in $(seq -w 999); do
	[ -d "$work/frames" ] || exit 0
	run capture-pane -e -p -t p 2>/dev/null | sed "s#$work#~#g" >"$work/frames/$i" || exit 0
	sleep 0.2
done) &
type() { for ((i = 0; i < ${#1}; i++)); do run send-keys -t p -l "${1:i:1}"; sleep 0.04; done; sleep 0.3; run send-keys -t p Enter; }
sleep 1
type 'create greet.go containing package hello, then run: go vet ./...'
sees 'Create greet.go'
sleep 2
answer y 'Bash(go vet'
sleep 2
answer y 'tokens'
sleep 2
type '/undo'
sees 'Reverted 1 file'
sleep 3
run kill-session -t p
wait
go run ./test/termpic -title "terret" -each 200ms "$work"/frames/[0-9]* >docs/pictures/workspace-play.svg
