// The document's own declarations, which what we export must fit.
import * as sdk from '@terret-dev/terret/sdk';
import type { NormalizedMessage, SDKResultMessage, SDKSystemMessage, UserContent } from '@terret-dev/terret/sdk';

type SDKSessionOptions = {
  model: string;
  cwd?: string;
  productName?: string;
};

type SDKUserMessage = {
  type: 'user';
  message: UserContent;
  parentUuid: string | null;
  uuid: string;
  sessionId: string;
};

type SDKMessage =
  | NormalizedMessage
  | SDKSystemMessage
  | SDKResultMessage;

interface SDKSession {
  readonly sessionId: string;
  send(message: string | SDKUserMessage): Promise<void>;
  receive(): AsyncGenerator<SDKMessage, void>;
  close(): void;
  [Symbol.asyncDispose](): Promise<void>;
}

export const createSession: (options: SDKSessionOptions) => Promise<SDKSession> = sdk.createSession;
export const prompt: (message: string, options: SDKSessionOptions) => Promise<SDKResultMessage> = sdk.prompt;
