// Short messages at the edge of the window.

import { create } from "zustand";
import { ApiError } from "../api/http";

export interface Action { label: string; run: () => unknown }

export interface Toast { id: number; title: string; detail?: string; error: boolean; action?: Action }

export const useToasts = create<{ list: Toast[] }>(() => ({ list: [] }));

let next = 1;

function show(toast: Omit<Toast, "id">): void {
  const same = (t: Toast) => t.title === toast.title && t.detail === toast.detail;
  useToasts.setState(({ list }) => {
    if (!toast.action && list.some(same)) return { list };
    // Only the newest offer counts: an older one would do something else by now.
    const rest = toast.action ? list.filter((t) => !t.action) : list;
    return { list: [...rest, { ...toast, id: next++ }].slice(-4) };
  });
}

export const dropToast = (id: number) => useToasts.setState(({ list }) => ({ list: list.filter((t) => t.id !== id) }));

export const say = (title: string, detail?: string, action?: Action) =>
  show({ title, error: false, ...(detail ? { detail } : {}), ...(action ? { action } : {}) });

/** Tells what failed and why. */
export function fail(title: string, cause: unknown): void {
  show({ title, error: true, detail: cause instanceof Error ? cause.message : String(cause) });
}

/** Runs what a person asked for and tells if it failed. */
export async function attempt<T>(title: string, action: () => Promise<T>): Promise<T | undefined> {
  try {
    return await action();
  } catch (cause) {
    if (cause instanceof ApiError && cause.kind === "already_decided") say("Answered elsewhere", cause.message);
    else fail(title, cause);
    return undefined;
  }
}

export async function copy(text: string, what = "Copied"): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    say(what);
  } catch (cause) {
    fail("The browser did not let us copy", cause);
  }
}
