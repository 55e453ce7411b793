// The conversations that are open: history first, then what the hub hears. Numbers
// are dense, so a gap shows and is filled by asking again.

import type { Event } from "../api/types";
import { reduce } from "../model/reduce";
import { type Conversation, emptyConversation } from "../model/types";
import { fetchHistory } from "./sse";

export interface Snapshot {
  conversation: Conversation;
  /** The newest events without pieces of text, for the raw view. */
  log: readonly Event[];
  loaded: boolean;
  error: Error | null;
}

const kept = 2_000; // events of the raw view
const held = 12; // conversations in memory that nobody looks at

type Fetch = typeof fetchHistory;

export class ConversationStore {
  private snap: Snapshot = { conversation: emptyConversation, log: [], loaded: false, error: null };
  private readonly listeners = new Set<() => void>();
  private waiting: Event[] = [];
  private fetching: Promise<void> | null = null;
  private frame = false;

  constructor(
    readonly session: string,
    private readonly fetch: Fetch = fetchHistory,
  ) {}

  subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    if (!this.snap.loaded) void this.catchUp();
    return () => this.listeners.delete(listener);
  };

  get watched(): boolean {
    return this.listeners.size > 0;
  }

  snapshot = (): Snapshot => this.snap;

  /** Takes events from the hub. They show with the next frame. */
  push(events: Event[]): void {
    this.waiting.push(...events);
    if (!this.snap.loaded || this.frame) return;
    this.frame = true;
    const show = () => {
      this.frame = false;
      this.flush();
    };
    if (document.hidden) setTimeout(show, 100);
    else requestAnimationFrame(show);
  }

  /** Fetches what is missing. Calls at the same time share one fetch. */
  catchUp(): Promise<void> {
    this.fetching ??= this.load().finally(() => {
      this.fetching = null;
    });
    return this.fetching;
  }

  /** Fetches what is missing, anew: a fetch that is under way may have been answered before. */
  async catchUpAgain(): Promise<void> {
    await this.fetching;
    await this.catchUp();
  }

  private async load(): Promise<void> {
    try {
      const events = await this.fetch(this.session, this.snap.conversation.lastSeq);
      this.snap = { ...this.apply(events), loaded: true, error: null };
    } catch (cause) {
      this.snap = { ...this.snap, error: cause instanceof Error ? cause : new Error(String(cause)) };
    }
    this.flush();
    this.tell();
  }

  private flush(): void {
    if (!this.snap.loaded) return;
    const events = this.waiting.filter((e) => e.seq > this.snap.conversation.lastSeq);
    this.waiting = [];
    if (events.length === 0) return;
    if (events[0]!.seq > this.snap.conversation.lastSeq + 1) {
      // Something was missed: these come again with it.
      if (!this.fetching) void this.catchUp();
      else this.waiting = events;
      return;
    }
    this.snap = this.apply(events);
    this.tell();
  }

  private apply(events: readonly Event[]): Snapshot {
    const conversation = reduce(this.snap.conversation, events);
    if (conversation === this.snap.conversation) return this.snap;
    const from = this.snap.conversation.lastSeq;
    const log = [...this.snap.log, ...events.filter((e) => e.seq > from && !e.kind.endsWith(".delta"))].slice(-kept);
    return { ...this.snap, conversation, log };
  }

  private tell(): void {
    for (const listener of this.listeners) listener();
  }
}

/** All conversations of this page. */
export class Conversations {
  private readonly stores = new Map<string, ConversationStore>();

  get(session: string): ConversationStore {
    let store = this.stores.get(session);
    if (store) this.stores.delete(session);
    else store = new ConversationStore(session);
    this.stores.set(session, store); // the newest last
    for (const [id, old] of this.stores) {
      if (this.stores.size <= held) break;
      if (!old.watched && id !== session) this.stores.delete(id);
    }
    return store;
  }

  push(events: readonly Event[]): void {
    const by = new Map<string, Event[]>();
    for (const e of events) {
      if (!this.stores.has(e.session)) continue;
      const list = by.get(e.session);
      if (list) list.push(e);
      else by.set(e.session, [e]);
    }
    for (const [id, list] of by) this.stores.get(id)!.push(list);
  }

  /** Fetches anew what could not be fetched while the server was away. */
  retry(): void {
    for (const store of this.stores.values()) if (store.watched && store.snapshot().error) void store.catchUp();
  }

  /** After the stream was opened: it tells nothing of before. */
  catchUp(): void {
    for (const [id, store] of this.stores) {
      if (store.watched) void store.catchUpAgain();
      else this.stores.delete(id);
    }
  }
}
