#!/usr/bin/env bash
# Makes docs/pictures/chat.svg: a real conversation with the demo model, in a real
# terminal. Needs tmux.
set -euo pipefail
cd "$(dirname "$0")/../.."
make -s build
work=$(mktemp -d)
trap 'tmux -L terret-picture kill-server 2>/dev/null || true; rm -rf "$work"' EXIT
mkdir "$work/hello"
cp go.mod "$work/hello/"
terret=$PWD/bin/terret
run() { tmux -L terret-picture "$@"; }
run new-session -d -s p -x 92 -y 40 \
	"cd $work/hello && exec env -i HOME=$work TERRET_HOME=$work/data PATH=$PATH TERM=xterm-256color USER=you LANG=C.UTF-8 $terret chat --model demo --cwd ."
# wait until the screen shows the words
sees() { for _ in $(seq 100); do run capture-pane -p -t p | grep -qF -- "$1" && return; sleep 0.1; done; echo "never saw: $1" >&2; exit 1; }
say() { run send-keys -t p "$1" Enter; }
sees '/help lists'
say 'create main.go containing package main, then run: cat main.go'
sees 'no, and stop >'
say y
sees 'always allow Bash'
say s
sees 'tokens'
say '/undo'
sees 'undone'
run capture-pane -e -p -t p | sed "s#$work#~#g" | go run ./test/termpic -title "terret chat" >docs/pictures/chat.svg
