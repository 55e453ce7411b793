// Joins the hub with what is shown: lists in the query cache, conversations, the
// connection's mark.

import type { QueryClient } from "@tanstack/react-query";
import { create } from "zustand";
import { ApiError } from "../api/http";
import { keys } from "../api/keys";
import { hear } from "../api/meanwhile";
import type { Event } from "../api/types";
import { noteActs } from "./acts";
import { inBatches } from "./batches";
import { calmly } from "./calm";
import { Conversations } from "./conversations";
import { noteEnded, shareEnded } from "./ended";
import { Hub, type Status } from "./hub";
import { lookBack, noteMissed } from "./missed";
import { patchCache } from "./patch";

export const conversations = new Conversations();

export const useConnection = create<Status>(() => ({ state: "connecting", since: Date.now() }));

/** Starts the stream; the result stops it. */
export function goLive(client: QueryClient): () => void {
  const refresh = calmly(() => Promise.all([client.invalidateQueries({ queryKey: keys.sessions }), client.invalidateQueries({ queryKey: ["usage"] })]));
  const stale = new Set<"team" | "work">();
  let workTimer: ReturnType<typeof setTimeout> | undefined;
  const refreshWork = (events: readonly Event[]) => {
    for (const e of events) {
      if (e.kind.startsWith("bus.") || e.kind === "agent.state") stale.add("team");
      else if (e.kind.startsWith("task.")) stale.add("work");
    }
    if (stale.size === 0) return;
    workTimer ??= setTimeout(() => {
      workTimer = undefined;
      for (const what of stale) void client.invalidateQueries({ queryKey: keys[what] });
      stale.clear();
    }, 250);
  };
  const lists = inBatches((events) => {
    if (patchCache(client, events)) refresh.ask();
  });
  const hub = new Hub({
    onStatus: (status) => useConnection.setState(status, true),
    onOpen: (exact) => {
      if (exact) {
        // The stream goes on where it was; what was asked for meanwhile got no answer.
        void client.refetchQueries({ type: "active", predicate: (q) => unanswered(q.state.error) });
        conversations.retry();
        return;
      }
      void client.invalidateQueries();
      conversations.catchUp();
      void lookBack();
    },
    onEntries: (entries) => {
      const events = entries.map((e) => e.event);
      hear(events);
      conversations.push(events);
      lists.push(events);
      refreshFiles(client, events);
      refreshWork(events);
      noteMissed(events);
      noteActs(events);
      noteEnded(events);
    },
  });
  hub.start();
  const unshare = shareEnded();
  return () => {
    unshare();
    lists.close();
    refresh.close();
    clearTimeout(workTimer);
    hub.close();
  };
}

/** Whether the server was not reached, or could not answer. */
const unanswered = (error: Error | null) => error instanceof ApiError && (error.status === 0 || error.status >= 500);

/** Files and changes are fetched anew when something happened to them. */
function refreshFiles(client: QueryClient, events: readonly Event[]): void {
  const changed = new Set<string>();
  const queued = new Set<string>();
  const branches = new Set<string>();
  for (const e of events) {
    if (e.kind === "file.changed" || e.kind === "checkpoint.rewound" || e.kind === "turn.complete" || e.kind === "turn.error") changed.add(e.session);
    if (e.kind === "checkpoint.rewound" || e.kind === "turn.complete" || e.kind === "turn.error") branches.add(e.session);
    if (e.kind === "queue.change" || e.kind === "turn.start" || e.kind === "turn.complete" || e.kind === "turn.error") queued.add(e.session);
  }
  for (const id of changed) {
    void client.invalidateQueries({ queryKey: keys.changes(id) });
    void client.invalidateQueries({ queryKey: keys.files(id) });
  }
  for (const id of branches) void client.invalidateQueries({ queryKey: keys.branch(id) });
  for (const id of queued) void client.invalidateQueries({ queryKey: keys.queue(id) });
}
