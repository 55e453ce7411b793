// The keyboard. Single keys act only outside text fields and dialogs.

import { useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import * as api from "../api/actions";
import { keys } from "../api/keys";
import type { List, Request, Session } from "../api/types";
import { holdToKill } from "../composer/StopButton";
import { go, parse, sessionPath } from "../lib/router";
import { useSettings, useView } from "../lib/state";
import { attempt } from "../lib/toast";
import { isWorking } from "../model/lists";

const inText = (el: Element | null) =>
  el instanceof HTMLInputElement || el instanceof HTMLTextAreaElement || el instanceof HTMLSelectElement || (el instanceof HTMLElement && el.isContentEditable);

const acts = (el: Element | null) => !!el?.closest("button, a, summary, [role=option], [role=menuitem]");

/** The request that keys answer: the one that has the focus, else the first that is shown. */
function activeRequest(): HTMLElement | null {
  return document.activeElement?.closest<HTMLElement>("[data-request]") ?? document.querySelector<HTMLElement>("[data-request]");
}

/** Presses the button of the active request that has this key. */
export function pressRequestKey(key: string): boolean {
  const button = [...(activeRequest()?.querySelectorAll<HTMLElement>("[data-key]") ?? [])].find((b) => b.dataset.key === key);
  if (!button || (button as HTMLButtonElement).disabled) return false;
  button.click();
  return true;
}

function focusMessage(): void {
  document.querySelector<HTMLTextAreaElement>(".composer textarea")?.focus();
}

export function useKeys(): void {
  const client = useQueryClient();
  useEffect(() => {
    let pending = "";
    let escapeAt = 0;
    const sessions = () => client.getQueryData<List<Session>>(keys.sessions)?.items ?? [];
    const requests = () => client.getQueryData<List<Request>>(keys.requests)?.items ?? [];
    const shown = () => {
      const route = parse(location.pathname);
      return route.page === "session" ? sessions().find((s) => s.id === route.session) : undefined;
    };
    const move = (by: number) => {
      const order = [...document.querySelectorAll<HTMLElement>("[data-session]")].map((e) => e.dataset.session!);
      const list = order.length > 0 ? order : sessions().map((s) => s.id);
      const at = list.indexOf(shown()?.id ?? "");
      const next = list[at < 0 ? 0 : Math.max(0, Math.min(list.length - 1, at + by))];
      if (next) go(sessionPath(next));
    };
    const needsYou = () => {
      const first = requests()[0];
      if (!first) return;
      go(sessionPath(first.session));
      useView.setState({ phone: "chat" });
      requestAnimationFrame(() => activeRequest()?.querySelector<HTMLElement>("button")?.focus());
    };
    const undo = () => {
      const s = shown();
      // The server knows best whether there is something to undo, and says why not.
      if (s) void attempt("Undo did not work", () => api.undo(s.id)).then(() => client.invalidateQueries({ queryKey: keys.sessions }));
    };

    const single: Record<string, () => void> = {
      n: () => useView.setState({ overlay: "new-session" }),
      "?": () => useView.setState({ overlay: "shortcuts" }),
      j: () => move(1),
      k: () => move(-1),
      u: undo,
      m: focusMessage,
      "[": () => useSettings.setState((s) => ({ left: !s.left })),
      "]": () => useSettings.setState((s) => ({ right: !s.right })),
    };

    const onKeyDown = (e: KeyboardEvent) => {
      if (e.defaultPrevented || e.isComposing) return;
      if ((e.ctrlKey || e.metaKey) && !e.altKey && !e.shiftKey) {
        if (e.key === "k") {
          e.preventDefault();
          useView.setState((s) => ({ overlay: s.overlay === "palette" ? null : "palette" }));
        } else if (e.key === "f" && shown()) {
          e.preventDefault();
          useView.setState({ finding: true });
        }
        return;
      }
      if (e.ctrlKey || e.metaKey || e.altKey || useView.getState().overlay || document.querySelector("[role=dialog], [role=menu]")) return;
      // Where the key was pressed: the field may be gone by now.
      const focus = e.target instanceof Element ? e.target : null;
      if (inText(focus)) {
        if (e.key === "Escape" && focus?.closest("[data-request]") && pressRequestKey("Escape")) e.preventDefault();
        return;
      }
      if (e.key === "Escape") {
        const s = shown();
        if (!e.repeat) escapeAt = Date.now();
        else if (escapeAt && s && Date.now() - escapeAt > holdToKill) {
          escapeAt = 0;
          void attempt("The agent could not be killed", () => api.kill(s.id));
        }
        return;
      }
      const chord = pending === "g" && e.key === "n";
      pending = e.key === "g" ? "g" : "";
      if (chord) {
        e.preventDefault();
        return needsYou();
      }
      if (e.key === "Enter" && acts(focus)) return;
      if (e.repeat) return;
      if (pressRequestKey(e.key)) return e.preventDefault();
      const action = single[e.key];
      if (action) {
        e.preventDefault();
        action();
      }
    };
    const onKeyUp = (e: KeyboardEvent) => {
      if (e.key !== "Escape" || !escapeAt) return;
      escapeAt = 0;
      const s = shown();
      if (s && isWorking(s.state)) void attempt("The turn did not stop", () => api.interrupt(s.id));
    };
    window.addEventListener("keydown", onKeyDown);
    window.addEventListener("keyup", onKeyUp);
    return () => {
      window.removeEventListener("keydown", onKeyDown);
      window.removeEventListener("keyup", onKeyUp);
    };
  }, [client]);
}
