import { TerretError } from './errors.js';
import { follow } from './follow.js';
/** Lets the callback decide the requests of a session, until the signal fires: those that are open now, and all after a number. */
export async function openDesk(server, session, after, gates, onRequest, signal) {
    const query = gates.length > 0 ? `&gates=${gates.map(encodeURIComponent).join(',')}` : '';
    const asked = new Map();
    signal.addEventListener('abort', () => asked.forEach((a) => a.abort()), { once: true });
    const offer = (id) => {
        if (asked.has(id))
            return;
        const controller = new AbortController();
        asked.set(id, controller);
        void decide(server, id, onRequest, controller.signal).catch((error) => {
            if (!controller.signal.aborted)
                process.emitWarning(`a decision was refused: ${String(error)}`, 'TerretWarning');
        });
    };
    const stream = await follow(server, `/v1/sessions/${session}/events?deltas=0${query}`, after, signal, true);
    if (after > 0) {
        const open = await server.connection.call('GET', `/v1/decisions?session=${session}&limit=1000`);
        open.items.forEach((request) => offer(request.request_id));
    }
    void (async () => {
        for await (const event of stream) {
            const body = JSON.parse(event.data);
            const decided = body.data?.request_id;
            if (decided !== undefined && body.data?.behavior !== undefined) {
                asked.get(decided)?.abort();
                asked.delete(decided);
            }
            if (body.expects !== undefined)
                offer(body.expects.request_id);
        }
    })().catch((error) => {
        if (!signal.aborted)
            process.emitWarning(`nobody decides for session ${session} any more: ${String(error)}`, 'TerretWarning');
    });
}
async function decide(server, id, onRequest, signal) {
    const path = `/v1/decisions/${encodeURIComponent(id)}`;
    const request = await server.connection.call('GET', path);
    if (request.state !== 'open' || signal.aborted)
        return;
    let decision;
    try {
        decision = await onRequest(request, { signal });
    }
    catch (error) {
        decision = refusal(request.gate, error);
    }
    if (signal.aborted)
        return;
    try {
        await server.connection.call('POST', path, decision);
    }
    catch (error) {
        if (signal.aborted || !(error instanceof TerretError) || error.code !== 'invalid_request')
            throw error;
        await server.connection.call('POST', path, refusal(request.gate, error)); // nobody else will decide
        throw error;
    }
}
/** The decision of a program that could not decide. */
function refusal(gate, why) {
    const behaviors = {
        question: 'reject', plan: 'revise', pre_tool: 'ask', prompt: 'passthrough', stop: 'passthrough', subagent_stop: 'passthrough', compact: 'passthrough',
    };
    return { behavior: behaviors[gate] ?? 'deny', reason: `the program could not decide: ${why instanceof Error ? why.message : String(why)}` };
}
