import type { Stream } from './connection.js';
import type { Server } from './server.js';
/**
 * Follows a stream of events after a number. It is open when the promise resolves. When the
 * connection breaks it is opened again after the last event, so nothing is lost or repeated.
 */
export declare function follow(server: Server, path: string, after: number, signal: AbortSignal, background?: boolean): Promise<Stream>;
