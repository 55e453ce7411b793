import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, parse, resolve } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { Connection } from './connection.js';
import { TerretError } from './errors.js';

/** How long the program may take to stop before it is killed. */
const stopTimeout = 20_000;

/** How long to wait for the end of the program when it does not answer any more. */
const exitTimeout = 500;

export type ServerOptions = {
  cwd: string;
  program: string;
  dataDir?: string;
  env: Record<string, string | undefined>;
};

/** A server to talk to: a `terret` of our own, or one that was running before. */
export type Server = {
  readonly connection: Connection;
  /** The error to throw for one: if nobody can be reached, why that is, where it is known. */
  explain(error: unknown): Promise<unknown>;
  stop(): Promise<void>;
};

export function running(url: string, token: string): Server {
  const connection = new Connection(url, token);
  return { connection, explain: async (error) => error, stop: async () => connection.close() };
}

/**
 * Starts `terret serve`. It ends with its standard input, so that it never outlives this
 * program, and it does not keep this program running.
 */
export async function start(options: ServerOptions): Promise<Server> {
  if (!statSync(options.cwd, { throwIfNoEntry: false })?.isDirectory()) { // else it seems that the program is missing
    throw new TerretError('invalid_request', `cwd: ${options.cwd} is not a folder; create it, or choose another one`, { field: 'cwd' });
  }
  const temporary = options.dataDir === undefined;
  const data = temporary ? mkdtempSync(join(tmpdir(), 'terret-')) : resolve(options.dataDir as string);
  const remove = () => {
    if (temporary) rmSync(data, { recursive: true, force: true });
  };
  const child = spawn(options.program, [
    'serve', '--attached', '--addr', '127.0.0.1:0', '--drain', '0s', '--root', parse(options.cwd).root, '--data', data,
  ], { cwd: options.cwd, env: { ...process.env, ...options.env }, stdio: ['pipe', 'pipe', 'pipe'], windowsHide: true });
  child.stdin.on('error', () => {}); // it is gone, which 'exit' says too
  const stderr = lastLines(child);
  let failure: TerretError | undefined;
  const exited = new Promise<void>((done) => {
    child.once('error', (cause) => {
      failure ??= new TerretError('process_failed', `cannot start ${options.program}: ${cause.message}; install terret, or set TERRET_BIN or the option program`, { cause });
      done();
    });
    child.once('exit', (code, signal) => {
      failure ??= new TerretError('process_failed', `terret ended unexpectedly${stderr().length > 0 ? `: ${stderr().join('\n')}` : ''}`, {
        exitCode: code ?? undefined, signal: signal ?? undefined, stderr: stderr(),
      });
      done();
    });
  });
  const onExit = () => {
    child.kill();
    remove();
  };
  process.once('exit', onExit);
  const stop = async () => {
    refs(child, true);
    child.stdin.end();
    const timer = new AbortController();
    setTimeout(stopTimeout, undefined, { signal: timer.signal }).then(() => child.kill('SIGKILL'), () => {});
    await exited;
    timer.abort();
    process.removeListener('exit', onExit);
    remove();
  };
  const url = await Promise.race([address(child), exited]);
  if (url === undefined) {
    await stop();
    throw failure ?? new TerretError('process_failed', 'terret ended before it was ready');
  }
  refs(child, false);
  const connection = new Connection(url, readFileSync(join(data, 'token'), 'utf8').trim());
  let stopping: Promise<void> | undefined;
  return {
    connection,
    explain: async (error) => {
      if (!(error instanceof TerretError) || error.code !== 'connection_failed') return error;
      const timer = new AbortController(); // the connection breaks a little before the process is gone
      await Promise.race([exited, setTimeout(exitTimeout, undefined, { signal: timer.signal })]).catch(() => {});
      timer.abort();
      return failure ?? error;
    },
    stop: () => {
      connection.close();
      return (stopping ??= stop());
    },
  };
}

/** Says whether the child keeps this program running. */
function refs(child: ChildProcess, on: boolean): void {
  for (const handle of [child, child.stdin, child.stdout, child.stderr] as Array<{ ref?(): void; unref?(): void } | null>) {
    if (on) handle?.ref?.();
    else handle?.unref?.();
  }
}

/** The address that the server says when it is ready. It never ends if there is none. */
function address(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    let text = '';
    child.stdout?.on('data', (chunk: Buffer) => {
      if (text === 'done') return;
      text += chunk.toString('utf8');
      const found = /^listening on (\S+)\n/m.exec(text);
      if (found?.[1]) {
        text = 'done';
        resolve(found[1]);
      }
    });
  });
}

/** The last lines of standard error, without the one that signs a browser in. */
function lastLines(child: ChildProcess): () => string[] {
  let text = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    text = (text + chunk.toString('utf8')).slice(-8192);
  });
  return () => text.split('\n').filter((line) => line !== '' && !line.startsWith('sign in with ')).slice(-20);
}
