#!/bin/sh
# Builds dist from src with the TypeScript compiler of the web UI, and says what it was
# built from.
set -eu
cd "$(dirname "$0")"
tsc=../../web/node_modules/.bin/tsc
rm -rf dist
"$tsc" -p .
"$tsc" -p . --module commonjs --moduleResolution node10 --ignoreDeprecations 5.0 --outDir dist/cjs
echo '{"type":"commonjs"}' >dist/cjs/package.json
"$tsc" -p test/examples
cat package.json tsconfig.json src/*.ts test/examples/*.ts test/examples/tsconfig.json | sha256sum | cut -d' ' -f1 >dist/sources.sha256
