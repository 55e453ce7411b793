// The keyboard. What can be typed belongs to the message: in a session letters go there
// from wherever the focus is, unless a request has it. With Alt the same letters act
// everywhere; alone they act only on pages without a message field.

import { useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import * as api from "../api/actions";
import { keys } from "../api/keys";
import { knownSession } from "../api/queries";
import type { List, Request, Session } from "../api/types";
import { holdToKill } from "../composer/StopButton";
import { go, parse, sessionPath } from "../lib/router";
import { useSettings, useView } from "../lib/state";
import { attempt } from "../lib/toast";
import { isWorking } from "../model/lists";
import { focusFirstRequest, inText } from "../requests/useFocus";
import { showRight, toggleRight } from "./rightPane";
import { listed } from "./picked";
import { toggleTerminal } from "../terminal/Dock";
import { rewind } from "./sessionActions";

const acts = (el: Element | null) => !!el?.closest("button, a, summary, [role=option], [role=menuitem]");

const messageField = () => document.querySelector<HTMLTextAreaElement>(".composer textarea");

/** The request that keys answer: the one that has the focus. Where nobody can write, it is the first. */
function activeRequest(): HTMLElement | null {
  return document.activeElement?.closest<HTMLElement>("[data-request]") ?? (messageField() ? null : document.querySelector<HTMLElement>("[data-request]:not([inert] *)"));
}

/** Further keys in lists of requests, where nobody begins to write a message. */
const inLists: Record<string, string> = { y: "Enter", n: "d" };

/** Presses the button of the active request that has this key. */
export function pressRequestKey(key: string): boolean {
  const request = activeRequest();
  const wanted = (request?.closest("[data-line]") && inLists[key]) || key;
  const button = [...(request?.querySelectorAll<HTMLElement>("[data-key]") ?? [])].find((b) => b.dataset.key === wanted);
  if (!button || (button as HTMLButtonElement).disabled) return false;
  button.click();
  return true;
}

/** The letter of a key, whatever Alt makes of it. */
const letterOf = (e: KeyboardEvent) =>
  ({ BracketLeft: "[", BracketRight: "]", Slash: "?" })[e.code] ?? (e.code.startsWith("Key") ? e.code.slice(3).toLowerCase() : e.key);

export function useKeys(): void {
  const client = useQueryClient();
  useEffect(() => {
    let pending = "";
    let escapeAt = 0;
    const sessions = () => client.getQueryData<List<Session>>(keys.sessions)?.items ?? [];
    const requests = () => client.getQueryData<List<Request>>(keys.requests)?.items ?? [];
    const shown = () => {
      const route = parse(location.pathname);
      return route.page === "session" ? knownSession(client, route.session) : undefined;
    };
    const move = (by: number) => {
      const list = listed.sessions.length > 0 ? listed.sessions : sessions().map((s) => s.id);
      const at = list.indexOf(shown()?.id ?? "");
      const next = list[at < 0 ? 0 : Math.max(0, Math.min(list.length - 1, at + by))];
      if (next) go(sessionPath(next));
    };
    const needsYou = () => {
      // On home all of them are there.
      if (parse(location.pathname).page === "home" && focusFirstRequest()) return;
      const first = requests().find((r) => r.session === shown()?.id) ?? requests()[0];
      if (!first) return;
      const focus = () => {
        const card = document.querySelector<HTMLElement>(`[data-request="${first.request_id}"]`);
        card?.focus();
        return !!card && card === document.activeElement;
      };
      go(sessionPath(first.session));
      useView.setState({ phone: "chat", drawer: false });
      if (!focus()) requestAnimationFrame(focus);
    };
    const rewindShown = (way: "undo" | "redo") => () => {
      const s = shown();
      // The server knows best whether there is something to undo, and says why not.
      if (s) void rewind(client, s.id, way);
    };

    const single: Record<string, () => void> = {
      n: () => useView.setState({ overlay: "new-session" }),
      "?": () => useView.setState({ overlay: "shortcuts" }),
      j: () => move(1),
      k: () => move(-1),
      "[": () => useSettings.setState((s) => ({ left: !s.left })),
      "]": () => toggleRight(shown()?.id),
    };
    const withAlt: Record<string, () => void> = { ...single, c: () => shown() && useView.setState((s) => ({ review: !s.review })), g: needsYou, u: rewindShown("undo") };
    const withShift: Record<string, () => void> = { u: rewindShown("redo") };

    const onKeyDown = (e: KeyboardEvent) => {
      if (e.defaultPrevented || e.isComposing) return;
      if ((e.ctrlKey || e.metaKey) && !e.altKey && !e.shiftKey) {
        if (e.code === "Backquote" && e.ctrlKey) {
          const s = shown();
          if (!s || useView.getState().overlay || e.repeat) return;
          e.preventDefault();
          toggleTerminal(s.id);
          if (useSettings.getState().terminalOf !== s.id) messageField()?.focus();
        } else if (e.key === "k") {
          e.preventDefault();
          useView.setState((s) => ({ overlay: s.overlay === "palette" ? null : "palette" }));
        } else if (e.key === "f" && shown()) {
          e.preventDefault();
          useView.setState({ finding: true, drawer: false });
        }
        return;
      }
      if (e.ctrlKey || e.metaKey || useView.getState().overlay || document.querySelector("[role=dialog], [role=menu]")) return;
      if (e.altKey) {
        const action = (e.shiftKey ? withShift : withAlt)[letterOf(e)];
        if (!action || e.repeat) return;
        e.preventDefault();
        return action();
      }
      if (e.key === "Escape" && document.querySelector(".drawer")) {
        e.preventDefault();
        return showRight(false);
      }
      // Where the key was pressed: the field may be gone by now.
      const focus = e.target instanceof Element ? e.target : null;
      const message = messageField();
      if (e.key === "Escape" && focus?.closest("[data-request]") && pressRequestKey("Escape")) return e.preventDefault();
      if (inText(focus) && !(e.key === "Escape" && focus === message)) return;
      if (e.key === "Escape") {
        const s = shown();
        if (!e.repeat) escapeAt = Date.now();
        else if (escapeAt && s && Date.now() - escapeAt > holdToKill) {
          escapeAt = 0;
          void attempt("The agent could not be killed", () => api.kill(s.id));
        }
        return;
      }
      const chord = pending === "g" && e.key === "n" && !message;
      pending = e.key === "g" ? "g" : "";
      if (chord) {
        e.preventDefault();
        return needsYou();
      }
      if (e.key === "Enter" && acts(focus)) return;
      if (e.repeat) return;
      if (pressRequestKey(e.key)) return e.preventDefault();
      if (message) {
        // A space presses buttons and scrolls; everything else is written.
        if (e.key.length === 1 && e.key !== " ") message.focus();
        return;
      }
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
