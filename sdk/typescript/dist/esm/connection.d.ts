/** An event of a stream. */
export type StreamEvent = {
    id: string;
    name: string;
    data: string;
};
/** A stream that is open: reading it to the end, or the signal, closes it. */
export type Stream = AsyncGenerator<StreamEvent, void>;
/** Requests to one server. Idle connections do not keep the program running. */
export declare class Connection {
    #private;
    constructor(url: string, token: string);
    /** Sends a request, and returns the JSON that comes back. */
    call<T>(method: string, path: string, body?: unknown): Promise<T>;
    /** Opens a stream of events. `background` says that it does not keep the program running. */
    stream(path: string, signal: AbortSignal, background?: boolean): Promise<Stream>;
    close(): void;
}
