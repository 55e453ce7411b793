"use strict";
Object.defineProperty(exports, "__esModule", { value: true });
exports.Session = void 0;
const node_crypto_1 = require("node:crypto");
const errors_js_1 = require("./errors.js");
const follow_js_1 = require("./follow.js");
class Session {
    #server;
    #shared; // the server is not ours
    #end = new AbortController();
    #used = new Set();
    #sent = []; // ids of messages that have no result yet
    #after; // the last event that receive handled
    #current = false; // between a message of ours and its result
    #closing;
    constructor(server, shared, id, after) {
        this.#server = server;
        this.#shared = shared;
        Object.defineProperty(this, 'sessionId', { value: id, enumerable: true });
        this.#after = after;
    }
    /** Fires when the session is closed. */
    get ended() {
        return this.#end.signal;
    }
    async send(message) {
        if (this.ended.aborted)
            throw (0, errors_js_1.closed)();
        const turn = this.#turn(message);
        const uuid = turn.message_id;
        this.#used.add(uuid);
        this.#sent.push(uuid);
        try {
            await this.#call('POST', 'turns', turn);
        }
        catch (error) {
            this.#used.delete(uuid);
            this.#sent.splice(this.#sent.indexOf(uuid), 1);
            throw error;
        }
    }
    #turn(message) {
        if (typeof message === 'string' || Array.isArray(message)) {
            return { blocks: blocks(message), message_id: (0, node_crypto_1.randomUUID)(), when: 'queue' };
        }
        if (message === null || typeof message !== 'object' || message.type !== 'user')
            throw (0, errors_js_1.invalid)('type', 'a message to the agent must be of type user');
        if (message.sessionId !== this.sessionId)
            throw (0, errors_js_1.invalid)('sessionId', `the message is for session ${message.sessionId}, not ${this.sessionId}`);
        if (!/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(message.uuid))
            throw (0, errors_js_1.invalid)('uuid', `${JSON.stringify(message.uuid)} is not a UUID`);
        if (this.#used.has(message.uuid))
            throw (0, errors_js_1.invalid)('uuid', `${message.uuid} was sent before`);
        const turn = { blocks: blocks(message.message), message_id: message.uuid, when: 'queue' };
        if (message.parentUuid === null)
            turn.root = true;
        else if (message.parentUuid !== undefined)
            turn.parent_id = message.parentUuid;
        return turn;
    }
    async *receive() {
        if (this.ended.aborted)
            throw (0, errors_js_1.closed)();
        if (this.#sent.length === 0)
            throw new errors_js_1.TerretError('conflict', 'nothing to receive: no message was sent');
        const reading = new AbortController();
        const stop = () => reading.abort();
        this.ended.addEventListener('abort', stop, { once: true });
        try {
            const path = `/v1/sessions/${this.sessionId}/events?view=neovate&deltas=0`;
            for await (const event of await (0, follow_js_1.follow)(this.#server, path, this.#after, reading.signal)) {
                const message = this.#take(Number(event.id), JSON.parse(event.data));
                if (message === undefined)
                    continue;
                yield message;
                if (message.type === 'result')
                    return;
            }
            throw (0, errors_js_1.closed)();
        }
        catch (error) {
            throw this.ended.aborted ? (0, errors_js_1.closed)() : await this.#server.explain(error);
        }
        finally {
            this.ended.removeEventListener('abort', stop);
            stop();
        }
    }
    /** Notes how far receive is. What others do in the session is no answer here. */
    #take(seq, message) {
        this.#after = seq;
        if (message.type === 'system')
            return message;
        if (message.type === 'message' && message.role === 'user' && this.#sent.includes(message.uuid)) {
            this.#current = true;
            this.#sent.splice(0, this.#sent.indexOf(message.uuid)); // dropped from the queue by others
        }
        if (!this.#current)
            return undefined;
        if (message.type === 'result') {
            this.#current = false;
            this.#sent.shift();
        }
        return message;
    }
    async interrupt() {
        if (this.ended.aborted)
            throw (0, errors_js_1.closed)();
        await this.#call('POST', 'interrupt');
        await this.#call('POST', 'queue/send', {}); // what was sent after the turn goes on
    }
    close() {
        return (this.#closing ??= this.#close());
    }
    async #close() {
        this.#end.abort();
        // A session on somebody's server stays there; only its agent ends.
        if (this.#shared)
            await this.#call('POST', 'close').catch(() => { });
        await this.#server.stop();
    }
    [Symbol.asyncDispose]() {
        return this.close();
    }
    async #call(method, verb, body) {
        try {
            await this.#server.connection.call(method, `/v1/sessions/${this.sessionId}/${verb}`, body);
        }
        catch (error) {
            throw await this.#server.explain(error);
        }
    }
}
exports.Session = Session;
function blocks(content) {
    const parts = typeof content === 'string' ? [{ type: 'text', text: content }] : content;
    const out = parts.map((part) => {
        switch (part.type) {
            case 'text': return { type: 'text', text: part.text };
            case 'image': return { type: 'image', bytes: part.data, media_type: part.mimeType };
            default: throw (0, errors_js_1.invalid)('message', `a part must be text or image, not ${JSON.stringify(part.type)}`);
        }
    });
    if (!out.some((b) => b.type !== 'text' || b.text !== ''))
        throw (0, errors_js_1.invalid)('message', 'it is empty');
    return out;
}
