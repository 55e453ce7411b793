#!/bin/sh
# Lists the programs of the packages that agents/package.json names, as they are installed
# in a folder, by default this one.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cd "${1:-$here}"
node - "$here/package.json" <<'EOF'
const read = (file) => JSON.parse(require('fs').readFileSync(file, 'utf8'))
for (const name of Object.keys(read(process.argv[2]).dependencies)) {
  const bin = read(`node_modules/${name}/package.json`).bin
  for (const program of typeof bin === 'string' ? [name.split('/').pop()] : Object.keys(bin)) console.log(program)
}
EOF
