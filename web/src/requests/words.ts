// What requests and decisions say to a person.

import type { Decision, Request } from "../api/types";
import { baseName } from "../lib/format";
import { safeText } from "../lib/safe";
import { policies } from "../lib/words";
import { argument } from "../model/summary";

const short = 60;

/** What a request is about, as the headline of its card: "Run make deploy", "Edit cart.go". */
export function headline(request: Request, agent: string): string {
  switch (request.gate) {
    case "permission":
      return doing(request);
    case "question":
      return `${agent} asks`;
    case "plan":
      return `${agent} has a plan`;
    case "stop":
      return `${agent} wants to stop`;
    case "trust":
      return "May this folder's settings act?";
    default:
      return `${agent} waits for your answer`;
  }
}

/** The same in a whole sentence, for notifications and screen readers. */
export function heading(request: Request, agent: string): string {
  const words = headline(request, agent);
  return request.gate === "permission" ? `${agent} wants to ${words.charAt(0).toLowerCase()}${words.slice(1)}` : words;
}

function doing({ data }: Request): string {
  const what = argument(data.input, "");
  const one = what.length <= short && !what.includes("⏎") ? what : "";
  switch (data.class) {
    case "execute":
      return one ? `Run ${one}` : "Run a command";
    case "edit":
      return `${data.diff && /^--- \/dev\/null/m.test(data.diff) ? "Create" : "Edit"} ${baseName(what) || "a file"}`;
    case "read":
      return `Read ${baseName(what) || "a file"}`;
    case "search":
      return one ? `Search for ${one}` : "Search";
    case "fetch":
      return `Fetch ${hostOf(what) || one || "a page"}`;
    case "agent":
      return "Start a helper";
    default:
      return `Use ${safeText(data.tool ?? "a tool")}`;
  }
}

const hostOf = (url: string) => /^https?:\/\/([^/]+)/.exec(url)?.[1] ?? "";

/** What it is about, in one line, for lists and notifications. */
export function gist(request: Request, cwd = ""): string {
  const { data } = request;
  if (request.gate === "question") return safeText(data.questions?.[0]?.text ?? "a question");
  if (request.gate === "plan") return safeText((data.plan ?? "").trim().split("\n", 1)[0] ?? "a plan");
  return argument(data.input, cwd) || safeText(data.title ?? data.tool ?? request.gate);
}

export function verdict(d: Decision, me: string): string {
  if (d.source === "timeout") return d.gate === "permission" ? "Timed out, not run" : "Timed out, not answered";
  if (d.source === "agent_exit") return "Not answered: the agent stopped";
  if (d.source === "interrupt") return "Not answered: the turn was stopped";
  const who = {
    user: !d.by ? "A person" : !me || d.by === me ? "You" : d.by, rule: d.rule ? `Rule ${d.rule}` : "A rule", policy: "The session's mode", channel: "Another program",
  }[d.source];
  const did = {
    allow: "allowed it", deny: "denied it", answer: "answered", reject: "skipped it", approve: "approved the plan",
    revise: "asked for changes", block: "told it to go on", ask: "handed it on", passthrough: "let it pass",
  }[d.behavior];
  const reach = d.behavior === "allow" && d.scope === "session" ? " for this session" : d.behavior === "allow" && d.scope === "always" ? " always" : "";
  return `${who} ${did}${reach}`;
}

/** Why something was decided, with modes as people know them. */
export const reasonOf = (d: Decision): string =>
  safeText(d.reason ?? "").replace(/\b([Tt])he policy ([\w-]+)/g, (whole, t: string, id: string) => {
    const mode = policies.find((p) => p.id === id)?.name;
    return mode ? `${t}he mode ${mode}` : whole;
  });

export function answersOf(d: Decision): string {
  return Object.values(d.answers ?? {}).map((a) => (Array.isArray(a) ? a.join(", ") : a)).join(" · ");
}

/** What is asked, in a word. */
export function shortly(request: Request): string {
  if (request.gate !== "permission") return { question: "Question", plan: "Plan", stop: "Stop", trust: "Trust" }[request.gate as string] ?? request.gate;
  return { execute: "Run", edit: "Edit", read: "Read", search: "Search", fetch: "Fetch" }[request.data.class as string] ?? "Use";
}
