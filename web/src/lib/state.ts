// What is not server state: panes, dialogs, drafts, the theme.

import { create } from "zustand";
import { persist } from "zustand/middleware";

export type Theme = "system" | "light" | "dark" | "contrast";
export type RightTab = "activity" | "files" | "changes" | "plan" | "details";
export type PhonePane = "sessions" | "chat" | "needs" | "activity";

interface Settings {
  theme: Theme;
  tab: RightTab;
  left: boolean;
  right: boolean;
  notify: boolean;
  /** The newest prompts, for the composer's history. */
  history: string[];
  drafts: Record<string, string>;
  lastFolder: string;
  editor: string;
  set: (change: Partial<Omit<Settings, "set">>) => void;
}

/** Kept in the browser. */
export const useSettings = create<Settings>()(
  persist(
    (set) => ({
      theme: "system", tab: "activity", left: true, right: true, notify: false,
      history: [], drafts: {}, lastFolder: "", editor: "vscode://file{path}",
      set: (change) => set(change),
    }),
    { name: "terret.settings", version: 1 },
  ),
);

export function setDraft(session: string, text: string): void {
  const { [session]: _, ...others } = useSettings.getState().drafts;
  useSettings.setState({ drafts: text ? { ...others, [session]: text } : others });
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

export type Overlay = "palette" | "shortcuts" | "new-session" | "rename" | "delete" | null;

interface View {
  overlay: Overlay;
  phone: PhonePane;
  finding: boolean;
  /** The turn whose changes are shown; empty means all. */
  changesOf: string;
  set: (change: Partial<Omit<View, "set">>) => void;
}

export const useView = create<View>()((set) => ({
  overlay: null, phone: "chat", finding: false, changesOf: "", set: (change) => set(change),
}));
