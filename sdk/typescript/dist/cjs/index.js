"use strict";
Object.defineProperty(exports, "__esModule", { value: true });
exports.TerretError = void 0;
exports.createSession = createSession;
exports.resumeSession = resumeSession;
exports.prompt = prompt;
const node_path_1 = require("node:path");
const desk_js_1 = require("./desk.js");
const errors_js_1 = require("./errors.js");
const server_js_1 = require("./server.js");
const session_js_1 = require("./session.js");
var errors_js_2 = require("./errors.js");
Object.defineProperty(exports, "TerretError", { enumerable: true, get: function () { return errors_js_2.TerretError; } });
/** Creates a session. Close it when you are done. */
async function createSession(options) {
    if (typeof options?.model !== 'string' || options.model === '') {
        throw (0, errors_js_1.invalid)('model', 'there is no model; name one, such as "anthropic/claude-sonnet-4-5", or "demo" to try things out');
    }
    const cwd = (0, node_path_1.resolve)(options.cwd ?? '.');
    return open(options, cwd, async (server) => {
        const made = await server.connection.call('POST', '/v1/sessions', {
            ...options.session, agent: options.agent ?? 'native', model: options.model, cwd,
            policy: options.policy ?? (options.onRequest ? 'ask' : 'auto-approve'),
        });
        return { id: made.id, after: 0 };
    });
}
/** Resumes a session that is kept in `dataDir` or on `server`. */
async function resumeSession(sessionId, options) {
    if (options?.dataDir === undefined && options?.server === undefined) {
        throw (0, errors_js_1.invalid)('dataDir', 'a session can only be resumed from a data folder or a server');
    }
    return open(options, process.cwd(), async (server) => {
        const kept = await server.connection.call('GET', `/v1/sessions/${encodeURIComponent(sessionId)}`);
        return { id: kept.id, after: kept.last_seq };
    });
}
/** Creates a session, sends one message, and returns its result. An error result is a result. */
async function prompt(message, options) {
    const session = await createSession(options);
    try {
        await session.send(message);
        for await (const m of session.receive()) {
            if (m.type === 'result')
                return m;
        }
        throw new errors_js_1.TerretError('internal', 'the session ended without a result');
    }
    finally {
        await session.close();
    }
}
async function open(options, cwd, find) {
    if (options.server && options.productName !== undefined)
        throw (0, errors_js_1.invalid)('productName', 'a running server has a name of its own');
    const server = options.server ? (0, server_js_1.running)(options.server.url, options.server.token) : await (0, server_js_1.start)({
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
        const session = new session_js_1.Session(server, options.server !== undefined, id, after);
        if (options.onRequest)
            await (0, desk_js_1.openDesk)(server, id, after, options.gates ?? [], options.onRequest, session.ended);
        return session;
    }
    catch (error) {
        const why = await server.explain(error);
        await server.stop();
        throw why;
    }
}
