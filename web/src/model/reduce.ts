// From events to the conversation: pure, and the same whether the events come one
// by one or all at once.

import type { Event, KnownEvent } from "../api/types";
import { sentence, totalTokens } from "../lib/format";
import { rewound } from "../lib/words";
import { foldAct } from "./act";
import { Draft } from "./draft";
import { hidden, onMessage, onTool } from "./messages";
import { onDecision, onRequest } from "./requests";
import { type Conversation, type NoticeItem, root } from "./types";

/** Applies events in order. Those that were applied before are skipped. */
export function reduce(from: Conversation, events: readonly Event[]): Conversation {
  const draft = new Draft(from);
  let changed = false;
  for (const event of events) {
    if (event.seq <= draft.c.lastSeq) continue;
    draft.c.lastSeq = event.seq;
    changed = true;
    draft.c.act = foldAct(draft.c.act, event);
    apply(draft, event as KnownEvent);
  }
  return changed ? draft.c : from;
}

function notice(d: Draft, e: KnownEvent, level: NoticeItem["level"], text: string, detail?: string): void {
  d.add(e.actor ?? root, {
    type: "notice", key: `n${e.seq}`, turn: e.turn ?? "", time: e.time, level, text, ...(detail ? { detail } : {}),
  });
}

function apply(d: Draft, e: KnownEvent): void {
  switch (e.kind) {
    case "message.delta":
    case "reasoning.delta":
    case "message.complete":
    case "user.prompt":
      return onMessage(d, e);
    case "tool.start":
    case "tool.delta":
    case "tool.pre":
    case "tool.progress":
    case "tool.post":
    case "tool.failure":
    case "permission.denied":
      return onTool(d, e);
    case "permission.request":
    case "question.request":
    case "plan.request":
    case "stop.request":
      return onRequest(d, e);
    case "permission.decision":
    case "question.decision":
    case "plan.decision":
    case "stop.decision":
    case "hook.decision":
      return onDecision(d, e);
    case "turn.start":
    case "turn.complete":
    case "turn.error":
      return onTurn(d, e);
    case "subagent.start":
    case "subagent.stop":
    case "task.start":
    case "task.update":
    case "task.end":
      return onHelper(d, e);
    default:
      return onSession(d, e);
  }
}

type Of<K extends KnownEvent["kind"]> = Extract<KnownEvent, { kind: K }>;

function onTurn(d: Draft, e: Of<"turn.start" | "turn.complete" | "turn.error">): void {
  const turn = e.turn ?? "";
  if (e.kind === "turn.start") {
    d.c.runningTurn = turn;
    d.c.usedBefore = d.c.usage ? totalTokens(d.c.usage) : 0;
    if (e.data.prompt.length > 0) {
      d.add(root, {
        type: "user", key: e.data.message_id ?? `u${e.seq}`, turn, time: e.time,
        blocks: e.data.prompt, origin: e.data.origin, ...(e.by ? { by: e.by } : {}),
      });
    }
    return;
  }
  d.c.runningTurn = "";
  settle(d);
  d.add(root, {
    type: "turn-end", key: `e${e.seq}`, turn, time: e.time,
    usage: e.data.usage, costUsd: e.data.cost_usd, durationMs: e.data.duration_ms,
    ...(e.kind === "turn.error"
      ? { error: e.data.error, ...(e.data.errors ? { errors: e.data.errors } : {}) }
      : e.data.stop_reason ? { stopReason: e.data.stop_reason } : {}),
  });
}

/** When a turn ends nothing of it goes on: pieces without an end get one. */
function settle(d: Draft): void {
  for (const actor of d.c.threads.keys()) {
    const items = d.items(actor);
    for (let i = items.length - 1; i >= 0; i--) {
      const item = items[i]!;
      if (item.type === "turn-end") break;
      if ((item.type === "text" || item.type === "thinking") && item.streaming) {
        d.patch(item.key, item.type, { streaming: false });
      } else if (item.type === "tool" && (item.state === "running" || item.state === "writing")) {
        d.patch(item.key, "tool", { state: "interrupted" });
      } else if (item.type === "subagent" && item.running) {
        d.patch(item.key, "subagent", { running: false });
      }
    }
  }
}

function onHelper(d: Draft, e: Of<"subagent.start" | "subagent.stop" | "task.start" | "task.update" | "task.end">): void {
  const base = { turn: e.turn ?? "", time: e.time };
  switch (e.kind) {
    case "subagent.start": {
      // Its own event may carry the subagent as actor; the thread hangs in its parent.
      const actor = `sub:${e.data.id}`;
      const parent = e.parent_tool ? (d.c.places.get(e.parent_tool)?.actor ?? root) : root;
      d.add(parent === actor ? root : parent, {
        ...base, type: "subagent", key: actor, actor, running: true,
        name: e.data.type || "subagent", description: e.data.description || e.data.prompt || "",
      });
      break;
    }
    case "subagent.stop":
      d.patch(`sub:${e.data.id}`, "subagent", { running: false, ...(e.data.result ? { result: e.data.result } : {}) });
      break;
    case "task.start":
      d.add(e.actor ?? root, {
        ...base, type: "task", key: `task:${e.data.id}`, id: e.data.id, running: true,
        description: e.data.description || e.data.type || "background task", status: "running",
      });
      break;
    case "task.update":
      d.patch(`task:${e.data.id}`, "task", { status: e.data.status, ...(e.data.text ? { text: e.data.text } : {}) });
      break;
    case "task.end":
      d.patch(`task:${e.data.id}`, "task", {
        running: false, status: e.data.status, ...(e.data.summary ? { text: e.data.summary } : {}),
      });
  }
}

function onSession(d: Draft, e: KnownEvent): void {
  const c = d.c;
  switch (e.kind) {
    case "session.start":
      c.info = {
        agent: e.data.agent,
        version: e.data.agent_version ?? "",
        model: e.data.model ?? "",
        tools: e.data.tools ?? [],
        commands: e.data.commands ?? c.info.commands,
        mcpServers: e.data.mcp_servers ?? [],
      };
      break;
    case "session.commands":
      c.info = { ...c.info, commands: e.data.commands };
      break;
    case "session.state":
      c.state = e.data.state;
      c.detail = e.data.detail ?? "";
      break;
    case "session.updated":
      if (e.data.model) c.info = { ...c.info, model: e.data.model };
      break;
    case "session.native_id":
      if (e.data.reason === "stale") {
        notice(d, e, "warning", "The agent lost this session; it goes on in a fresh one.", e.data.error);
      }
      break;
    case "session.auth":
      if (e.data.status !== "ok") notice(d, e, "warning", e.data.message || `Signing in: ${e.data.status}`, e.data.output?.join("\n"));
      break;
    case "plan.update":
      c.plan = e.data.entries;
      break;
    case "usage.update":
      c.usage = e.data;
      break;
    case "file.changed":
      (c.files as Map<string, string>).set(e.data.path, e.data.change);
      break;
    case "checkpoint.created":
      if (e.data.changed && e.data.of_turn) (c.changed as Set<string>).add(e.data.of_turn);
      break;
    case "checkpoint.rewound":
      onRewound(d, e);
      break;
    default:
      onNotice(d, e);
  }
}

function onRewound(d: Draft, e: Of<"checkpoint.rewound">): void {
  const undone = d.c.undone as Set<string>;
  for (const turn of e.data.turns ?? []) {
    if (e.data.direction === "undo") undone.add(turn);
    else undone.delete(turn);
  }
  const files = e.data.files ?? [];
  notice(d, e, "info", `${rewound(e.data.direction as "undo" | "redo" | "restore", files.length)} (+${e.data.insertions} −${e.data.deletions})`, files.join("\n"));
}

function onNotice(d: Draft, e: KnownEvent): void {
  switch (e.kind) {
    case "notification":
      if (hidden(e)) return;
      notice(d, e, e.data.level === "error" || e.data.level === "warning" ? e.data.level : "info",
        e.data.title ? `${e.data.title}: ${e.data.text}` : e.data.text);
      break;
    case "compact.pre":
      notice(d, e, "info", "The agent compresses its context.");
      break;
    case "compact.post":
      notice(d, e, "info",
        e.data.tokens_before
          ? `Context compressed from ${e.data.tokens_before} to ${e.data.tokens_after ?? 0} tokens.`
          : "Context compressed.",
        e.data.summary);
      break;
    case "diag.warning":
      notice(d, e, "warning", sentence(e.data.text));
      break;
    case "retry":
      notice(d, e, "warning", `The model did not answer; attempt ${e.data.attempt}${e.data.max ? ` of ${e.data.max}` : ""} in ${Math.round(e.data.delay_ms / 1000)} s.`, e.data.error);
      break;
    case "rate_limit":
      notice(d, e, "warning", e.data.resets_at
        ? `Rate limit reached; it resets at ${new Date(e.data.resets_at).toLocaleTimeString()}.`
        : "Rate limit reached.");
      break;
    case "model.fallback":
      notice(d, e, "warning", `${e.data.to} answers instead of ${e.data.from}.`, e.data.why);
  }
}
