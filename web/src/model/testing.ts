// Makes events for tests.
import type { Event, EventData, Kind, Session } from "../api/types";
import { reduce } from "./reduce";
import { type Conversation, emptyConversation, type Item, root } from "./types";

export class Script {
  readonly events: Event[] = [];
  turn = "";

  add<K extends Kind>(kind: K, data: EventData[K], more: Partial<Event> = {}): this {
    const seq = this.events.length + 1;
    const time = new Date(Date.UTC(2026, 0, 1, 12, 0, seq)).toISOString();
    this.events.push({ seq, session: "s", time, kind, data, actor: root, turn: this.turn, visibility: "ui", ...more });
    return this;
  }

  conversation(): Conversation {
    return reduce(emptyConversation, this.events);
  }

  /** The same, with one event at a time. */
  stepwise(): Conversation {
    return this.events.reduce((c, e) => reduce(c, [e]), emptyConversation);
  }

  items(actor = root): readonly Item[] {
    return this.conversation().threads.get(actor) ?? [];
  }
}

export const noUsage = { input: 0, output: 0, cache_read: 0, cache_write: 0, reasoning: 0 };
export const text = (s: string) => ({ type: "text" as const, text: s });

export const session = (id: string, more: Partial<Session> = {}): Session => ({
  id, agent: "native", native_id: null, title: id, cwd: "/p", persona: null, mode: "workbench", model: "", policy: "ask",
  permission_mode: "", state: "idle", created_at: "2025-01-01T00:00:00Z", updated_at: "2025-01-01T00:00:00Z", last_seq: 0,
  usage: noUsage, cost_usd: 0, open_requests: 0, revert: null, one_shot: false, options: {}, epoch: 1, ...more,
});
