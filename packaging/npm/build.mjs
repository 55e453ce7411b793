// Makes npm packages of the programs in dist: one for each platform, and @terret-dev/cli,
// which npm installs with the one that fits. Usage: node build.mjs DIST
import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const dist = resolve(process.argv[2] ?? 'dist');
const { version } = JSON.parse(readFileSync(join(dist, 'metadata.json'), 'utf8'));
const programs = JSON.parse(readFileSync(join(dist, 'artifacts.json'), 'utf8')).filter((made) => made.type === 'Binary');
const cpus = { amd64: 'x64', arm64: 'arm64' };
const out = join(dist, 'npm');
rmSync(out, { recursive: true, force: true });

const about = {
  version,
  license: 'Apache-2.0',
  homepage: 'https://github.com/terret-dev/terret',
  repository: { type: 'git', url: 'git+https://github.com/terret-dev/terret.git' },
};

function make(folder, manifest, files) {
  const dir = join(out, folder);
  mkdirSync(join(dir, 'bin'), { recursive: true });
  writeFileSync(join(dir, 'package.json'), JSON.stringify(manifest, null, 2) + '\n');
  for (const [from, to] of [[join(here, '../../LICENSE'), 'LICENSE'], ...files]) {
    copyFileSync(from, join(dir, to));
    chmodSync(join(dir, to), to.startsWith('bin/') ? 0o755 : 0o644);
  }
  execFileSync('npm', ['pack', '--silent', '--ignore-scripts', '--pack-destination', out], { cwd: dir, stdio: ['ignore', 'ignore', 'inherit'] });
  rmSync(dir, { recursive: true });
}

const parts = {};
for (const { goos, goarch, path } of programs) {
  const name = `@terret-dev/cli-${goos}-${cpus[goarch]}`;
  parts[name] = version;
  make(`cli-${goos}-${cpus[goarch]}`, { name, description: `The terret program for ${goos} on ${cpus[goarch]}`, ...about, os: [goos], cpu: [cpus[goarch]], files: ['bin'], preferUnplugged: true },
    [[resolve(dist, '..', path), 'bin/terret']]);
}
make('cli', { name: '@terret-dev/cli', description: 'One harness for every coding agent', ...about, bin: { terret: 'bin/terret.js' }, files: ['bin'], engines: { node: '>=20.4' }, optionalDependencies: parts },
  [[join(here, 'terret.js'), 'bin/terret.js'], [join(here, 'README.md'), 'README.md']]);
