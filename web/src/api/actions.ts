// What a person does: one function for each verb.

import { call, send } from "./http";
import type { Answer, Block, List, Probe, PullRequest, Request, Rule, Session, Turn } from "./types";

const at = (session: string, rest = "") => `/v1/sessions/${encodeURIComponent(session)}${rest}`;
const post = <T>(path: string, body: unknown = {}) => call<T>(path, { method: "POST", body });

export interface NewSession {
  cwd: string;
  agent?: string;
  model?: string;
  persona?: string;
  mode?: string;
  policy?: string;
  permission_mode?: string;
  title?: string;
  /** The agent's own session to go on with. */
  native_id?: string;
  /** Work in a new git worktree, on a branch that is named after a text. */
  worktree?: boolean;
  branch?: string;
  max_cost_usd?: number;
  max_turns?: number;
  /** How many seconds requests wait, by their kind. */
  timeouts?: Record<string, number>;
  /** Start it even if the agent cannot be held to the session's restrictions. */
  unenforced?: boolean;
}

export const createSession = (body: NewSession) => post<Session & { notes?: string[] }>("/v1/sessions", body);

export interface NewAgent { name: string; argv: string[]; env?: string[]; force?: boolean }

export const addAgent = (body: NewAgent) => post<Probe>("/v1/agents", body);
export const removeAgent = (agent: string) => call<void>(`/v1/agents/${encodeURIComponent(agent)}`, { method: "DELETE" });

export function prompt(session: string, blocks: Block[], when: "reject" | "queue" | "steer"): Promise<Turn> {
  return call<Turn>(at(session, "/turns"), {
    method: "POST", body: { blocks, when }, headers: { "Idempotency-Key": crypto.randomUUID() },
  });
}

export const runCommand = (session: string, name: string, args: string) =>
  call<Turn>(at(session, "/commands"), {
    method: "POST", body: { name, args }, headers: { "Idempotency-Key": crypto.randomUUID() },
  });

export const updateSession = (session: string, change: { title?: string; model?: string; policy?: string; permission_mode?: string }) =>
  call<Session>(at(session), { method: "PATCH", body: change });

export const deleteSession = (session: string, force: boolean) =>
  call<void>(at(session, force ? "?force=true" : ""), { method: "DELETE" });

export const interrupt = (session: string) => post<void>(at(session, "/interrupt"));
export const kill = (session: string) => post<void>(at(session, "/kill"));
export const closeSession = (session: string) => post<void>(at(session, "/close"));
export const undo = (session: string, force = false) => post<void>(at(session, "/undo"), { force });
export const redo = (session: string, force = false) => post<void>(at(session, "/redo"), { force });
/** Takes the change of a file back, or hunks of it; the copy brings it back. */
export const takeBack = (session: string, body: { path: string; state: string; turn?: string; hunks?: number[] }) =>
  post<{ files: string[]; copy?: string }>(at(session, "/changes/take-back"), body);
export const restoreCopy = (session: string, copy: string) => post<void>(at(session, `/copies/${encodeURIComponent(copy)}/restore`));
export const push = (session: string, replace: boolean) => post<{ remote: string; branch: string; link?: string }>(at(session, "/push"), { replace });
export const openPullRequest = (session: string, body: { title: string; text: string }) => post<PullRequest>(at(session, "/pull-request"), body);
export const onWorktree = (session: string, what: "merge" | "rebase" | "discard") => post<void>(at(session, `/worktree/${what}`));
export const commit = (session: string, body: { message: string; hooks?: boolean; files: { path: string; state: string }[] }) =>
  post<{ commit: string; files: number }>(at(session, "/commit"), body);
export const fork = (session: string, messageId?: string) =>
  post<Session>(at(session, "/fork"), messageId ? { message_id: messageId } : {});

/** Continues a session with another agent, or on another node, in a new one. */
export const handOver = (session: string, body: { agent: string; model?: string; prompt?: string } | { node: string; prompt?: string; idle?: boolean }) =>
  post<Session & { notes?: string[] }>(at(session, "/handoff"), body);

export const editQueued = (session: string, turn: string, text: string) =>
  call<Turn>(at(session, `/queue/${encodeURIComponent(turn)}`), { method: "PATCH", body: { prompt: text } });
export const moveQueued = (session: string, turn: string, before: string) =>
  call<Turn>(at(session, `/queue/${encodeURIComponent(turn)}`), { method: "PATCH", body: { before } });
export const sendQueued = (session: string, turn: string) => call<void>(at(session, "/queue/send"), { method: "POST", body: { turn } });
export const dropQueued = (session: string, turn: string) =>
  call<void>(at(session, `/queue/${encodeURIComponent(turn)}`), { method: "DELETE" });

export const decide = (request: Request, answer: Answer) =>
  post<void>(`/v1/decisions/${encodeURIComponent(request.request_id)}`, {
    ...answer, ...(request.data.input_hash ? { input_hash: request.data.input_hash } : {}),
  });

export const putRules = (rules: (Pick<Rule, "effect" | "pattern"> & { id?: string })[]) =>
  call<List<Rule>>("/v1/rules", { method: "PUT", body: { items: rules } });

export const dryRun = (rule: Pick<Rule, "effect" | "pattern">) =>
  post<{ items: unknown[]; total: number; broad?: string }>("/v1/rules/dry-run", rule);

/** What would be decided about a tool use, and why. */
export interface Explanation { decision: "allow" | "deny" | "ask"; rule?: string; reasons: string[] }
export const explain = (use: { session?: string; command?: string; tool?: string; class?: string; input?: unknown; allow?: string[]; deny?: string[]; ask?: string[] }) =>
  post<Explanation>("/v1/rules/explain", use);

export async function exportSession(session: string): Promise<Blob> {
  return (await send(at(session, "/export"), { headers: { Accept: "*/*" } })).blob();
}
