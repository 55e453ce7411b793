// The SDK against a real terret with the demo model. Run by TestTypeScript of cmd/terret.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createSession, prompt, resumeSession, TerretError } from '@terret-dev/terret/sdk';

const timeout = 60_000;
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** A folder of its own. The Go test removes them all. */
const folder = () => mkdtempSync(join(tmpdir(), 'sdk-test-'));

async function session(t, options = {}) {
  const made = await createSession({ model: 'demo', cwd: folder(), ...options });
  t.after(() => made.close());
  return made;
}

async function receive(s) {
  const all = [];
  for await (const m of s.receive()) all.push(m);
  return { all, said: all.filter((m) => m.type === 'message'), result: all.at(-1) };
}

const fails = (promise, code, field) => assert.rejects(promise, (e) => {
  assert.ok(e instanceof TerretError, String(e));
  assert.equal(e.code, code, e.message);
  if (field !== undefined) assert.equal(e.field, field);
  return true;
});

const first = async (s) => (await s.receive().next()).value;

test('a conversation is complete messages in one thread of UUIDs', { timeout }, async (t) => {
  const cwd = folder();
  const s = await session(t, { cwd });
  assert.match(s.sessionId, uuid);
  assert.throws(() => { s.sessionId = 'x'; }, TypeError);
  await s.send('create a.txt containing hi, then run: cat a.txt');
  let { all, said, result } = await receive(s);
  assert.deepEqual(said.map((m) => m.role), ['user', 'assistant', 'tool', 'assistant', 'tool', 'assistant']);
  const system = all.filter((m) => m.type === 'system');
  assert.equal(system.length, 1);
  assert.equal(system[0].subtype, 'init');
  assert.equal(system[0].sessionId, s.sessionId);
  assert.equal(system[0].model, 'demo');
  assert.equal(system[0].cwd, cwd);
  assert.ok(system[0].tools.includes('Bash'));
  assert.equal(result.type, 'result');
  assert.equal(result.subtype, 'success');
  assert.equal(result.isError, false);
  assert.match(result.content, /hi/);
  assert.ok(result.usage.output > 0);
  assert.ok(existsSync(join(cwd, 'a.txt')), 'the tools did not run');
  await s.send('read a.txt');
  const second = await receive(s);
  let parent = null;
  for (const m of [...said, ...second.said]) {
    assert.match(m.uuid, uuid);
    assert.equal(m.parentUuid, parent);
    assert.ok(!Number.isNaN(Date.parse(m.timestamp)));
    parent = m.uuid;
  }
  assert.equal(second.said[0].content[0].text, 'read a.txt');
});

test('the loop may be left and taken up again, and messages wait for their turn', { timeout }, async (t) => {
  const s = await session(t);
  await s.send('hello');
  await s.send('list files');
  for await (const m of s.receive()) {
    if (m.type === 'message') break;
  }
  const { said, result } = await receive(s);
  assert.deepEqual(said.map((m) => m.role), ['assistant']);
  assert.match(result.content, /^Hello!/);
  const next = await receive(s);
  assert.equal(next.said[0].content[0].text, 'list files');
  assert.equal(next.said[0].parentUuid, said[0].uuid);
  await fails(first(s), 'conflict');
});

test('ids and places in the thread are respected or refused', { timeout }, async (t) => {
  const s = await session(t);
  const message = (more) => ({ type: 'user', message: 'hello', parentUuid: null, uuid: crypto.randomUUID(), sessionId: s.sessionId, ...more });
  const one = message();
  await s.send(one);
  let { said } = await receive(s);
  assert.equal(said[0].uuid, one.uuid);
  assert.equal(said[0].parentUuid, null);
  const last = said.at(-1).uuid;
  const two = message({ parentUuid: last });
  await s.send(two);
  ({ said } = await receive(s));
  assert.equal(said[0].parentUuid, last);
  await s.send(message()); // an explicit null stays null
  ({ said } = await receive(s));
  assert.equal(said[0].parentUuid, null);
  await fails(s.send(message({ parentUuid: one.uuid })), 'conflict', 'parent_id');
  await fails(s.send(message({ parentUuid: crypto.randomUUID() })), 'conflict', 'parent_id');
  await fails(s.send(one), 'invalid_request', 'uuid');
  await fails(s.send(message({ uuid: 'mine' })), 'invalid_request', 'uuid');
  await fails(s.send(message({ sessionId: crypto.randomUUID() })), 'invalid_request', 'sessionId');
  await fails(s.send(message({ type: 'system' })), 'invalid_request', 'type');
  await fails(s.send(''), 'invalid_request', 'message');
  await fails(s.send([{ type: 'sound' }]), 'invalid_request', 'message');
  await fails(first(s), 'conflict'); // none of them was sent
  const data = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1').toString('base64');
  await s.send([{ type: 'text', text: 'hello' }, { type: 'image', mimeType: 'image/png', data }]);
  ({ said } = await receive(s));
  assert.deepEqual(said[0].content, [{ type: 'text', text: 'hello' }, { type: 'image', media_type: 'image/png', bytes: data }]);
});

test('a callback decides', { timeout }, async (t) => {
  const cwd = folder();
  const asked = [];
  const answers = {
    permission: (r) => (JSON.stringify(r.data).includes('good') ? { behavior: 'allow' } : { behavior: 'deny', reason: 'not today' }),
    question: () => { throw new Error('no idea'); },
  };
  const s = await session(t, { cwd, onRequest: async (r, { signal }) => {
    assert.ok(signal instanceof AbortSignal);
    asked.push(r.gate);
    return answers[r.gate](r);
  } });
  await s.send('run: touch good');
  await receive(s);
  assert.ok(existsSync(join(cwd, 'good')));
  await s.send('run: touch bad');
  const { result } = await receive(s);
  assert.match(result.content, /not today/);
  assert.ok(!existsSync(join(cwd, 'bad')));
  await s.send('ask me');
  assert.match(JSON.stringify((await receive(s)).said), /no idea/);
  assert.deepEqual(asked, ['permission', 'permission', 'question']);
});

test('a request that is decided otherwise is withdrawn', { timeout }, async (t) => {
  let withdrawn, interrupted;
  const seen = new Promise((resolve) => { withdrawn = resolve; });
  const s = await session(t, { onRequest: (r, { signal }) => new Promise((_, reject) => {
    signal.addEventListener('abort', () => { withdrawn(); reject(new Error('withdrawn')); });
    interrupted = s.interrupt();
  }) });
  await s.send('run: touch x');
  const { result } = await receive(s);
  assert.equal(result.error.kind, 'interrupted');
  await seen;
  await interrupted; // or it fails when the session is closed
});

test('without a callback what would be asked is refused', { timeout }, async (t) => {
  const s = await session(t, { policy: 'ask' });
  await s.send('run: touch x');
  assert.equal((await receive(s)).result.type, 'result');
});

test('interrupt ends the turn, and the session goes on', { timeout }, async (t) => {
  const s = await session(t);
  await fails(s.interrupt(), 'conflict');
  await s.send('run: sleep 600');
  let result;
  for await (const m of s.receive()) {
    if (m.type === 'message' && m.role === 'assistant') await s.interrupt();
    if (m.type === 'result') result = m;
  }
  assert.equal(result.isError, true);
  assert.equal(result.error.kind, 'interrupted');
  await s.send('hello');
  assert.equal((await receive(s)).result.isError, false);
});

test('a session is resumed from its folder', { timeout }, async (t) => {
  const dataDir = folder();
  const s = await session(t, { dataDir });
  await s.send('hello');
  const { said } = await receive(s);
  await s.close();
  const again = await resumeSession(s.sessionId, { dataDir });
  t.after(() => again.close());
  assert.equal(again.sessionId, s.sessionId);
  await fails(first(again), 'conflict');
  await again.send('list files');
  const more = await receive(again);
  assert.equal(more.said[0].parentUuid, said.at(-1).uuid);
  await again.close();
  await fails(resumeSession(crypto.randomUUID(), { dataDir }), 'session_not_found');
  await fails(resumeSession(s.sessionId, {}), 'invalid_request', 'dataDir');
});

test('errors have codes', { timeout }, async (t) => {
  await fails(createSession({ model: 'demo', cwd: join(folder(), 'nowhere') }), 'invalid_request', 'cwd');
  const cwd = folder();
  await fails(createSession({ cwd }), 'invalid_request', 'model');
  await fails(prompt('hello', { model: '', cwd }), 'invalid_request', 'model');
  await fails(createSession({ model: 'demo', cwd, program: join(cwd, 'none') }), 'process_failed');
  await fails(createSession({ model: 'demo', cwd, env: { TERRET_LOG_LEVEL: 'silly' } }), 'process_failed');
  await fails(createSession({ model: 'demo', cwd, agent: 'nobody' }), 'agent_not_found');
  await fails(createSession({ model: 'demo', cwd, server: { url: 'http://127.0.0.1:1', token: 'x' } }), 'connection_failed');
  await fails(createSession({ model: 'demo', cwd, server: { url: 'nowhere', token: 'x' } }), 'invalid_request', 'server.url');
  const unknown = await prompt('hello', { model: 'nothing', cwd });
  assert.equal(unknown.error.kind, 'model_not_found');
  const failed = await prompt('fail', { model: 'demo', cwd });
  assert.equal(failed.subtype, 'error');
  assert.equal(failed.isError, true);
  assert.equal(failed.error.kind, 'model_error');
  assert.equal(failed.content, failed.error.message);
});

/** The servers that this program has started and that still run. */
const children = () => readdirSync('/proc').filter((pid) => /^\d+$/.test(pid)).filter((pid) => {
  try {
    return execFileSync('cat', [`/proc/${pid}/stat`], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).split(') ')[1].split(' ')[1] === String(process.pid)
      && execFileSync('cat', [`/proc/${pid}/cmdline`], { encoding: 'utf8' }).includes('--attached');
  } catch {
    return false; // it has just ended
  }
});

test('closing leaves nothing behind, and tells whoever waits', { timeout }, async (t) => {
  const tmp = folder();
  const before = process.env.TMPDIR;
  process.env.TMPDIR = tmp;
  t.after(() => { if (before === undefined) delete process.env.TMPDIR; else process.env.TMPDIR = before; });
  const s = await session(t, { cwd: folder() });
  if (existsSync('/proc')) assert.equal(children().length, 1);
  const left = () => readdirSync(tmp).filter((name) => name.startsWith('terret-'));
  assert.equal(left().length, 1);
  await s.send('run: sleep 600');
  const waiting = receive(s);
  const told = fails(waiting, 'session_closed');
  await s.close();
  await told;
  assert.deepEqual(left(), []);
  if (existsSync('/proc')) assert.deepEqual(children(), []);
  await s.close(); // again
  await s[Symbol.asyncDispose]();
  await fails(s.send('hello'), 'session_closed');
  await fails(s.interrupt(), 'session_closed');
  await fails(first(s), 'session_closed');
});

test('a server that dies is told', { timeout, skip: !existsSync('/proc') && 'needs /proc' }, async (t) => {
  const s = await session(t);
  await s.send('run: sleep 600');
  const waiting = fails(receive(s), 'process_failed');
  for (const pid of children()) process.kill(Number(pid), 'SIGKILL');
  await waiting;
  await fails(s.send('hello'), 'process_failed');
});

test('a running server serves too, and keeps the session', { timeout }, async (t) => {
  const data = folder(), cwd = folder();
  const serve = spawn(process.env.TERRET_BIN ?? 'terret', ['serve', '--attached', '--addr', '127.0.0.1:0', '--drain', '0s', '--root', cwd, '--data', data], { stdio: ['pipe', 'pipe', 'ignore'] });
  const gone = new Promise((resolve) => serve.once('exit', resolve));
  t.after(async () => { serve.stdin.end(); await gone; });
  const line = await new Promise((resolve) => serve.stdout.once('data', (d) => resolve(String(d))));
  const { readFileSync } = await import('node:fs');
  const server = { url: line.trim().split(' ').pop(), token: readFileSync(join(data, 'token'), 'utf8').trim() };
  await fails(createSession({ model: 'demo', cwd, server: { ...server, token: 'wrong' } }), 'unauthorized');
  await fails(createSession({ model: 'demo', cwd, server, productName: 'Acme' }), 'invalid_request', 'productName');
  const s = await createSession({ model: 'demo', cwd, server });
  await s.send('hello');
  assert.equal((await receive(s)).result.isError, false);
  await s.close();
  const again = await resumeSession(s.sessionId, { server });
  await again.send('hello');
  assert.equal((await receive(again)).result.isError, false);
  await again.close();

  // What waits already when a session is resumed is offered to the callback.
  const asking = await createSession({ model: 'demo', cwd, server, policy: 'ask' });
  await asking.send('run: touch waited');
  const headers = { authorization: `Bearer ${server.token}` };
  while ((await (await fetch(`${server.url}/v1/decisions?session=${asking.sessionId}`, { headers })).json()).items.length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
  const deciding = await resumeSession(asking.sessionId, { server, onRequest: () => ({ behavior: 'allow' }) });
  assert.equal((await receive(asking)).result.isError, false);
  assert.ok(existsSync(join(cwd, 'waited')));
  await deciding.close();
  await asking.close();
});

test('require works as import does', () => {
  const sdk = createRequire(import.meta.url)('@terret-dev/terret/sdk');
  assert.deepEqual(Object.keys(sdk).sort(), ['TerretError', 'createSession', 'prompt', 'resumeSession']);
});

test('a program that forgets to close ends by itself', { timeout }, async (t) => {
  const tmp = folder();
  const file = join(import.meta.dirname ?? new URL('.', import.meta.url).pathname, `forgetful-${process.pid}.mjs`);
  writeFileSync(file, "import { createSession } from '@terret-dev/terret/sdk';\nawait createSession({ model: 'demo', onRequest: () => ({ behavior: 'deny' }) });\nconsole.log('made');\n");
  t.after(() => rmSync(file, { force: true }));
  const out = execFileSync(process.execPath, [file], { encoding: 'utf8', cwd: folder(), env: { ...process.env, TMPDIR: tmp }, timeout: timeout / 2 });
  assert.equal(out, 'made\n');
  assert.deepEqual(readdirSync(tmp), []);
});
