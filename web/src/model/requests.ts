// Requests and what was decided.

import type { Decision, Gate, KnownEvent, Request } from "../api/types";
import type { Draft } from "./draft";
import { root } from "./types";

type Of<K extends KnownEvent["kind"]> = Extract<KnownEvent, { kind: K }>;
export type RequestEvent = Of<"permission.request" | "question.request" | "plan.request" | "stop.request">;
export type DecisionEvent = Of<"permission.decision" | "question.decision" | "plan.decision" | "stop.decision" | "hook.decision">;

export const isRequest = (e: { kind: string }): e is RequestEvent =>
  e.kind === "permission.request" || e.kind === "question.request" || e.kind === "plan.request" || e.kind === "stop.request";

export const isDecision = (e: { kind: string }): e is DecisionEvent =>
  /^(permission|question|plan|stop|hook)\.decision$/.test(e.kind);

/** The request that an event opens. */
export function requestOf(e: RequestEvent): Request {
  const gate = e.expects?.gate ?? (e.kind.slice(0, e.kind.indexOf(".")) as Gate);
  return {
    request_id: e.data.request_id, session: e.session, gate, data: e.data, state: "open", created_at: e.time, seq: e.seq, delivered: false,
    ...(e.turn ? { turn: e.turn } : {}),
    ...(e.expects?.expires_at ? { expires_at: e.expects.expires_at } : {}),
  };
}

export function onRequest(d: Draft, e: RequestEvent): void {
  const request = requestOf(e);
  (d.c.open as Map<string, Request>).set(request.request_id, request);
  d.add(e.actor || root, { type: "request", key: request.request_id, turn: e.turn ?? "", time: e.time, request });
  // Answers, and what became of a plan, are rows of their own.
  if (e.data.tool_id && request.gate !== "question" && request.gate !== "plan") d.patch(e.data.tool_id, "tool", { requestId: request.request_id });
}

export function onDecision(d: Draft, e: DecisionEvent): void {
  const id = e.data.request_id;
  (d.c.open as Map<string, Request>).delete(id);
  (d.c.decisions as Map<string, Decision>).set(id, e.data);
  const item = d.get(id, "request");
  const tool = item?.request.data.tool_id ? d.get(item.request.data.tool_id, "tool") : undefined;
  // A person's time is not the tool's.
  if (item && tool) d.patch(tool.key, "tool", { waitedMs: (tool.waitedMs ?? 0) + Math.max(0, Date.parse(e.time) - Date.parse(item.time)) });
  if (item) d.patch(id, "request", { decidedAt: e.time, request: { ...item.request, state: "decided", decision: e.data } });
}
