// What events change in the query cache: the lists, and sessions that were fetched by themselves.

import type { QueryClient } from "@tanstack/react-query";
import { keys } from "../api/keys";
import type { Event, List, Request, Session } from "../api/types";
import { patchRequests, patchSession, patchSessions, unsettles } from "../model/lists";

/** Applies events; tells whether the list of sessions must be fetched again. */
export function patchCache(client: QueryClient, events: readonly Event[]): boolean {
  let fresh = false;
  client.setQueryData<List<Session>>(keys.sessions, (old) => {
    if (!old) return old;
    const patched = patchSessions(old.items, events);
    fresh = patched.fresh;
    return patched.list === old.items ? old : { ...old, items: patched.list };
  });
  client.setQueryData<List<Request>>(keys.requests, (old) => {
    if (!old) return old;
    const items = patchRequests(old.items, events);
    return items === old.items ? old : { ...old, items: [...items] };
  });
  patchOnes(client, events);
  return fresh;
}

function patchOnes(client: QueryClient, events: readonly Event[]): void {
  for (const { queryKey, state } of client.getQueryCache().findAll({ queryKey: keys.ones })) {
    const own = events.filter((e) => e.session === queryKey[1]);
    const old = state.data as Session | undefined;
    if (!old || own.length === 0) continue;
    client.setQueryData<Session>(queryKey, own.reduce(patchSession, old));
    if (own.some((e) => unsettles(e.kind))) void client.invalidateQueries({ queryKey });
  }
}
