// The records of the API, from docs/openapi.json (`npm run types`), with the words
// that fields may hold; and the events, which OpenAPI does not describe. Fields that
// a newer server adds are ignored; kinds that are not listed here are shown only
// among the raw events.

import type { components } from "./schema";

type Schemas = components["schemas"];

/** A record some of whose fields are known more exactly. */
type Narrow<T, N> = Omit<T, keyof N> & N;

export type SessionState =
  | "pending" | "starting" | "idle" | "busy" | "waiting" | "compacting"
  | "retrying" | "interrupting" | "failed" | "stale" | "closed";

export type ToolClass = "execute" | "read" | "edit" | "search" | "fetch" | "agent" | "mcp" | "think" | "other";
export type Gate =
  | "permission" | "pre_tool" | "prompt" | "question" | "plan" | "stop" | "subagent_stop" | "compact" | "trust";
export type Behavior = "allow" | "deny" | "answer" | "reject" | "approve" | "revise" | "block" | "ask" | "passthrough";
export type Scope = "once" | "session" | "always";
export type Json = unknown;

export type Usage = Schemas["Usage"];

export type Block = Narrow<Schemas["Block"], {
  type: "text" | "thinking" | "tool_use" | "tool_result" | "image" | "document";
  content?: Block[];
}>;

export type Session = Narrow<Schemas["Session"], { state: SessionState }>;

export type Turn = Narrow<Schemas["Turn"], {
  state: "queued" | "running" | "completed" | "failed" | "interrupted" | "killed";
  prompt: Block[];
}>;

/** A shell in a session's folder. */
export type Terminal = Schemas["Terminal"];
export type Branch = Schemas["SessionBranch"];
export type PullRequest = Schemas["PullRequest"];

export type Token = Schemas["Token"];
export type PushState = Schemas["PushState"];

export type Fleet = Schemas["Fleet"];
export type FleetNode = Schemas["Node"];

/** A message that a search found. */
export type Found = Schemas["Found"];

export type Command = Schemas["Command"];
export interface McpServer { name: string; status?: string; error?: string }

export interface Question {
  id: string;
  header?: string;
  text: string;
  options?: { label: string; description?: string }[];
  multi?: boolean;
}

export interface RequestData {
  request_id: string;
  tool_id?: string;
  tool?: string;
  class?: ToolClass;
  input?: Json;
  input_hash?: string;
  title?: string;
  reason?: string;
  suggestions?: string[];
  diff?: string;
  questions?: Question[];
  url?: string;
  plan?: string;
  file?: string;
  last_message?: string;
}

export type Decision = Narrow<Schemas["Decision"], {
  gate: Gate;
  behavior: Behavior;
  scope?: Scope;
  source: "rule" | "policy" | "user" | "timeout" | "channel" | "agent_exit" | "interrupt";
}>;

export type Request = Narrow<Schemas["Request"], {
  gate: Gate;
  data: RequestData;
  state: "open" | "decided";
  decision?: Decision;
}>;

/** What a person answers. */
export type Answer = Omit<Schemas["NewDecision"], "$schema" | "input_hash">;

export type Rule = Narrow<Schemas["Rule"], { effect: "allow" | "deny" | "ask"; scope: Scope }>;

export type Persona = Schemas["Persona"];
export type Model = Schemas["Model"];
export type Ability = Schemas["Ability"];
export type Capabilities = Record<string, Ability | string>;

export type Probe = Narrow<Schemas["Probe"], { tested?: "yes" | "newer" | "older"; capabilities: Capabilities }>;
export type UsageRow = Schemas["UsageRow"];
export type Dirs = Schemas["Subfolders"];
export type FileEntry = Narrow<Schemas["Entry"], { type: "file" | "dir" | "other" }>;
export type FileContent = Schemas["Content"];
export type Changes = Narrow<Schemas["Changes"], { since: "head" | "start" | "turn" }>;

export type Team = Schemas["Team"];
export type TeamMember = Narrow<Schemas["TeamMember"], { state: "idle" | "processing" | "failed" | "restarting" }>;
export type TeamMessage = Schemas["TeamMessage"];
export type WorkflowRun = Schemas["Run"];
export type StepRun = Schemas["StepRun"];
export type ReviewReport = Schemas["Report"];
export type Finding = Schemas["Finding"];
export type Race = Schemas["Race"];
export type Racer = Schemas["Racer"];

export interface List<T> { items: T[]; next?: string | null }

export interface PlanEntry { text: string; status: string }
export interface AgentError { kind: string; message: string; retryable?: boolean; exit_code?: number; signal?: string; http_status?: number }

interface ToolResult {
  tool_id: string;
  name: string;
  content?: Block[];
  structured?: Json;
  duration_ms?: number;
  diff?: string;
}

export interface UsageUpdate extends Usage { cost_usd: number; context_used?: number; context_max?: number }

/** The data of each kind that the UI understands. */
export interface EventData {
  "session.start": {
    source: string; agent: string; agent_version?: string; model?: string; tools?: string[];
    commands?: Command[]; cwd: string; permission_mode?: string; mcp_servers?: McpServer[];
  };
  "session.native_id": { old: string | null; new: string; reason: string; error?: string };
  "session.state": { state: SessionState; detail?: string };
  "session.updated": Partial<Pick<Session, "title" | "model" | "policy" | "permission_mode" | "mode" | "persona">>;
  "session.commands": { commands: Command[] };
  "session.auth": { status: string; method?: string; message?: string; output?: string[] };
  "session.end": { reason: string; native_reason?: string };
  "turn.start": { prompt: Block[]; message_id?: string; origin: string };
  "turn.complete": { text: string; stop_reason?: string; usage: Usage; cost_usd: number; duration_ms: number; num_steps?: number };
  "turn.error": { error: AgentError; errors?: string[]; text?: string; usage: Usage; cost_usd: number; duration_ms: number };
  "process.exit": { code: number | null; signal: string | null; duration_ms: number };
  "user.prompt": { message_id?: string; blocks: Block[] };
  "message.delta": { message_id: string; index: number; text: string };
  "reasoning.delta": { message_id: string; index: number; text: string };
  "message.complete": { message_id: string; role: "user" | "assistant" | "tool"; blocks: Block[] };
  "tool.start": { tool_id: string; name: string; class: ToolClass; message_id?: string; index: number };
  "tool.delta": { tool_id: string; partial_input: string };
  "tool.pre": { tool_id: string; name: string; class: ToolClass; input: Json; title?: string; paths?: string[]; diff?: string };
  "tool.progress": { tool_id: string; text?: string; elapsed_ms?: number };
  "tool.post": ToolResult;
  "tool.failure": ToolResult & { error: string; interrupted?: boolean; denied?: boolean };
  "permission.request": RequestData;
  "permission.denied": { tool_id?: string; tool: string; reason?: string };
  "question.request": RequestData;
  "plan.request": RequestData;
  "stop.request": RequestData;
  "permission.decision": Decision;
  "question.decision": Decision;
  "plan.decision": Decision;
  "stop.decision": Decision;
  "hook.decision": Decision;
  "plan.update": { entries: PlanEntry[] };
  "subagent.start": { id: string; type?: string; description?: string; prompt?: string };
  "subagent.stop": { id: string; type?: string; result?: string; usage?: Usage };
  "task.start": { id: string; tool_id?: string; type?: string; description?: string };
  "task.update": { id: string; status: string; text?: string };
  "task.end": { id: string; status: string; summary?: string };
  "compact.pre": { trigger: string };
  "compact.post": { tokens_before?: number; tokens_after?: number; summary?: string };
  "notification": { text: string; level: string; title?: string };
  "usage.update": UsageUpdate;
  "rate_limit": { resets_at?: string; kind?: string };
  "retry": { attempt: number; max?: number; delay_ms: number; http_status?: number; error?: string };
  "diag.warning": { text: string };
  "model.fallback": { from: string; to: string; why?: string };
  "checkpoint.created": { checkpoint_id: string; message_id?: string; of_turn?: string; phase?: string; changed?: boolean };
  "checkpoint.rewound": {
    checkpoint_id: string; files: string[] | null; insertions: number; deletions: number;
    direction: "undo" | "redo"; turns?: string[];
  };
  "queue.change": { change: string; turn?: string; reason?: string; queue: { turn: string; text: string; by?: string; held?: boolean }[]; count: number };
  "file.changed": { path: string; change: "created" | "modified" | "deleted"; tool_id?: string };
}

export type Kind = keyof EventData;

interface Envelope {
  seq: number;
  v?: number;
  session: string;
  turn?: string;
  by?: string;
  time: string;
  actor?: string;
  parent_tool?: string;
  expects?: { request_id: string; gate: Gate; fallback: Behavior; expires_at?: string };
  visibility?: "ui" | "internal" | "log";
  source?: string;
}

export type EventOf<K extends Kind> = Envelope & { kind: K; data: EventData[K] };
export type KnownEvent = { [K in Kind]: EventOf<K> }[Kind];

/** An event as it comes from the server; its kind may be unknown to us. */
export type Event = Envelope & { kind: string; data: unknown };
