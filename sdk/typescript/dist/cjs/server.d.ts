import { Connection } from './connection.js';
export type ServerOptions = {
    cwd: string;
    program: string;
    dataDir?: string;
    env: Record<string, string | undefined>;
};
/** A server to talk to: a `terret` of our own, or one that was running before. */
export type Server = {
    readonly connection: Connection;
    /** The error to throw for one: if nobody can be reached, why that is, where it is known. */
    explain(error: unknown): Promise<unknown>;
    stop(): Promise<void>;
};
export declare function running(url: string, token: string): Server;
/**
 * Starts `terret serve`. It ends with its standard input, so that it never outlives this
 * program, and it does not keep this program running.
 */
export declare function start(options: ServerOptions): Promise<Server>;
