"use strict";
Object.defineProperty(exports, "__esModule", { value: true });
exports.follow = follow;
const errors_js_1 = require("./errors.js");
/** How often a stream is opened again without anything coming from it. */
const attempts = 6;
/**
 * Follows a stream of events after a number. It is open when the promise resolves. When the
 * connection breaks it is opened again after the last event, so nothing is lost or repeated.
 */
async function follow(server, path, after, signal, background = false) {
    const open = (last) => server.connection.stream(`${path}&after=${last}`, signal, background);
    return reopening(server, open, await open(String(after)), String(after), signal);
}
async function* reopening(server, open, stream, last, signal) {
    for (let failed = 0;; failed++) {
        for await (const event of stream) {
            if (event.name === 'stream.end')
                throw (0, errors_js_1.errorOf)(0, event.data);
            failed = 0;
            if (event.id !== '')
                last = event.id;
            yield event;
        }
        for (;;) {
            if (signal.aborted)
                return;
            await pause(50 * 2 ** failed, signal);
            try {
                stream = await open(last);
                break;
            }
            catch (error) {
                if (signal.aborted)
                    return;
                if (++failed >= attempts || !(error instanceof errors_js_1.TerretError) || error.code !== 'connection_failed')
                    throw await server.explain(error);
            }
        }
        if (failed >= attempts)
            throw new errors_js_1.TerretError('connection_failed', 'the server ends every stream at once');
    }
}
function pause(ms, signal) {
    return new Promise((resolve) => {
        const timer = setTimeout(done, ms);
        function done() {
            clearTimeout(timer);
            signal.removeEventListener('abort', done);
            resolve();
        }
        signal.addEventListener('abort', done, { once: true });
    });
}
