import { resolve } from 'node:path';
import { type OnRequest, openDesk } from './desk.js';
import { TerretError, invalid } from './errors.js';
import type { SDKResultMessage } from './messages.js';
import type { NewSession } from './schema.js';
import { type Server, running, start } from './server.js';
import { type SDKSession, Session } from './session.js';

export { TerretError, type TerretErrorDetails } from './errors.js';
export type { OnRequest } from './desk.js';
export type * from './messages.js';
export type { Block, ErrorCode, ErrorInfo, NewSession, SDKDecision, SDKRequest, Usage } from './schema.js';
export type { SDKSession } from './session.js';

/** Where sessions run, and who decides. */
export type SDKServerOptions = {
  /** What the agent calls the product, in place of Terret. Not with `server`. */
  productName?: string;
  /** Where sessions are kept. Default: a temporary folder, which goes with the session. */
  dataDir?: string;
  /** A running `terret serve` to use, in place of one of our own. */
  server?: { url: string; token: string };
  /** The terret program. Default: `TERRET_BIN` of the environment, or `terret` in the PATH. */
  program?: string;
  /** Variables for it, besides those of this program. */
  env?: Record<string, string | undefined>;
  /** Decides what the policy leaves open. Without it that is refused, or left to the users of `server`. */
  onRequest?: OnRequest;
  /** Where else the agent waits for onRequest: pre_tool, prompt, stop, subagent_stop, compact. */
  gates?: string[];
};

export type SDKSessionOptions = SDKServerOptions & {
  /** As provider/model, or `demo`. */
  model: string;
  /** Default: the current folder. */
  cwd?: string;
  /** Default: native. */
  agent?: string;
  /** What happens to tool uses. Default: auto-approve, or ask if there is an onRequest. */
  policy?: NewSession['policy'];
  /** All other options of a session, as over HTTP. */
  session?: Omit<NewSession, 'agent' | 'cwd' | 'model' | 'policy'>;
};

/** Creates a session. Close it when you are done. */
export async function createSession(options: SDKSessionOptions): Promise<SDKSession> {
  if (typeof options?.model !== 'string' || options.model === '') {
    throw invalid('model', 'there is no model; name one, such as "anthropic/claude-sonnet-4-5", or "demo" to try things out');
  }
  const cwd = resolve(options.cwd ?? '.');
  return open(options, cwd, async (server) => {
    const made = await server.connection.call<{ id: string }>('POST', '/v1/sessions', {
      ...options.session, agent: options.agent ?? 'native', model: options.model, cwd,
      policy: options.policy ?? (options.onRequest ? 'ask' : 'auto-approve'),
    });
    return { id: made.id, after: 0 };
  });
}

/** Resumes a session that is kept in `dataDir` or on `server`. */
export async function resumeSession(sessionId: string, options: SDKServerOptions): Promise<SDKSession> {
  if (options?.dataDir === undefined && options?.server === undefined) {
    throw invalid('dataDir', 'a session can only be resumed from a data folder or a server');
  }
  return open(options, process.cwd(), async (server) => {
    const kept = await server.connection.call<{ id: string; last_seq: number }>('GET', `/v1/sessions/${encodeURIComponent(sessionId)}`);
    return { id: kept.id, after: kept.last_seq };
  });
}

/** Creates a session, sends one message, and returns its result. An error result is a result. */
export async function prompt(message: string, options: SDKSessionOptions): Promise<SDKResultMessage> {
  const session = await createSession(options);
  try {
    await session.send(message);
    for await (const m of session.receive()) {
      if (m.type === 'result') return m;
    }
    throw new TerretError('internal', 'the session ended without a result');
  } finally {
    await session.close();
  }
}

async function open(options: SDKServerOptions, cwd: string, find: (server: Server) => Promise<{ id: string; after: number }>): Promise<Session> {
  if (options.server && options.productName !== undefined) throw invalid('productName', 'a running server has a name of its own');
  const server = options.server ? running(options.server.url, options.server.token) : await start({
    cwd, program: options.program ?? process.env.TERRET_BIN ?? 'terret', dataDir: options.dataDir,
    env: {
      TERRET_IDLE_AFTER: 'never',
      TERRET_UNATTENDED: options.onRequest ? '0' : '1',
      ...(options.productName === undefined ? {} : { TERRET_PRODUCT_NAME: options.productName }),
      ...options.env,
    },
  });
  try {
    const { id, after } = await find(server);
    const session = new Session(server, options.server !== undefined, id, after);
    if (options.onRequest) await openDesk(server, id, after, options.gates ?? [], options.onRequest, session.ended);
    return session;
  } catch (error) {
    const why = await server.explain(error);
    await server.stop();
    throw why;
  }
}
