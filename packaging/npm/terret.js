#!/usr/bin/env node
// Starts the program that npm has installed for this platform.
const { spawn } = require('node:child_process');

const name = `@terret-dev/cli-${process.platform}-${process.arch}`;
let program;
try {
  program = require.resolve(`${name}/bin/terret`);
} catch {
  console.error(`terret: the package ${name} is not installed: there is none for this platform, or npm was told to leave out optional packages`);
  process.exit(1);
}
const child = spawn(program, process.argv.slice(2), { stdio: 'inherit' });
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT']) {
  process.on(signal, () => { if (signal !== 'SIGINT' && signal !== 'SIGQUIT') child.kill(signal); }); // a terminal sends those to both
}
child.on('error', (error) => {
  console.error(`terret: cannot start ${program}: ${error.message}`);
  process.exit(1);
});
child.on('exit', (code, signal) => {
  if (signal) {
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  } else {
    process.exit(code ?? 1);
  }
});
