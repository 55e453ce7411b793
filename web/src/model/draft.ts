// A conversation that is being changed. It copies what it touches once, however
// many events are applied, and replaces items instead of changing them, so that
// what is shown can compare by identity.

import { type Conversation, type Item, root } from "./types";

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

export class Draft {
  readonly c: Mutable<Conversation>;
  private readonly places: Map<string, { actor: string; at: number }>;
  private readonly threads: Map<string, Item[]>;
  private readonly owned = new Set<string>();

  constructor(from: Conversation) {
    this.places = new Map(from.places);
    this.threads = new Map(from.threads) as Map<string, Item[]>;
    this.c = {
      ...from,
      threads: this.threads,
      places: this.places,
      open: new Map(from.open),
      decisions: new Map(from.decisions),
      undone: new Set(from.undone),
      changed: new Set(from.changed),
      files: new Map(from.files),
    };
  }

  /** The thread of an actor, ours to change. */
  private thread(actor: string): Item[] {
    let items = this.threads.get(actor);
    if (!items || !this.owned.has(actor)) {
      items = items ? items.slice() : [];
      this.threads.set(actor, items);
      this.owned.add(actor);
    }
    return items;
  }

  get<T extends Item["type"]>(key: string, type: T): Extract<Item, { type: T }> | undefined {
    const place = this.places.get(key);
    const item = place && this.threads.get(place.actor)?.[place.at];
    return item?.type === type ? (item as Extract<Item, { type: T }>) : undefined;
  }

  /** Replaces fields of an item. */
  patch<T extends Item["type"]>(key: string, type: T, change: Partial<Extract<Item, { type: T }>>): boolean {
    const item = this.get(key, type);
    if (!item) return false;
    const { actor, at } = this.places.get(key)!;
    this.thread(actor)[at] = { ...item, ...change } as Item;
    return true;
  }

  /**
   * Adds an item: at the end, or, where a later part of the same message is there
   * already, before that. (History whose pieces were dropped has text after the
   * tool call that follows it.)
   */
  add(actor: string, item: Item): void {
    if (this.places.has(item.key)) return;
    const items = this.thread(actor || root);
    let at = items.length;
    if (item.messageId !== undefined && item.index !== undefined) {
      for (let i = items.length - 1; i >= 0 && i >= items.length - 64; i--) {
        const other = items[i]!;
        if (other.messageId === item.messageId && other.index !== undefined && other.index > item.index) at = i;
      }
    }
    items.splice(at, 0, item);
    for (let i = at; i < items.length; i++) this.places.set(items[i]!.key, { actor: actor || root, at: i });
  }

  /** All items of a thread. */
  items(actor: string): readonly Item[] {
    return this.threads.get(actor) ?? [];
  }
}
