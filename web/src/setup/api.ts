// What the server is set up with. All of it is for admins only.

import { createParser } from "eventsource-parser";
import { useQuery } from "@tanstack/react-query";
import { ApiError, call, send } from "../api/http";
import { keys } from "../api/keys";
import type { components } from "../api/schema";
import type { List, Model } from "../api/types";
import { silenceLimit } from "../stream/sse";

type Schemas = components["schemas"];
export type Kept = Schemas["Kept"];
export type Provider = Schemas["Provider"];
export type Configuration = Schemas["Configuration"];
export type Fault = Schemas["Fault"];
export type Installer = Schemas["Installer"];
export type Installation = Schemas["Installation"];
export type McpSignIn = Schemas["SignIn"];

const at = encodeURIComponent;
const post = <T>(path: string, body?: unknown) => call<T>(path, { method: "POST", ...(body === undefined ? {} : { body }) });
const remove = <T = void>(path: string) => call<T>(path, { method: "DELETE" });

export const useKept = () => useQuery({ queryKey: keys.kept, queryFn: ({ signal }) => call<List<Kept>>("/v1/keys", { signal }) });
/** The key goes out in the body, and nothing of it is kept here. */
export const addKey = (name: string, key: string) => post<Kept>("/v1/keys", { name, key });
export const removeKey = (name: string) => remove(`/v1/keys/${at(name)}`);

export const useProviders = () => useQuery({ queryKey: keys.providers, queryFn: ({ signal }) => call<List<Provider>>("/v1/providers", { signal }) });
export const addProvider = (body: { name: string; base_url: string; api: string; key_env?: string }) => post<Provider>("/v1/providers", body);
export const removeProvider = (name: string) => remove(`/v1/providers/${at(name)}`);
export const modelsOf = (name: string) => call<List<Model>>(`/v1/providers/${at(name)}/models`);

export const useSignIns = (every: number | false) =>
  useQuery({ queryKey: keys.signIns, refetchInterval: every, queryFn: ({ signal }) => call<{ items: Kept[]; last?: McpSignIn }>("/v1/mcp/sign-ins", { signal }) });
export const beginSignIn = (server: string) => post<McpSignIn>("/v1/mcp/sign-ins", { server });
export const answerSignIn = (address: string) => post<McpSignIn>("/v1/mcp/sign-in/answer", { address });
export const cancelSignIn = () => remove("/v1/mcp/sign-in");
export const signOut = (name: string) => remove(`/v1/mcp/sign-ins/${at(name)}`);

/** It is not fetched anew behind a person who edits it. */
export const useConfig = () =>
  useQuery({ queryKey: keys.config, staleTime: Infinity, refetchOnWindowFocus: false, queryFn: ({ signal }) => call<Configuration>("/v1/config", { signal }) });
export const checkConfig = async (text: string) => (await post<{ faults: Fault[] }>("/v1/config/check", { text })).faults;
export const putConfig = (text: string, hash: string) => call<Configuration>("/v1/config", { method: "PUT", body: { text, hash } });

export const useInstallers = () => useQuery({ queryKey: keys.installers, queryFn: ({ signal }) => call<List<Installer>>("/v1/installers", { signal }) });
export const install = (agent: string) => post<Installation>(`/v1/installers/${at(agent)}`);
export const cancelInstall = () => remove<Installation>("/v1/installation");
/** The installation that runs, or the last one; null if there was none. */
export const useInstallation = () =>
  useQuery({
    queryKey: keys.installation,
    queryFn: async ({ signal }) => {
      try {
        return await call<Installation>("/v1/installation", { signal });
      } catch (cause) {
        if (cause instanceof ApiError && cause.status === 404) return null;
        throw cause;
      }
    },
  });

/** Reads what an installation prints, from its beginning to its end. Returns whether it has ended. */
async function read(from: { after: number }, onText: (text: string) => void, onState: (i: Installation) => void, stop: AbortSignal): Promise<boolean> {
  const silent = new AbortController();
  let timer = setTimeout(() => silent.abort(), silenceLimit);
  try {
    const response = await send(`/v1/installation/output?after=${from.after}`, { headers: { Accept: "text/event-stream" }, signal: AbortSignal.any([stop, silent.signal]) });
    if (!response.body) return false;
    let ended = false;
    const parser = createParser({
      onEvent: ({ event, data, id }) => {
        if (event === "output") {
          from.after = Number(id);
          onText((JSON.parse(data) as { text: string }).text);
        } else if (event === "missed") onText("… (the beginning is no longer kept)\n");
        else if (event === "installation") {
          const now = JSON.parse(data) as Installation;
          ended = now.state !== "running";
          onState(now);
        }
      },
    });
    const text = new TextDecoder();
    const reader = response.body.getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return ended;
      clearTimeout(timer);
      timer = setTimeout(() => silent.abort(), silenceLimit);
      parser.feed(text.decode(value, { stream: true }));
    }
  } finally {
    clearTimeout(timer);
  }
}

/** Follows an installation until it has ended, also across broken connections. */
export async function follow(onText: (text: string) => void, onState: (i: Installation) => void, stop: AbortSignal): Promise<void> {
  const from = { after: 0 };
  while (!stop.aborted) {
    try {
      if (await read(from, onText, onState, stop)) return;
    } catch (cause) {
      if (cause instanceof ApiError && cause.status >= 400 && cause.status < 500) return;
    }
    if (!stop.aborted) await new Promise((done) => setTimeout(done, 1_000));
  }
}
