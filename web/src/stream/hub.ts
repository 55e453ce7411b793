// One stream for all tabs of a browser. The tab that holds a Web Lock reads it and
// tells the others over a BroadcastChannel; when that tab closes, another one gets
// the lock and goes on from the last cursor it heard of. Where a browser lacks
// either, each tab reads for itself.

import { ApiError } from "../api/http";
import { type Entry, readStream } from "./sse";

export type Status = { state: "connecting" | "live" | "reconnecting" | "signed-out"; since: number };

type Message =
  | { type: "entries"; entries: Entry[] }
  | { type: "status"; status: Status; cursor: string }
  | { type: "opened"; exact: boolean }
  | { type: "hello" };

export interface HubListener {
  /** New events, in order. */
  onEntries: (entries: Entry[]) => void;
  /** The stream is open. Unless exact, events may have been missed before. */
  onOpen: (exact: boolean) => void;
  onStatus: (status: Status) => void;
}

type Read = typeof readStream;

const backoff = { first: 250, max: 5_000 };

export class Hub {
  private readonly stop = new AbortController();
  private readonly channel: BroadcastChannel | null;
  private cursor = "";
  private leading = false;
  private wake: () => void = () => {};
  status: Status = { state: "connecting", since: Date.now() };

  constructor(
    private readonly listener: HubListener,
    private readonly read: Read = readStream,
  ) {
    const shared = "BroadcastChannel" in globalThis && !!navigator.locks;
    this.channel = shared ? new BroadcastChannel("terret-stream") : null;
  }

  start(): void {
    const { signal } = this.stop;
    const retry = () => this.wake();
    window.addEventListener("online", retry, { signal });
    document.addEventListener("visibilitychange", retry, { signal });
    if (!this.channel) {
      void this.lead();
      return;
    }
    this.channel.onmessage = (e: MessageEvent<Message>) => this.hear(e.data);
    this.channel.postMessage({ type: "hello" } satisfies Message);
    navigator.locks
      .request("terret-stream", { signal }, () => this.lead())
      .catch(() => {
        // Closed while it waited for the lock.
      });
  }

  close(): void {
    this.stop.abort();
    this.wake();
    this.channel?.close();
  }

  private hear(message: Message): void {
    switch (message.type) {
      case "entries":
        if (!this.leading) this.deliver(message.entries);
        break;
      case "status":
        if (!this.leading) {
          this.cursor = message.cursor || this.cursor;
          this.setStatus(message.status);
        }
        break;
      case "opened":
        if (!this.leading) this.listener.onOpen(message.exact);
        break;
      case "hello":
        if (this.leading) this.post({ type: "status", status: this.status, cursor: this.cursor });
    }
  }

  private post(message: Message): void {
    if (!this.stop.signal.aborted) this.channel?.postMessage(message);
  }

  private deliver(entries: Entry[]): void {
    this.cursor = entries.at(-1)?.cursor || this.cursor;
    this.listener.onEntries(entries);
  }

  private setStatus(status: Status): void {
    this.status = status;
    this.listener.onStatus(status);
  }

  private announce(state: Status["state"]): void {
    if (this.status.state !== state) this.setStatus({ state, since: Date.now() });
    this.post({ type: "status", status: this.status, cursor: this.cursor });
  }

  /** Reads the stream again and again until the hub is closed. */
  private async lead(): Promise<void> {
    this.leading = true;
    const { signal } = this.stop;
    let delay = backoff.first;
    while (!signal.aborted) {
      const exact = this.cursor !== "";
      try {
        await this.read(`/v1/events?cursor=${exact ? encodeURIComponent(this.cursor) : "now"}`, {
          signal,
          onOpen: () => {
            delay = backoff.first;
            this.announce("live");
            this.listener.onOpen(exact);
            this.post({ type: "opened", exact });
          },
          onCursor: (cursor) => {
            this.cursor = cursor;
            this.post({ type: "status", status: this.status, cursor });
          },
          onEntries: (entries) => {
            this.deliver(entries);
            this.post({ type: "entries", entries });
          },
        });
      } catch (cause) {
        if (signal.aborted) return;
        if (cause instanceof ApiError && cause.status === 401) {
          this.announce("signed-out");
          return;
        }
        // A cursor that the server no longer takes: begin anew.
        if (cause instanceof ApiError && (cause.status === 400 || cause.status === 422)) this.cursor = "";
      }
      if (signal.aborted) return;
      this.announce("reconnecting");
      await this.pause(delay * (0.75 + Math.random() / 2));
      delay = Math.min(delay * 2, backoff.max);
    }
  }

  /** Waits, or less when the network or the person comes back. */
  private pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
