// What an agent is doing right now, in a few words, from its events.

import type { Block, Event, KnownEvent, ToolClass } from "../api/types";
import { baseName } from "../lib/format";
import { hidden } from "./messages";
import { isDecision, isRequest } from "./requests";
import { argument } from "./summary";
import { type Act, noAct } from "./types";

const long = 60;

function using(name: string, of: ToolClass, input: unknown): string {
  const what = argument(input, "");
  const short = what.length > long ? `${what.slice(0, long - 1)}…` : what;
  switch (of) {
    case "execute":
      return `running ${short || "a command"}`;
    case "edit":
      return `editing ${baseName(what) || "a file"}`;
    case "read":
      return `reading ${baseName(what) || "a file"}`;
    case "search":
      return short ? `searching for ${short}` : "searching";
    case "fetch":
      return `fetching ${short || "a page"}`;
    case "agent":
      return "waiting for a helper";
    case "think":
      return "thinking";
    default:
      return `using ${name}`;
  }
}

function without<T>(all: ReadonlyMap<string, T>, key: string): ReadonlyMap<string, T> {
  if (!all.has(key)) return all;
  const out = new Map(all);
  out.delete(key);
  return out;
}

const remembered = 300; // characters of what it said

/** The last paragraph of a message, which says what comes next, without marks of Markdown. */
function wordsIn(blocks: readonly Block[]): string {
  const text = blocks.map((b) => (b.type === "text" ? (b.text ?? "") : "")).join("").trim();
  return (text.split(/\n\s*\n/).at(-1) ?? "").replace(/^\s*(?:#+|[-*>]|\d+\.)\s+/gm, "").replace(/[`*]/g, "").replace(/\s+/g, " ").slice(0, remembered);
}

/** The act after an event; the same object if nothing changed. */
export function foldAct(act: Act, event: Event): Act {
  const e = event as KnownEvent;
  const say = (text: string) => (act.text === text ? act : { ...act, text });
  switch (e.kind) {
    case "turn.start":
      return { ...noAct, text: "starting", since: e.time };
    case "turn.complete":
    case "turn.error":
      return noAct;
    case "message.delta":
      return say("writing");
    case "message.complete": {
      if (!act.since) return act;
      const said = e.data.role === "assistant" && !hidden(e) ? wordsIn(e.data.blocks) : "";
      return said ? { ...act, text: "thinking", said } : say("thinking");
    }
    case "session.start":
    case "reasoning.delta":
    case "user.prompt":
      return act.since ? say("thinking") : act;
    case "session.state":
      return e.data.state === "starting" ? say("starting")
        : e.data.state === "compacting" ? say("compressing its context")
        : e.data.state === "retrying" ? say("trying again")
        : e.data.state === "interrupting" ? say("stopping")
        : e.data.state === "busy" && act.text !== "writing" && act.since ? say("thinking")
        : act;
    case "tool.pre":
      return { ...act, text: "thinking", tools: new Map([...act.tools, [e.data.tool_id, using(e.data.name, e.data.class, e.data.input)]]) };
    case "tool.post":
    case "tool.failure": {
      const tools = without(act.tools, e.data.tool_id);
      return tools === act.tools ? act : { ...act, tools };
    }
    default:
      if (isRequest(e)) return { ...act, asked: new Set([...act.asked, e.data.request_id]) };
      if (isDecision(e) && act.asked.has(e.data.request_id)) return { ...act, asked: new Set([...act.asked].filter((id) => id !== e.data.request_id)) };
      return act;
  }
}

/** The words for it. */
export function wordsOf(act: Act): string {
  if (act.asked.size > 0) return "waiting for your answer";
  return [...act.tools.values()].at(-1) ?? (act.text || "working");
}
