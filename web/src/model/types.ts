// What the conversation shows: a session's events, folded.

import type {
  AgentError, Block, Command, Decision, Json, McpServer, PlanEntry, Request, SessionState, ToolClass, Usage, UsageUpdate,
} from "../api/types";

interface Base {
  key: string;
  turn: string;
  time: string;
  /** The message and the place in it, which order what a message holds. */
  messageId?: string;
  index?: number;
}

export interface UserItem extends Base { type: "user"; blocks: Block[]; by?: string; origin: string }
export interface TextItem extends Base { type: "text"; text: string; streaming: boolean }
export interface ThinkingItem extends Base { type: "thinking"; text: string; streaming: boolean }
export interface MediaItem extends Base { type: "media"; block: Block }

export interface ToolItem extends Base {
  type: "tool";
  toolId: string;
  name: string;
  class: ToolClass;
  state: "writing" | "running" | "done" | "failed" | "denied" | "interrupted";
  input?: Json;
  partialInput?: string;
  title?: string;
  paths?: string[];
  diff?: string;
  output: string;
  media: Block[];
  error?: string;
  durationMs?: number;
  /** When it began to run. */
  since?: string;
  /** How long it waited for an answer. */
  waitedMs?: number;
  requestId?: string;
}

export interface RequestItem extends Base { type: "request"; request: Request; decidedAt?: string }
export interface SubagentItem extends Base {
  type: "subagent"; actor: string; name: string; description: string; running: boolean; result?: string;
}
export interface TaskItem extends Base { type: "task"; id: string; description: string; status: string; text?: string; running: boolean }
export interface NoticeItem extends Base { type: "notice"; level: "info" | "warning" | "error"; text: string; detail?: string }
export interface TurnEndItem extends Base {
  type: "turn-end"; usage: Usage; costUsd: number; durationMs: number; error?: AgentError; errors?: string[]; stopReason?: string;
}

export type Item =
  | UserItem | TextItem | ThinkingItem | MediaItem | ToolItem | RequestItem | SubagentItem | TaskItem | NoticeItem | TurnEndItem;

export interface AgentInfo {
  agent: string;
  version: string;
  model: string;
  tools: string[];
  commands: Command[];
  mcpServers: McpServer[];
}

/** What an agent is doing right now. */
export interface Act {
  /** Tools that run, by id, in the order in which they began. */
  tools: ReadonlyMap<string, string>;
  /** Requests that wait for a person. */
  asked: ReadonlySet<string>;
  /** What it does while no tool runs. */
  text: string;
  /** When the turn began; empty while none runs. */
  since: string;
  /** The agent's last words in this turn. */
  said: string;
}

export const noAct: Act = { tools: new Map(), asked: new Set(), text: "", since: "", said: "" };

export const root = "root";

export interface Conversation {
  lastSeq: number;
  state: SessionState;
  detail: string;
  /** Items by actor; `root` is the conversation itself, the others are subagents. */
  threads: ReadonlyMap<string, readonly Item[]>;
  /** Where each item is. */
  places: ReadonlyMap<string, { actor: string; at: number }>;
  info: AgentInfo;
  usage: UsageUpdate | null;
  plan: readonly PlanEntry[];
  /** Requests that wait, by id. */
  open: ReadonlyMap<string, Request>;
  decisions: ReadonlyMap<string, Decision>;
  /** Turns whose changes are taken back. */
  undone: ReadonlySet<string>;
  /** Turns that changed files. */
  changed: ReadonlySet<string>;
  /** Files that were changed, by path. */
  files: ReadonlyMap<string, "created" | "modified" | "deleted">;
  runningTurn: string;
  /** What the agent is doing. */
  act: Act;
  /** The tokens that were used before the turn that runs. */
  usedBefore: number;
}

export const emptyConversation: Conversation = {
  lastSeq: 0,
  state: "pending",
  detail: "",
  threads: new Map([[root, []]]),
  places: new Map(),
  info: { agent: "", version: "", model: "", tools: [], commands: [], mcpServers: [] },
  usage: null,
  plan: [],
  open: new Map(),
  decisions: new Map(),
  undone: new Set(),
  changed: new Set(),
  files: new Map(),
  runningTurn: "",
  act: noAct,
  usedBefore: 0,
};
