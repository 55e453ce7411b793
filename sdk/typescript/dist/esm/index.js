import { resolve } from 'node:path';
import { openDesk } from './desk.js';
import { TerretError, invalid } from './errors.js';
import { running, start } from './server.js';
import { Session } from './session.js';
export { TerretError } from './errors.js';
/** Creates a session. Close it when you are done. */
export async function createSession(options) {
    if (typeof options?.model !== 'string' || options.model === '') {
        throw invalid('model', 'there is no model; name one, such as "anthropic/claude-sonnet-4-5", or "demo" to try things out');
    }
    const cwd = resolve(options.cwd ?? '.');
    return open(options, cwd, async (server) => {
        const made = await server.connection.call('POST', '/v1/sessions', {
            ...options.session, agent: options.agent ?? 'native', model: options.model, cwd,
            policy: options.policy ?? (options.onRequest ? 'ask' : 'auto-approve'),
        });
        return { id: made.id, after: 0 };
    });
}
/** Resumes a session that is kept in `dataDir` or on `server`. */
export async function resumeSession(sessionId, options) {
    if (options?.dataDir === undefined && options?.server === undefined) {
        throw invalid('dataDir', 'a session can only be resumed from a data folder or a server');
    }
    return open(options, process.cwd(), async (server) => {
        const kept = await server.connection.call('GET', `/v1/sessions/${encodeURIComponent(sessionId)}`);
        return { id: kept.id, after: kept.last_seq };
    });
}
/** Creates a session, sends one message, and returns its result. An error result is a result. */
export async function prompt(message, options) {
    const session = await createSession(options);
    try {
        await session.send(message);
        for await (const m of session.receive()) {
            if (m.type === 'result')
                return m;
        }
        throw new TerretError('internal', 'the session ended without a result');
    }
    finally {
        await session.close();
    }
}
async function open(options, cwd, find) {
    if (options.server && options.productName !== undefined)
        throw invalid('productName', 'a running server has a name of its own');
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
        if (options.onRequest)
            await openDesk(server, id, after, options.gates ?? [], options.onRequest, session.ended);
        return session;
    }
    catch (error) {
        const why = await server.explain(error);
        await server.stop();
        throw why;
    }
}
