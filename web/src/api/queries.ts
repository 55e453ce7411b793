// What is read from the server. The stream keeps the lists in step; see live.ts.

import { keepPreviousData, queryOptions, type QueryClient, replaceEqualDeep, useQueries, useQuery } from "@tanstack/react-query";
import { useMemo, useRef } from "react";
import { patchRequests, patchSession, patchSessions } from "../model/lists";
import { call, query } from "./http";
import { keys } from "./keys";
import { caughtUp } from "./meanwhile";
import type {
  Branch, Capabilities, Changes, Command, Dirs, FileContent, FileEntry, Fleet, FleetNode, Found, List, Model, Persona, Probe, Request, Rule, Session, Turn, UsageRow,
} from "./types";

const id = encodeURIComponent;

const withAgents = new WeakMap<List<Session>, List<Session>>();

/** Without the logs of teams, workflows, reviews and races, which have pages of their own. Made once for all who ask. */
function withAgent(list: List<Session>): List<Session> {
  let out = withAgents.get(list);
  if (!out) {
    out = { ...list, items: list.items.filter((s) => s.agent !== "none") };
    withAgents.set(list, out);
    withAgents.set(out, out);
  }
  return out;
}

/** Keeps the objects of sessions that are as before. What was made of such a list has them already. */
const sameSessions = (old: unknown, list: unknown) => (withAgents.has(list as List<Session>) ? list : replaceEqualDeep(old, list));

export const useSessions = () =>
  useQuery({
    queryKey: keys.sessions, select: withAgent, structuralSharing: sameSessions,
    queryFn: ({ signal }) =>
      caughtUp(call<List<Session>>("/v1/sessions?limit=500", { signal }), (list, events) => ({ ...list, items: patchSessions(list.items, events).list })),
  });

/** Sessions with these words, from all that the server has; empty words ask for nothing. */
export const useFoundSessions = (words: string): Session[] =>
  useQuery({
    queryKey: [...keys.sessions, "find", words], enabled: words !== "", placeholderData: keepPreviousData,
    queryFn: ({ signal }) => call<List<Session>>(`/v1/sessions${query({ q: words, limit: 50 })}`, { signal }), select: withAgent,
  }).data?.items ?? [];

/** Messages with these words, from all sessions; fewer than two letters ask for nothing. */
export const useFoundMessages = (words: string, limit: number): Found[] => {
  const wanted = /[\p{L}\p{N}].*[\p{L}\p{N}]/u.test(words);
  const found = useQuery({
    queryKey: [...keys.sessions, "search", words, limit], enabled: wanted, placeholderData: keepPreviousData, retry: false,
    queryFn: ({ signal }) => call<List<Found>>(`/v1/search${query({ q: words, limit })}`, { signal }),
  }).data?.items;
  return useMemo(() => (wanted ? (found ?? []).filter((f) => f.agent !== "none") : []), [wanted, found]);
};

export interface OneSession {
  session: Session | undefined;
  error: Error | null;
  /** It is still being looked for. */
  pending: boolean;
  refetch: () => void;
}

const oneSession = (session: string) =>
  queryOptions({
    queryKey: keys.session(session),
    queryFn: ({ signal }) =>
      caughtUp(call<Session>(`/v1/sessions/${id(session)}`, { signal }), (s, events) => events.filter((e) => e.session === s.id).reduce(patchSession, s)),
  });

/** How many sessions are fetched one by one. */
const mostBeyond = 100;

/** Those of these sessions that the list ends before. */
export function useBeyond(sessions: readonly string[]): Session[] {
  const list = useSessions().data?.items;
  const missing = list ? sessions.filter((id) => !list.some((s) => s.id === id)).slice(0, mostBeyond) : [];
  return useQueries({
    queries: missing.map((id) => ({ ...oneSession(id), retry: false, staleTime: Infinity })), // a deleted one stays so
    combine: (found) => found.flatMap((q) => (q.data && q.data.agent !== "none" ? [q.data] : [])),
  });
}

/** The branches of the folders of these sessions, by folder. Each folder is asked once. */
export function useBranches(sessions: readonly Session[]): Readonly<Record<string, string>> {
  const first = [...new Map(sessions.map((s) => [s.cwd, s])).values()].slice(0, mostBeyond);
  return useQueries({
    queries: first.map((s) => ({ queryKey: keys.branch(s.id), retry: false, staleTime: 60_000, queryFn: ({ signal }: { signal: AbortSignal }) => call<Branch>(`/v1/sessions/${id(s.id)}/branch`, { signal }) })),
    combine: (found) => Object.fromEntries(found.map((q, i) => [first[i]!.cwd, q.data?.branch ?? ""])),
  });
}

/** A session: from the list, or fetched by itself where the list ends before it. */
export function useOneSession(session: string | null): OneSession {
  const list = useSessions();
  const listed = session ? list.data?.items.find((s) => s.id === session) : undefined;
  const last = useRef<Session>(undefined); // shown on while it is fetched because others took its place in the list
  if (listed) last.current = listed;
  const one = useQuery({
    ...oneSession(session ?? ""), enabled: !!session && !listed && !list.isPending,
    placeholderData: last.current?.id === session ? last.current : undefined,
  });
  const own = one.data?.agent === "none" ? undefined : one.data;
  return { session: listed ?? own, error: one.error, pending: list.isPending || one.isFetching, refetch: () => void one.refetch() };
}

export const useSession = (session: string | null): Session | undefined => useOneSession(session).session;

/** A session that this page knows, in the list or by itself. */
export const knownSession = (client: QueryClient, session: string): Session | undefined =>
  client.getQueryData<List<Session>>(keys.sessions)?.items.find((s) => s.id === session) ?? client.getQueryData<Session>(keys.session(session));

/** Fetches the sessions anew: those of the list, and those that are shown beside it. */
export const refreshSessions = (client: QueryClient): Promise<unknown> =>
  Promise.all([client.invalidateQueries({ queryKey: keys.sessions }), client.invalidateQueries({ queryKey: keys.ones })]);

export const useRequests = () =>
  useQuery({
    queryKey: keys.requests,
    queryFn: ({ signal }) =>
      caughtUp(call<List<Request>>("/v1/decisions?state=open&limit=500", { signal }), (list, events) => ({ ...list, items: [...patchRequests(list.items, events)] })),
  });

const agents = queryOptions({ queryKey: keys.agents, queryFn: ({ signal }) => call<List<Probe>>("/v1/agents", { signal }), staleTime: 60_000 });

export const useAgents = () => useQuery(agents);

const known = queryOptions({ queryKey: [...keys.agents, "known"], queryFn: ({ signal }) => call<List<Probe>>("/v1/agents?probe=0", { signal }), staleTime: Infinity });

const noAgents: Probe[] = [];
const soon = 1_000; // milliseconds

/** The agents. Until all programs have answered, which may take seconds, that is what the server knows of them; this starts none. */
export function useKnownAgents(): Probe[] {
  const asked = useQuery({ ...agents, enabled: false }).data;
  const before = useQuery({ ...known, enabled: !asked }).data;
  return (asked ?? before)?.items ?? noAgents;
}

/** The agents that are installed, as far as that is known; looking says that others may turn out to be. */
export function useInstalled(): { agents: Probe[]; looking: boolean } {
  const asked = useAgents().data;
  const all = useKnownAgents();
  return { agents: useMemo(() => all.filter((a) => a.found), [all]), looking: !asked };
}

/** Looks again while programs are being asked: what one has said counts before the others have. One place does it for all. */
export function useAgentsInStep(): void {
  const asked = useQuery({ ...agents, enabled: false });
  const checking = asked.data?.items.some((a) => a.checking) ?? false;
  const first = !asked.data && asked.fetchStatus === "fetching";
  useQuery({ ...agents, enabled: checking, refetchInterval: checking ? soon : false });
  useQuery({ ...known, enabled: first, refetchInterval: first ? soon : false });
}

/** What an agent can do. */
function useAbilities(agent: string): Capabilities | undefined {
  useAgents();
  return useKnownAgents().find((a) => a.agent === agent)?.capabilities;
}

/** Whether an agent can do something; true as long as that is not known. */
export const useCan = (agent: string): ((capability: string) => boolean) => {
  const abilities = useAbilities(agent);
  return (capability) => {
    const ability = abilities?.[capability];
    return typeof ability !== "object" || ability.ok;
  };
};

/** Whether an agent is known to be able to do something. */
export const useHas = (agent: string): ((capability: string) => boolean) => {
  const abilities = useAbilities(agent);
  return (capability) => {
    const ability = abilities?.[capability];
    return typeof ability === "object" && ability.ok;
  };
};

/** Where a session can be forked: it must have begun, rest, and have an agent that is known to do it. */
export const useFork = (s: Session): { whole: boolean; anywhere: boolean } => {
  const has = useHas(s.agent);
  const ready = !!s.native_id && (s.state === "idle" || s.state === "closed");
  return { whole: ready && has("fork"), anywhere: ready && has("fork_at") };
};

/** The models of an agent that lets one choose. */
export const useModels = (agent: string) => {
  useAgents();
  const ability = useKnownAgents().find((a) => a.agent === agent)?.capabilities.model_selection;
  return useQuery({
    queryKey: keys.models(agent), enabled: typeof ability === "object" && ability.ok, staleTime: 60_000, retry: false,
    queryFn: ({ signal }) => call<List<Model>>(`/v1/agents/${id(agent)}/models`, { signal }),
  });
};

/** The permanent rules, and those of a session if one is named. */
export const useRules = (session = "", enabled = true) =>
  useQuery({ queryKey: [...keys.rules, session], enabled, queryFn: ({ signal }) => call<List<Rule>>(`/v1/rules${query({ session })}`, { signal }) });

export const usePersonas = (cwd: string) =>
  useQuery({
    queryKey: keys.personas(cwd), enabled: cwd !== "", retry: false,
    queryFn: ({ signal }) => call<List<Persona> & { broken?: string[] }>(`/v1/personas${query({ cwd })}`, { signal }),
  });

export const usePersonaPrompt = (persona: string, cwd: string, mode: string) =>
  useQuery({
    queryKey: keys.personaPrompt(persona, cwd, mode), enabled: persona !== "" && cwd !== "", retry: false,
    queryFn: ({ signal }) => call<{ text: string; tokens: number; notes?: string[] }>(`/v1/personas/${id(persona)}/prompt${query({ cwd, mode })}`, { signal }),
  });

export const useRoots = () =>
  useQuery({ queryKey: keys.roots, queryFn: ({ signal }) => call<List<{ path: string }>>("/v1/roots", { signal }), staleTime: 60_000 });

export const useDirs = (path: string) =>
  useQuery({
    queryKey: keys.dirs(path), enabled: path !== "", retry: false, placeholderData: keepPreviousData,
    queryFn: ({ signal }) => call<Dirs>(`/v1/dirs${query({ path })}`, { signal }),
  });

export const useFiles = (session: string, path: string, enabled = true) =>
  useQuery({
    queryKey: [...keys.files(session), path], enabled, retry: false,
    queryFn: ({ signal }) => call<List<FileEntry> & { truncated?: boolean }>(`/v1/files${query({ session, path, changes: "true" })}`, { signal }),
  });

export const useFile = (session: string, path: string) =>
  useQuery({
    queryKey: [...keys.files(session), "content", path], enabled: path !== "", retry: false,
    queryFn: ({ signal }) => call<FileContent>(`/v1/files/content${query({ session, path })}`, { signal }),
  });

/** Files whose path has these letters in order; null asks for nothing. */
export const useFileNames = (session: string, letters: string | null): string[] => {
  const found = useQuery({
    queryKey: [...keys.files(session), "find", letters], enabled: letters !== null, retry: false, placeholderData: keepPreviousData,
    queryFn: ({ signal }) => call<List<{ path: string }>>(`/v1/files/find${query({ session, q: letters ?? "", limit: 50 })}`, { signal }),
  });
  return useMemo(() => (letters === null ? [] : (found.data?.items ?? []).map((f) => f.path)), [letters, found.data]);
};

export const useChanges = (session: string, turn: string) =>
  useQuery({
    queryKey: [...keys.changes(session), turn], retry: false, placeholderData: keepPreviousData,
    queryFn: ({ signal }) => call<Changes>(`/v1/sessions/${id(session)}/changes${query({ turn })}`, { signal }),
  });

/** Changes without those that another session may have made. */
const own = (c: Changes): Changes => {
  const items = c.items.filter((x) => !x.by);
  const sum = (of: "insertions" | "deletions") => items.reduce((n, x) => n + x[of], 0);
  return { ...c, items, insertions: sum("insertions"), deletions: sum("deletions") };
};

/** What a turn changed, without the diffs; of the last turn, if none is named. */
export const useTurnCounts = (session: string, turn: string, enabled: boolean) =>
  useQuery({
    queryKey: [...keys.changes(session), "counts", turn], enabled, retry: false, staleTime: 60_000,
    queryFn: async ({ signal }): Promise<Changes | null> => {
      const of = turn || (await call<List<Turn>>(`/v1/sessions/${id(session)}/turns`, { signal })).items.at(-1)?.id;
      return of ? own(await call<Changes>(`/v1/sessions/${id(session)}/changes${query({ turn: of, diff: "0" })}`, { signal })) : null;
    },
  }).data;

/** The command that does a turn without us, where there is one. */
export const useReplay = (session: string, turn: string, enabled: boolean): string =>
  useQuery({
    queryKey: ["replay", session, turn], enabled, retry: false, staleTime: Infinity,
    queryFn: ({ signal }) => call<{ command: string }>(`/v1/sessions/${id(session)}/turns/${id(turn)}/replay`, { signal }),
  }).data?.command ?? "";

/** Commands that can be typed. The agent is opened to tell them, so only on demand. */
export const useCommands = (session: string, enabled: boolean) =>
  useQuery({
    queryKey: keys.commands(session), enabled, retry: false, staleTime: 60_000,
    queryFn: ({ signal }) => call<List<Command>>(`/v1/sessions/${id(session)}/commands`, { signal }),
  });

export const useQueue = (session: string) =>
  useQuery({
    queryKey: keys.queue(session), retry: false,
    queryFn: ({ signal }) => call<List<Turn>>(`/v1/sessions/${id(session)}/queue`, { signal }),
  });

export const useUsage = (group: string) =>
  useQuery({ queryKey: keys.usage(group), queryFn: ({ signal }) => call<List<UsageRow>>(`/v1/usage${query({ group })}`, { signal }) });

/** The nodes that share the store; none on a single machine. */
export const useFleet = (every?: number) =>
  useQuery({ queryKey: keys.fleet, retry: false, staleTime: 60_000, refetchInterval: every ?? false, queryFn: ({ signal }) => call<Fleet>("/v1/fleet", { signal }) });

/** The nodes on which a session can continue. A node that drains takes none. */
export const useOtherNodes = (session: Session): FleetNode[] => {
  const fleet = useFleet().data;
  return fleet?.node ? (fleet.nodes ?? []).filter((n) => !n.draining && n.name !== (session.node || fleet.node)) : [];
};

const useIdentity = () =>
  useQuery({ queryKey: keys.me, queryFn: ({ signal }) => call<{ name: string; scope: string }>("/v1/me", { signal }), staleTime: Infinity }).data;

/** The name that the log gives this browser. */
export const useMe = (): string => useIdentity()?.name ?? "";

/** Whether this browser may do everything: it runs programs on the server's machine. */
export const useOwner = (): boolean => useIdentity()?.scope === "admin";
