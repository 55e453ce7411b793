// Generated from docs/openapi.json by gen. Do not edit.

/** What went wrong, for programs to branch on. */
export type ErrorCode =
  | "agent_not_found"
  | "already_decided"
  | "billing"
  | "conflict"
  | "connection_failed"
  | "execution_error"
  | "forbidden"
  | "internal"
  | "interrupted"
  | "invalid_request"
  | "killed"
  | "malformed_output"
  | "max_budget"
  | "max_structured_retries"
  | "max_turns"
  | "model_error"
  | "model_not_found"
  | "not_authenticated"
  | "not_found"
  | "overloaded"
  | "process_failed"
  | "rate_limited"
  | "resume_failed"
  | "session_busy"
  | "session_closed"
  | "session_not_found"
  | "startup_refused"
  | "timeout"
  | "unauthorized"
  | "unsupported";

export interface Block {
  bytes?: string;
  content?: Array<Block>;
  input?: unknown;
  is_error?: boolean;
  media_type?: string;
  name?: string;
  text?: string;
  tool_id?: string;
  type: string;
  url?: string;
}

export interface MadeDecision {
  answers?: Record<string, string | Array<string>>;
  behavior: string;
  by?: string;
  gate: string;
  input_hash?: string;
  interrupt?: boolean;
  next_mode?: string;
  reason?: string;
  request_id: string;
  rule?: string;
  scope?: string;
  source: string;
  updated_input?: unknown;
}

export interface ErrorInfo {
  exit_code?: number;
  field?: string;
  http_status?: number;
  kind: ErrorCode;
  message: string;
  retryable: boolean;
  signal?: string;
  stderr?: Array<string>;
}

export interface SDKDecision {
  /** What was chosen or written, by question id. */
  answers?: Record<string, string | Array<string>>;
  behavior: "allow" | "deny" | "answer" | "reject" | "approve" | "revise" | "block" | "ask" | "passthrough";
  /** Hash of the input you reviewed; a mismatch is refused. */
  input_hash?: string;
  /** Also stop the turn. */
  interrupt?: boolean;
  /** The permission mode to continue in after a plan is approved. */
  next_mode?: string;
  /** Reason to give to the agent. */
  reason?: string;
  /** The rule to make for scope session or always. Default: all rules that the request suggests. */
  rule?: string;
  /** Default once. The others are for permissions, and make a rule; always needs a token with scope admin. */
  scope?: "once" | "session" | "always";
  /** Input to use instead of the tool's own. */
  updated_input?: unknown;
}

export interface NewSession {
  /** Additional folders the agent may work in. */
  add_dirs?: Array<string>;
  /** The agent to use. Default: the configured one, or else one that is installed. */
  agent?: string;
  /** Subagents, in the agent's own format. */
  agents?: unknown;
  /** Rules for tool uses to allow, such as Bash(git *). */
  allow?: Array<string>;
  /** Rules for tool uses to ask a person about, even if another rule allows them. */
  ask?: Array<string>;
  /** Tools that run without asking. */
  auto_approve_tools?: Array<string>;
  /** Add Terret's own text to the system prompt; a persona and the modes workbench and pipeline always do. */
  base_prompt?: boolean;
  /** With worktree: what to name its branch after, such as the first prompt. Default: the title, or else the session's id. */
  branch?: string;
  /** The folder to work in; it must be inside one of the roots. Either this or repo. */
  cwd?: string;
  /** Rules for tool uses to deny. */
  deny?: Array<string>;
  /** Tools to remove. */
  disallowed_tools?: Array<string>;
  effort?: string;
  fallback_model?: string;
  /** Where the agent waits for a decision, besides asking for permission: pre_tool, prompt, stop, subagent_stop or compact. */
  gates?: Array<string>;
  /** Keep the agent's own messages in the log. */
  keep_raw?: boolean;
  /** With repo: labels that the node must have. */
  labels?: Array<string>;
  max_cost_usd?: number;
  /** Maximum number of steps per turn. */
  max_turns?: number;
  /** MCP servers, in the agent's own format. */
  mcp?: unknown;
  mode?: "workbench" | "pipeline" | "direct";
  model?: string;
  /** The agent's own session to resume. */
  native_id?: string;
  /** What to do when the agent has lost the session. */
  on_stale?: "new" | "error";
  /** Use a new agent process for each turn. */
  one_shot?: boolean;
  /** A JSON schema that the answer must follow. */
  output_schema?: unknown;
  /** The agent's own permission mode. */
  permission_mode?: string;
  persona?: string;
  policy?: "ask" | "accept-edits" | "rules" | "plan" | "deny-unless-allowed" | "auto-approve";
  /** The id of a preset, whose settings count where this request has none. */
  preset?: string;
  /** Keep what the native agent's model is asked and answers, for terret replay. */
  record?: boolean;
  /** The git repository to clone and work in, such as https://host/path or git@host:path. In a fleet the node with the fewest sessions clones it. It needs scope decide. */
  repo?: string;
  /** What the agent's commands may change, without network. Default: what the persona and the configuration say. */
  sandbox?: "off" | "workspace-write" | "read-only";
  /** Which of its own settings the agent reads. */
  setting_sources?: Array<string>;
  /** Text to append to the system prompt. */
  system_append?: string;
  /** How many seconds requests wait, by gate. Zero means no limit. */
  timeouts?: Record<string, number>;
  title?: string;
  /** The agent's tools. Default: all; an empty list means none. */
  tools?: Array<string>;
  /** Create the session even if its agent cannot be held to the session's restrictions. */
  unenforced?: boolean;
  /** Work in the session's own git worktree, on its own branch, instead of cwd. */
  worktree?: boolean;
}

export interface NewTurn {
  /** The same as text, images and documents. */
  blocks?: Array<Block>;
  message_id?: string;
  options?: TurnOptions;
  /** The message that this one follows, by its id or its UUID in the neovate view. It must be the session's last. */
  parent_id?: string;
  /** What the agent should do. Either this or blocks. */
  prompt?: string;
  /** It follows no message, and begins a thread. The agent still remembers the session. Default: it follows the last one. */
  root?: boolean;
  when?: "reject" | "queue" | "steer";
}

export interface Problem {
  /** What happened, to what, and what to do next. */
  detail: string;
  /** Everything that is wrong with the input, if it is more than one thing. */
  errors?: Array<ProblemDetail>;
  /** Exit code of the failed process. */
  exit_code?: number;
  /** The invalid field or parameter. */
  field?: string;
  /** The same as type. */
  kind: ErrorCode;
  /** The same request may succeed later. */
  retryable?: boolean;
  /** Signal that ended the process. */
  signal?: string;
  status: number;
  /** Last stderr lines of the failed process. */
  stderr?: Array<string>;
  /** The status in words. */
  title: string;
  /** The error's code, for programs to branch on. */
  type: string;
}

export interface ProblemDetail {
  field?: string;
  message: string;
}

export interface SDKRequest {
  created_at: string;
  data: unknown;
  decision?: MadeDecision;
  delivered: boolean;
  expires_at?: string;
  gate: string;
  request_id: string;
  seq: number;
  session: string;
  state: string;
  turn?: string;
}

export interface TurnOptions {
  auto_approve_tools?: Array<string>;
  auto_approve_tools_override?: Array<string>;
  disallowed_tools?: Array<string>;
  disallowed_tools_override?: Array<string>;
  effort?: string;
  max_turns?: number;
  model?: string;
  partial?: boolean;
  permission_mode?: string;
  system_append?: string;
  tag?: string;
  tools?: Array<string>;
  tools_override?: Array<string>;
}

export interface Usage {
  cache_read: number;
  cache_write: number;
  input: number;
  output: number;
  reasoning: number;
}
