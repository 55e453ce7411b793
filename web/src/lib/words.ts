// Names and explanations of what can be chosen.

import { plural } from "./format";

/** What undo and redo did. */
export const rewound = (way: "undo" | "redo" | "restore", files: number) =>
  way === "undo" ? (files > 0 ? `Reverted ${plural(files, "file")}` : "Took the last turn back")
  : files > 0 ? `Restored ${plural(files, "file")}` : "Brought the turn back";

export const policies = [
  { id: "ask", name: "Ask", what: "You are asked for whatever no rule decides." },
  { id: "accept-edits", name: "Accept edits", what: "Edits inside the folder are allowed; you are asked for the rest." },
  { id: "rules", name: "Rules", what: "Rules decide; where there is none you are asked." },
  { id: "plan", name: "Plan", what: "Nothing may change; the agent looks and plans." },
  { id: "deny-unless-allowed", name: "Deny unless allowed", what: "What no rule allows is denied. Nobody is asked." },
  { id: "auto-approve", name: "Auto-approve", what: "Everything is allowed that no rule denies." },
];

export const modes = [
  { id: "workbench", name: "Workbench", what: "A conversation, step by step." },
  { id: "pipeline", name: "Pipeline", what: "One stage of a larger process." },
  { id: "direct", name: "Direct", what: "The agent as it is, without a role." },
];

export const capabilityNames: Record<string, string> = {
  undo: "Undo", redo: "Redo", commands: "Commands", permission_requests: "Asks permission", question_prompts: "Asks questions",
  model_selection: "Choice of model", reconnect: "Reconnect", partial_streaming: "Streaming", steer: "Steering", queue: "Queue", fork: "Fork",
  hooks: "Hooks", subagents: "Subagents", mcp: "MCP", attachments: "Attachments", structured_output: "Structured output", budget: "Budget",
  one_shot: "One-shot", multi_turn: "Several turns", prewarm: "Prewarm", system_prompt: "System prompt", plan_mode: "Plan mode",
  interrupt: "Interrupt", compact: "Compact", cost: "Cost", reasoning: "Reasoning", edited_input: "Edited input", oversight: "Oversight",
};

/** How much of what an agent does passes the rules. */
export const oversights: Record<string, { name: string; what: string }> = {
  all: { name: "every tool use", what: "Rules and policies cover every tool use." },
  asked: { name: "what it asks about", what: "Rules and policies cover only what it asks about; it reads and searches without asking." },
  none: { name: "nothing", what: "Rules and policies have no effect: it asks about nothing." },
};

const agentNames: Record<string, string> = { claude: "Claude", codex: "Codex", opencode: "OpenCode", gemini: "Gemini", native: "The native agent", mock: "The mock agent" };

/** What an agent is called at the beginning of a sentence. */
export const agentName = (agent: string | undefined) => (agent ? (agentNames[agent] ?? agent) : "The agent");
