import { type OnRequest } from './desk.js';
import type { SDKResultMessage } from './messages.js';
import type { NewSession } from './schema.js';
import { type SDKSession } from './session.js';
export { TerretError, type TerretErrorDetails } from './errors.js';
export type { OnRequest } from './desk.js';
export type * from './messages.js';
export type { Block, ErrorCode, ErrorInfo, NewSession, SDKDecision, SDKRequest, Usage } from './schema.js';
export type { SDKSession } from './session.js';
/** Where sessions run, and who decides. */
export type SDKServerOptions = {
    /** What the agent calls the product, in place of Terret. Not with `server`. */
    productName?: string;
    /** Where sessions are kept. Default: a temporary folder, which goes with the session. */
    dataDir?: string;
    /** A running `terret serve` to use, in place of one of our own. */
    server?: {
        url: string;
        token: string;
    };
    /** The terret program. Default: `TERRET_BIN` of the environment, or `terret` in the PATH. */
    program?: string;
    /** Variables for it, besides those of this program. */
    env?: Record<string, string | undefined>;
    /** Decides what the policy leaves open. Without it that is refused, or left to the users of `server`. */
    onRequest?: OnRequest;
    /** Where else the agent waits for onRequest: pre_tool, prompt, stop, subagent_stop, compact. */
    gates?: string[];
};
export type SDKSessionOptions = SDKServerOptions & {
    /** As provider/model, or `demo`. */
    model: string;
    /** Default: the current folder. */
    cwd?: string;
    /** Default: native. */
    agent?: string;
    /** What happens to tool uses. Default: auto-approve, or ask if there is an onRequest. */
    policy?: NewSession['policy'];
    /** All other options of a session, as over HTTP. */
    session?: Omit<NewSession, 'agent' | 'cwd' | 'model' | 'policy'>;
};
/** Creates a session. Close it when you are done. */
export declare function createSession(options: SDKSessionOptions): Promise<SDKSession>;
/** Resumes a session that is kept in `dataDir` or on `server`. */
export declare function resumeSession(sessionId: string, options: SDKServerOptions): Promise<SDKSession>;
/** Creates a session, sends one message, and returns its result. An error result is a result. */
export declare function prompt(message: string, options: SDKSessionOptions): Promise<SDKResultMessage>;
