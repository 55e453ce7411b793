import type { Server } from './server.js';
import type { SDKDecision, SDKRequest } from './schema.js';
/**
 * Decides a request of the agent: a permission, a question, a plan, or a gate. It may take
 * its time; the signal fires when the request is decided otherwise or the session is closed.
 * If it throws, the request is refused.
 */
export type OnRequest = (request: SDKRequest, context: {
    signal: AbortSignal;
}) => SDKDecision | Promise<SDKDecision>;
/** Lets the callback decide the requests of a session, until the signal fires: those that are open now, and all after a number. */
export declare function openDesk(server: Server, session: string, after: number, gates: string[], onRequest: OnRequest, signal: AbortSignal): Promise<void>;
