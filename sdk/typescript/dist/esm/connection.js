import * as http from 'node:http';
import * as https from 'node:https';
import { TerretError, errorOf } from './errors.js';
/** Requests to one server. Idle connections do not keep the program running. */
export class Connection {
    #url;
    #token;
    #agent;
    constructor(url, token) {
        try {
            this.#url = new URL(url);
        }
        catch (cause) {
            throw new TerretError('invalid_request', `server.url: ${url} is not a URL`, { field: 'server.url', cause });
        }
        this.#token = token;
        this.#agent = this.#url.protocol === 'https:' ? new https.Agent({ keepAlive: true }) : new http.Agent({ keepAlive: true });
    }
    /** Sends a request, and returns the JSON that comes back. */
    async call(method, path, body) {
        const response = await this.#request(method, path, 'application/json', body);
        const text = await read(response);
        return (text === '' ? undefined : JSON.parse(text));
    }
    /** Opens a stream of events. `background` says that it does not keep the program running. */
    async stream(path, signal, background = false) {
        const response = await this.#request('GET', path, 'text/event-stream', undefined, signal);
        if (background)
            response.socket.unref();
        return events(response);
    }
    close() {
        this.#agent.destroy();
    }
    #request(method, path, accept, body, signal) {
        const send = this.#url.protocol === 'https:' ? https.request : http.request;
        const text = body === undefined ? undefined : JSON.stringify(body);
        const headers = { accept, authorization: `Bearer ${this.#token}` };
        if (text !== undefined) {
            headers['content-type'] = 'application/json';
            headers['content-length'] = Buffer.byteLength(text);
        }
        return new Promise((resolve, reject) => {
            const failed = (cause) => {
                const why = cause instanceof Error ? cause.message : String(cause);
                reject(new TerretError('connection_failed', `cannot reach ${this.#url.origin}: ${why}`, { cause, retryable: true }));
            };
            const request = send(new URL(path, this.#url), { method, headers, agent: this.#agent, signal }, (response) => {
                const status = response.statusCode ?? 0;
                if (status >= 200 && status < 300) {
                    resolve(response);
                    return;
                }
                read(response).then((answer) => reject(errorOf(status, answer)), failed);
            });
            request.on('error', failed);
            request.end(text);
        });
    }
}
async function read(response) {
    const chunks = [];
    for await (const chunk of response)
        chunks.push(chunk);
    return Buffer.concat(chunks).toString('utf8');
}
/** Reads server-sent events. It ends when the connection does, for whatever reason. */
async function* events(response) {
    const decoder = new TextDecoder();
    let rest = '';
    try {
        for await (const chunk of response) {
            rest += decoder.decode(chunk, { stream: true });
            for (let end = rest.indexOf('\n\n'); end >= 0; end = rest.indexOf('\n\n')) {
                const event = parse(rest.slice(0, end));
                rest = rest.slice(end + 2);
                if (event)
                    yield event;
            }
        }
    }
    catch {
        // The reader reconnects, or was told to stop.
    }
    finally {
        response.destroy();
    }
}
function parse(text) {
    const event = { id: '', name: '', data: '' };
    const data = [];
    for (const line of text.split('\n')) {
        const colon = line.indexOf(':');
        if (colon <= 0)
            continue; // a comment
        const value = line.slice(colon + 1).replace(/^ /, '');
        switch (line.slice(0, colon)) {
            case 'id':
                event.id = value;
                break;
            case 'event':
                event.name = value;
                break;
            case 'data':
                data.push(value);
                break;
        }
    }
    if (data.length === 0)
        return undefined;
    event.data = data.join('\n');
    return event;
}
