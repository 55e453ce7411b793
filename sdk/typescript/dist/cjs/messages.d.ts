import type { Block, ErrorInfo, Usage } from './schema.js';
export type TextPart = {
    type: 'text';
    text: string;
};
/** An image: `data` is base64. */
export type ImagePart = {
    type: 'image';
    data: string;
    mimeType: string;
};
export type UserContent = string | Array<TextPart | ImagePart>;
/** A message to the agent, with an id and a place in the thread. */
export type SDKUserMessage = {
    type: 'user';
    message: UserContent;
    /** The message that this one follows: the session's last. Null begins a thread. */
    parentUuid: string | null;
    uuid: string;
    sessionId: string;
};
/** A complete message of the conversation. */
export type NormalizedMessage = {
    type: 'message';
    role: 'user' | 'assistant' | 'tool';
    content: Block[];
    timestamp: string;
    uuid: string;
    parentUuid: string | null;
};
/** The agent is ready. */
export type SDKSystemMessage = {
    type: 'system';
    subtype: 'init';
    sessionId: string;
    model: string;
    cwd: string;
    tools: string[];
};
/** The end of a request. */
export type SDKResultMessage = {
    type: 'result';
    subtype: 'success' | 'error';
    isError: boolean;
    content: string;
    usage: Usage;
    costUsd: number;
    error?: ErrorInfo;
};
export type SDKMessage = NormalizedMessage | SDKSystemMessage | SDKResultMessage;
