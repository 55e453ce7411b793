import type { SDKMessage, SDKUserMessage, UserContent } from './messages.js';
import type { Server } from './server.js';
/** A conversation with an agent. Only one `receive` should run at a time. */
export interface SDKSession {
    readonly sessionId: string;
    /** Sends a message. If the agent is busy, it waits for its turn. */
    send(message: UserContent | SDKUserMessage): Promise<void>;
    /**
     * The complete messages of the next message that was sent, up to its result. You may leave
     * the loop early: the rest comes with the next `receive`.
     */
    receive(): AsyncGenerator<SDKMessage, void>;
    /** Stops what the agent is doing; its result says so. */
    interrupt(): Promise<void>;
    /** Ends the agent. There is no need to wait for it. */
    close(): Promise<void>;
    [Symbol.asyncDispose](): Promise<void>;
}
export declare class Session implements SDKSession {
    #private;
    readonly sessionId: string;
    constructor(server: Server, shared: boolean, id: string, after: number);
    /** Fires when the session is closed. */
    get ended(): AbortSignal;
    send(message: UserContent | SDKUserMessage): Promise<void>;
    receive(): AsyncGenerator<SDKMessage, void>;
    interrupt(): Promise<void>;
    close(): Promise<void>;
    [Symbol.asyncDispose](): Promise<void>;
}
