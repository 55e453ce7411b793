// Who is told without a browser. All of it is for admins only.

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { call } from "../api/http";
import { keys } from "../api/keys";
import type { components } from "../api/schema";
import { sentence } from "../lib/format";

type Schemas = components["schemas"];
export type Notify = Schemas["Notify"];
export type Channel = Schemas["Channel"];
export type Delivery = Schemas["Delivery"];
export type Moment = NonNullable<Channel["events"]>[number];

/** What the server shows in place of a secret, and takes for the one that it has. */
export const keptSecret = "(kept)";

export const moments: [Moment, string, string][] = [
  ["needs", "Something needs you", "something needs you"],
  ["done", "A turn is over", "a turn is over"],
  ["failed", "A turn has failed", "a turn has failed"],
  ["budget", "The money is spent", "the money is spent"],
];

const get = (signal?: AbortSignal) => call<Notify>("/v1/notify", signal ? { signal } : {});

/** What waits changes by itself, and is looked at again while there is some. */
export const useNotify = () =>
  useQuery({ queryKey: keys.notify, retry: false, queryFn: ({ signal }) => get(signal), refetchInterval: (q) => ((q.state.data?.waiting.length ?? 0) > 0 ? 5000 : 60_000) });

/** Changes what is set now, whoever has changed it since the page was loaded. */
export function useChange() {
  const client = useQueryClient();
  return async (change: (now: Notify) => Partial<Notify>) => {
    const now = await get();
    const next = { ...now, ...change(now) };
    const body = { channels: next.channels, ...(next.base_url ? { base_url: next.base_url } : {}) };
    client.setQueryData(keys.notify, await call<Notify>("/v1/notify", { method: "PUT", body }));
  };
}

export const tryChannel = (id: string) => call<void>("/v1/notify/test", { method: "POST", body: { id } });

/** What went wrong, without the name of the field that it is about. */
export const wrong = (cause: unknown): string => {
  const text = cause instanceof Error ? cause.message : String(cause);
  return sentence(text.replace(/^(channels|base_url): (channel \S+: )?/, ""));
};
