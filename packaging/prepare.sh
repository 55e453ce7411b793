#!/bin/sh
# What packages hold besides the program, made from it: completions, manual pages, licences.
set -eu
cd "$(dirname "$0")/.."
out=bin/release
rm -rf "$out"
mkdir -p "$out/completions"
: "${GO:=go}"
at=$(git log -1 --format=%cI)
CGO_ENABLED=0 "$GO" build -trimpath -ldflags="-X main.releasedAt=$at" -o "$out/terret" ./cmd/terret
for shell in bash zsh fish; do
	"$out/terret" completion "$shell" >"$out/completions/terret.$shell"
done
"$out/terret" reference man "$out/man"
rm "$out/terret"
(cd tools && "$GO" build -o "../$out/notices" ./notices)
"$out/notices" licenses . "$out/THIRD_PARTY.md"
