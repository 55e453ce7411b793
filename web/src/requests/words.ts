// What requests and decisions say to a person.

import type { Decision, Request } from "../api/types";
import { safeText } from "../lib/safe";
import { argument } from "../model/summary";

const verbs: Record<string, string> = {
  execute: "wants to run", edit: "wants to change", read: "wants to read", search: "wants to search",
  fetch: "wants to fetch", agent: "wants to start a helper", mcp: "wants to use",
};

export function heading(request: Request, agent: string): string {
  switch (request.gate) {
    case "permission":
      return `${agent} ${verbs[request.data.class ?? ""] ?? "wants to use"}${request.data.class === "mcp" || !request.data.class || !verbs[request.data.class] ? ` ${request.data.tool ?? "a tool"}` : ""}`;
    case "question":
      return `${agent} asks`;
    case "plan":
      return `${agent} has a plan`;
    case "stop":
      return `${agent} wants to stop`;
    case "trust":
      return "May this folder's settings act?";
    default:
      return `${agent} waits at ${request.gate}`;
  }
}

/** What it is about, in one line, for lists and notifications. */
export function gist(request: Request, cwd = ""): string {
  const { data } = request;
  if (request.gate === "question") return safeText(data.questions?.[0]?.text ?? "a question");
  if (request.gate === "plan") return safeText((data.plan ?? "").trim().split("\n", 1)[0] ?? "a plan");
  return argument(data.input, cwd) || safeText(data.title ?? data.tool ?? request.gate);
}

export function verdict(d: Decision, me: string): string {
  if (d.source === "timeout") return d.gate === "permission" ? "Timed out, not run" : "Timed out, not answered";
  const who = {
    user: !d.by ? "A person" : !me || d.by === me ? "You" : d.by, rule: d.rule ? `Rule ${d.rule}` : "A rule", policy: "The policy", timeout: "The time limit",
    channel: "A channel", agent_exit: "The agent's end", interrupt: "The interruption",
  }[d.source];
  const did = {
    allow: "allowed it", deny: "denied it", answer: "answered", reject: "gave no answer", approve: "approved the plan",
    revise: "sent the plan back", block: "told it to go on", ask: "handed it on", passthrough: "had no opinion",
  }[d.behavior];
  const reach = d.behavior === "allow" && d.scope === "session" ? " for this session" : d.behavior === "allow" && d.scope === "always" ? " always" : "";
  return `${who} ${did}${reach}`;
}

export function answersOf(d: Decision): string {
  return Object.values(d.answers ?? {}).map((a) => (Array.isArray(a) ? a.join(", ") : a)).join(" · ");
}

/** What is asked, in a word. */
export function shortly(request: Request): string {
  if (request.gate !== "permission") return { question: "Question", plan: "Plan", stop: "Stop", trust: "Trust" }[request.gate as string] ?? request.gate;
  return { execute: "Run", edit: "Edit", read: "Read", search: "Search", fetch: "Fetch" }[request.data.class as string] ?? "Use";
}
