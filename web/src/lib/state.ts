// What is not server state: panes, dialogs, drafts, the theme.

import { create } from "zustand";
import { persist } from "zustand/middleware";
import { fullAuto } from "./words";

export type Theme = "system" | "light" | "dark" | "contrast";
export type RightTab = "changes" | "files" | "plan" | "timeline" | "details";
export type PhonePane = "sessions" | "chat" | "needs" | "side";

interface Settings {
  theme: Theme;
  tab: RightTab;
  left: boolean;
  /** Whether the right pane is open where there is room beside the conversation. */
  right: boolean;
  notify: boolean;
  /** Whether the server pushes notifications to this browser, which then need no page. */
  push: boolean;
  /** The newest prompts, for the composer's history. */
  history: string[];
  lastFolder: string;
  lastAgent: string;
  lastPolicy: string;
  /** The folders in which new sessions get a worktree of their own. */
  inTree: string[];
  /** What new sessions may use: dollars, steps in a turn, seconds that requests wait; 0 is no limit. */
  limitCost: number;
  limitSteps: number;
  limitWait: number;
  /** Whether diffs stand side by side where there is room. */
  split: boolean;
  /** The address that opens a file in an editor. */
  editor: string;
  /** The session whose terminals are shown. */
  terminalOf: string;
  /** How Home groups those that work. */
  workBy: "folder" | "team" | "none";
  /** How the list of sessions is grouped. */
  listBy: "folder" | "branch" | "agent" | "label";
  /** Views of the list that a person saved. */
  views: SavedView[];
}

/** What the list of sessions shows, and how it is grouped. */
export interface SavedView { words: string; by: Settings["listBy"] }

/** The mode with which the next session begins: full auto is chosen each time. */
const kept = (policy: string | undefined): string => (!policy || policy === fullAuto ? "ask" : policy);

/** Kept in the browser. */
export const useSettings = create<Settings>()(
  persist(
    (): Settings => ({
      theme: "system", tab: "changes", left: true, right: false, notify: false, push: false,
      history: [], lastFolder: "", lastAgent: "", lastPolicy: "ask", inTree: [], limitCost: 0, limitSteps: 0, limitWait: 0, split: true, editor: "vscode://file{path}", workBy: "folder", listBy: "folder", views: [], terminalOf: "",
    }),
    {
      name: "terret.settings", version: 4,
      migrate: (old, version) => ({ ...(old as Settings), ...(version < 3 ? { right: false, tab: "changes" } : {}), lastPolicy: kept((old as Settings).lastPolicy) }),
    },
  ),
);

const draftKey = (session: string) => `terret.draft.${session}`;

/** Drafts have an entry of their own each, so that tabs do not overwrite each other's. */
export function getDraft(session: string): string {
  try {
    return localStorage.getItem(draftKey(session)) ?? "";
  } catch {
    return "";
  }
}

export function setDraft(session: string, text: string): void {
  try {
    if (text) localStorage.setItem(draftKey(session), text);
    else localStorage.removeItem(draftKey(session));
  } catch {
    // Storage is blocked or full: the draft lives as long as the field.
  }
}

const offered = "terret:draft";

/** Puts a text into the message field of a session, marked, so that typing replaces it. */
export function offerDraft(session: string, text: string): void {
  setDraft(session, text);
  window.dispatchEvent(new CustomEvent(offered, { detail: { session, text } }));
}

/** Adds a text to the end of what is in the message field. */
export function appendDraft(session: string, text: string): void {
  const before = getDraft(session);
  const whole = before ? `${before.replace(/\n+$/, "")}\n\n${text}` : text;
  setDraft(session, whole);
  window.dispatchEvent(new CustomEvent(offered, { detail: { session, text: whole, added: true } }));
}

/** Takes what is put into the message field; added says that what was typed is in it. */
export function onDraft(session: string, take: (text: string, added: boolean) => void): () => void {
  const listener = (e: Event) => {
    const { detail } = e as CustomEvent<{ session: string; text: string; added?: boolean }>;
    if (detail.session === session) take(detail.text, detail.added ?? false);
  };
  window.addEventListener(offered, listener);
  return () => window.removeEventListener(offered, listener);
}

export function remember(prompt: string): void {
  const { history } = useSettings.getState();
  if (history[0] !== prompt) useSettings.setState({ history: [prompt, ...history.filter((h) => h !== prompt)].slice(0, 100) });
}

export function applyTheme(theme: Theme): void {
  useSettings.setState({ theme });
  if (theme === "system") {
    delete document.documentElement.dataset.theme;
    localStorage.removeItem("terret.theme");
  } else {
    document.documentElement.dataset.theme = theme;
    localStorage.setItem("terret.theme", theme); // theme.js reads it before the first paint
  }
}

export type Overlay = "palette" | "shortcuts" | "new-session" | "rename" | "delete" | "handoff" | "move" | null;

/** A message that somebody looks for. */
export interface Sought { session: string; turn: string; messageId: string; mine: boolean }

interface View {
  overlay: Overlay;
  phone: PhonePane;
  /** Whether the right pane lies over the conversation, where there is no room beside it. */
  drawer: boolean;
  finding: boolean;
  /** The turn whose changes are shown; empty means all. */
  changesOf: string;
  /** An item of the conversation to show, by its key or by its message; a message waits until its session is shown. */
  jump: { key: string } | { message: Sought } | null;
  /** Whether the changes have the whole window. */
  review: boolean;
  /** Whether somebody wants a terminal, if there is none yet. */
  terminalAsked: boolean;
  /** The session that opens with its changes. */
  reviewNext: string;
  /** How many messages went from here into a conversation, which goes to its end then. */
  sent: number;
}

export const noteSent = () => useView.setState((s) => ({ sent: s.sent + 1 }));

export const useView = create<View>()(() => ({
  overlay: null, phone: "chat", drawer: false, finding: false, changesOf: "", jump: null, review: false, terminalAsked: false, reviewNext: "", sent: 0,
}));
