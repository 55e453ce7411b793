import { randomUUID } from 'node:crypto';
import { TerretError, closed, invalid } from './errors.js';
import { follow } from './follow.js';
import type { SDKMessage, SDKUserMessage, UserContent } from './messages.js';
import type { Block, NewTurn } from './schema.js';
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

export class Session implements SDKSession {
  declare readonly sessionId: string;
  readonly #server: Server;
  readonly #shared: boolean; // the server is not ours
  readonly #end = new AbortController();
  readonly #used = new Set<string>();
  readonly #sent: string[] = []; // ids of messages that have no result yet
  #after: number; // the last event that receive handled
  #current = false; // between a message of ours and its result
  #closing: Promise<void> | undefined;

  constructor(server: Server, shared: boolean, id: string, after: number) {
    this.#server = server;
    this.#shared = shared;
    Object.defineProperty(this, 'sessionId', { value: id, enumerable: true });
    this.#after = after;
  }

  /** Fires when the session is closed. */
  get ended(): AbortSignal {
    return this.#end.signal;
  }

  async send(message: UserContent | SDKUserMessage): Promise<void> {
    if (this.ended.aborted) throw closed();
    const turn = this.#turn(message);
    const uuid = turn.message_id as string;
    this.#used.add(uuid);
    this.#sent.push(uuid);
    try {
      await this.#call('POST', 'turns', turn);
    } catch (error) {
      this.#used.delete(uuid);
      this.#sent.splice(this.#sent.indexOf(uuid), 1);
      throw error;
    }
  }

  #turn(message: UserContent | SDKUserMessage): NewTurn {
    if (typeof message === 'string' || Array.isArray(message)) {
      return { blocks: blocks(message), message_id: randomUUID(), when: 'queue' };
    }
    if (message === null || typeof message !== 'object' || message.type !== 'user') throw invalid('type', 'a message to the agent must be of type user');
    if (message.sessionId !== this.sessionId) throw invalid('sessionId', `the message is for session ${message.sessionId}, not ${this.sessionId}`);
    if (!/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(message.uuid)) throw invalid('uuid', `${JSON.stringify(message.uuid)} is not a UUID`);
    if (this.#used.has(message.uuid)) throw invalid('uuid', `${message.uuid} was sent before`);
    const turn: NewTurn = { blocks: blocks(message.message), message_id: message.uuid, when: 'queue' };
    if (message.parentUuid === null) turn.root = true;
    else if (message.parentUuid !== undefined) turn.parent_id = message.parentUuid;
    return turn;
  }

  async *receive(): AsyncGenerator<SDKMessage, void> {
    if (this.ended.aborted) throw closed();
    if (this.#sent.length === 0) throw new TerretError('conflict', 'nothing to receive: no message was sent');
    const reading = new AbortController();
    const stop = () => reading.abort();
    this.ended.addEventListener('abort', stop, { once: true });
    try {
      const path = `/v1/sessions/${this.sessionId}/events?view=neovate&deltas=0`;
      for await (const event of await follow(this.#server, path, this.#after, reading.signal)) {
        const message = this.#take(Number(event.id), JSON.parse(event.data) as SDKMessage);
        if (message === undefined) continue;
        yield message;
        if (message.type === 'result') return;
      }
      throw closed();
    } catch (error) {
      throw this.ended.aborted ? closed() : await this.#server.explain(error);
    } finally {
      this.ended.removeEventListener('abort', stop);
      stop();
    }
  }

  /** Notes how far receive is. What others do in the session is no answer here. */
  #take(seq: number, message: SDKMessage): SDKMessage | undefined {
    this.#after = seq;
    if (message.type === 'system') return message;
    if (message.type === 'message' && message.role === 'user' && this.#sent.includes(message.uuid)) {
      this.#current = true;
      this.#sent.splice(0, this.#sent.indexOf(message.uuid)); // dropped from the queue by others
    }
    if (!this.#current) return undefined;
    if (message.type === 'result') {
      this.#current = false;
      this.#sent.shift();
    }
    return message;
  }

  async interrupt(): Promise<void> {
    if (this.ended.aborted) throw closed();
    await this.#call('POST', 'interrupt');
    await this.#call('POST', 'queue/send', {}); // what was sent after the turn goes on
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#close());
  }

  async #close(): Promise<void> {
    this.#end.abort();
    // A session on somebody's server stays there; only its agent ends.
    if (this.#shared) await this.#call('POST', 'close').catch(() => {});
    await this.#server.stop();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #call(method: string, verb: string, body?: unknown): Promise<void> {
    try {
      await this.#server.connection.call(method, `/v1/sessions/${this.sessionId}/${verb}`, body);
    } catch (error) {
      throw await this.#server.explain(error);
    }
  }
}

function blocks(content: UserContent): Block[] {
  const parts = typeof content === 'string' ? [{ type: 'text' as const, text: content }] : content;
  const out = parts.map((part): Block => {
    switch (part.type) {
      case 'text': return { type: 'text', text: part.text };
      case 'image': return { type: 'image', bytes: part.data, media_type: part.mimeType };
      default: throw invalid('message', `a part must be text or image, not ${JSON.stringify((part as { type?: unknown }).type)}`);
    }
  });
  if (!out.some((b) => b.type !== 'text' || b.text !== '')) throw invalid('message', 'it is empty');
  return out;
}
