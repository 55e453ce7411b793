// Names and explanations of what can be chosen.

import type { Probe } from "../api/types";
import { plural, sentence } from "./format";

/** What undo and redo did. */
export const rewound = (way: "undo" | "redo" | "restore", files: number) =>
  way === "undo" ? (files > 0 ? `Reverted ${plural(files, "file")}` : "Took the last turn back")
  : files > 0 ? `Restored ${plural(files, "file")}` : "Brought the turn back";

/** How much the agent may do by itself. The first four are the switch; Shift-Tab goes through them. */
export const policies = [
  { id: "ask", name: "Ask", what: "Ask before anything that isn't already allowed." },
  { id: "accept-edits", name: "Auto-edit", what: "Edit files in the folder without asking; ask for the rest." },
  { id: "plan", name: "Plan", what: "Look and plan; change nothing until you approve." },
  { id: "auto-approve", name: "Full auto", what: "Do everything that no rule denies." },
  { id: "rules", name: "Only what rules allow", what: "Your rules decide; ask where there is none." },
  { id: "deny-unless-allowed", name: "Deny unless allowed", what: "Deny what no rule allows, without asking." },
];

const switched = 4;

/** The one that asks about nothing. It is chosen for one session, and never kept for the next. */
export const fullAuto = "auto-approve";

/** The policies to choose from: those of the switch, and the one that is set. */
export const choices = (now: string) => policies.filter((p, i) => i < switched || p.id === now);

export const nextPolicy = (now: string) => policies[(policies.findIndex((p) => p.id === now) + 1) % switched]!.id;

export const modes = [
  { id: "workbench", name: "Workbench", what: "A conversation, step by step." },
  { id: "pipeline", name: "Pipeline", what: "One stage of a larger process." },
  { id: "direct", name: "Direct", what: "The agent as it is, without a role." },
];

export const capabilityNames: Record<string, string> = {
  undo: "Undo", redo: "Redo", commands: "Commands", permission_requests: "Asks permission", question_prompts: "Asks questions",
  model_selection: "Choice of model", reconnect: "Reconnect", partial_streaming: "Streaming", steer: "Messages while it works", queue: "Queue", fork: "Fork", fork_at: "Fork at a message",
  hooks: "Hooks", subagents: "Subagents", mcp: "MCP", attachments: "Attachments", structured_output: "Structured output", budget: "Budget",
  one_shot: "One-shot", multi_turn: "Several turns", prewarm: "Prewarm", system_prompt: "System prompt", plan_mode: "Plan mode",
  interrupt: "Interrupt", compact: "Compact", cost: "Cost", reasoning: "Reasoning", edited_input: "Edited input",
};

/** How much of what an agent does passes the rules. */
export const oversights: Record<string, { name: string; what: string }> = {
  all: { name: "every tool use", what: "Your rules cover everything it does." },
  asked: { name: "what it asks about", what: "Your rules cover only what it asks about; it reads and searches without asking." },
  none: { name: "nothing", what: "It asks about nothing, so your rules have no effect." },
};

export interface Names {
  /** What people call an agent. */
  agentName: (agent: string | undefined, model?: string) => string;
  /** What people call the agent of a session. */
  nameOf: (session: { agent: string; model: string }) => string;
}

/** Whether a model of the built-in agent costs nothing and only plays. */
export const isDemo = (model: string | undefined): boolean => !!model?.includes("demo");

/** The agent that a person runs in a terminal of their own, in a session that only shows it; undefined for all others. */
export const watchedAgent = (agent: string | undefined): string | undefined => /^(\w+)-terminal$/.exec(agent ?? "")?.[1];

/** Names by the titles that agents have; an agent without one has its id. The built-in one is a demo only where it is known to have no other model. */
export function namesBy(agents: readonly { agent: string; title?: string; model?: string }[]): Names {
  const all = new Map(agents.map((a) => [a.agent, a]));
  const agentName = (agent: string | undefined, model = ""): string =>
    watchedAgent(agent) ? `${agentName(watchedAgent(agent))} in a terminal` : !agent ? "The agent" : agent === "native" ? (isDemo(model || all.get(agent)?.model) ? "Demo" : "Terret") : all.get(agent)?.title || agent;
  return { agentName, nameOf: (s) => agentName(s.agent, s.model) };
}

/** An agent that can be chosen. The built-in one says which model it would use. */
export function choiceName(a: Pick<Probe, "agent" | "title" | "model">): string {
  if (a.agent !== "native") return a.title || a.agent;
  return isDemo(a.model) ? "Demo (built in)" : `Terret (built in)${a.model ? ` · ${modelName(a.model)}` : ""}`;
}

/** What is used where no model is chosen, and which that is, if it is known. */
export const defaultModel = (a: Pick<Probe, "model"> | undefined): string => (a?.model ? `Default: ${modelName(a.model)}` : "Default model");

/** A model as people say it: "claude-opus-4-5-20250929" is Opus 4.5. */
export function modelName(model: string): string {
  const claude = /^(?:[\w.-]+\/)?claude-(?:(\d+(?:-\d{1,2})?)-)?(opus|sonnet|haiku)(?:-(\d+(?:-\d{1,2})?))?(?:-\d{8}|-latest)?(\[\w+\])?$/.exec(model);
  if (claude) return [sentence(claude[2]!), (claude[3] ?? claude[1] ?? "").replace("-", "."), claude[4] ?? ""].filter(Boolean).join(" ");
  return model;
}

/** What to do, for a place that has already said that nobody is signed in. */
export const signInHint = (fix: string) => sentence(fix.replace(/^nobody is signed in; /, ""));
