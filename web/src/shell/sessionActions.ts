// What can be done with a session, from anywhere.

import { type QueryClient, useQueryClient } from "@tanstack/react-query";
import { useMemo } from "react";
import * as api from "../api/actions";
import { ApiError, call } from "../api/http";
import { useNames } from "../api/names";
import { refreshSessions } from "../api/queries";
import type { Session } from "../api/types";
import { plural } from "../lib/format";
import { go, sessionPath } from "../lib/router";
import { getDraft, noteSent, offerDraft, setDraft } from "../lib/state";
import { attempt, say } from "../lib/toast";
import { rewound } from "../lib/words";
import { type Conversation, root } from "../model/types";
import { conversations } from "../stream/live";

type Way = "undo" | "redo";

/** Takes the last turn back, or brings it back, and says what happened with the way to the other. */
export async function rewind(client: QueryClient, session: string, way: Way): Promise<void> {
  const move = (force: boolean) =>
    call<{ files?: string[]; note?: string }>(`/v1/sessions/${encodeURIComponent(session)}/${way}`, { method: "POST", body: { force } });
  const before = new Set(conversations.get(session).snapshot().conversation.undone);
  const done = await attempt(way === "undo" ? "Undo did not work" : "Redo did not work", async () => {
    try {
      return await move(false);
    } catch (cause) {
      const overwrite = cause instanceof ApiError && cause.kind === "conflict";
      if (!overwrite || !window.confirm(`${cause.message}\n\nOverwrite these files?`)) throw cause;
      return move(true);
    }
  });
  await refreshSessions(client);
  if (!done) return;
  if (way === "undo" && !getDraft(session)) {
    // The prompt goes back to where it came from.
    const { conversation } = conversations.get(session).snapshot();
    const last = (conversation.threads.get(root) ?? []).findLast((i) => i.type === "user" && i.origin !== "steer" && !before.has(i.turn));
    if (last?.type === "user") offerDraft(session, last.blocks.map((b) => b.text ?? "").join("").trim());
  }
  const back: Way = way === "undo" ? "redo" : "undo";
  say(rewound(way, done.files?.length ?? 0), undefined, { label: back === "redo" ? "Redo" : "Undo", run: () => rewind(client, session, back) });
}

/** The turns from one on that are not taken back, oldest first. */
export function turnsFrom(c: Conversation, turn: string): string[] {
  const all = (c.threads.get(root) ?? []).flatMap((i) => (i.type === "user" && i.origin !== "steer" ? [i.turn] : []));
  const at = all.indexOf(turn);
  return at < 0 ? [] : all.slice(at).filter((t) => !c.undone.has(t));
}

/**
 * Takes back a turn and all that came after it. Where an agent keeps its conversation,
 * only what they changed goes back: then the server takes back turns that changed
 * something, so there must be one left, or an older turn would go.
 */
export async function goBackTo(client: QueryClient, session: string, turn: string): Promise<void> {
  const { conversation } = conversations.get(session).snapshot();
  const prompt = (conversation.threads.get(root) ?? []).find((i) => i.type === "user" && i.turn === turn);
  const left = new Set(turnsFrom(conversation, turn));
  const files = new Set<string>();
  let steps = 0;
  let talk = false;
  const step = (force: boolean) =>
    call<{ turn: string; files?: string[]; conversation: boolean }>(`/v1/sessions/${encodeURIComponent(session)}/undo`, { method: "POST", body: { force } });
  await attempt("Going back did not work", async () => {
    while (left.size > 0 && (talk || [...left].some((t) => conversation.changed.has(t)))) {
      const done = await step(false).catch((cause: unknown) => {
        const overwrite = cause instanceof ApiError && cause.kind === "conflict";
        if (!overwrite || !window.confirm(`${cause.message}\n\nOverwrite these files?`)) throw cause;
        return step(true);
      });
      steps++;
      talk = done.conversation;
      done.files?.forEach((f) => files.add(f));
      // What came after the turn went with it.
      const order = [...left];
      for (const t of order.slice(Math.max(0, order.indexOf(done.turn)))) left.delete(t);
    }
  });
  await refreshSessions(client);
  if (steps === 0) return;
  if (prompt?.type === "user" && !getDraft(session)) offerDraft(session, prompt.blocks.map((b) => b.text ?? "").join("").trim());
  const redo = async () => {
    for (let i = 0; i < steps; i++) await call(`/v1/sessions/${encodeURIComponent(session)}/redo`, { method: "POST", body: { force: false } });
    await refreshSessions(client);
  };
  say(`Went back ${plural(steps, "turn")}`, files.size > 0 ? rewound("undo", files.size) : undefined, { label: "Redo", run: () => attempt("Redo did not work", redo) });
}

/** Sends the prompt of a turn once more; of the last one, if none is named. */
export function retry(session: string, turn: string) {
  return attempt("The message was not sent", async () => {
    const store = conversations.get(session);
    const find = () => (store.snapshot().conversation.threads.get(root) ?? []).findLast((i) => i.type === "user" && (turn === "" || i.turn === turn));
    if (!find()) await store.catchUp();
    const prompt = find();
    if (prompt?.type !== "user") return undefined;
    const begun = await api.prompt(session, prompt.blocks, "reject");
    noteSent();
    return begun;
  });
}

/** Hands a file to the person. */
function save(file: Blob, name: string): void {
  const url = URL.createObjectURL(file);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000); // a browser may begin to read it only later
}

export function useSessionActions(session: Session) {
  const client = useQueryClient();
  const { nameOf } = useNames();
  return useMemo(() => {
    const refresh = () => refreshSessions(client);
    return {
      undo: () => rewind(client, session.id, "undo"),
      redo: () => rewind(client, session.id, "redo"),
      goBackTo: (turn: string) => goBackTo(client, session.id, turn),
      fork: async (messageId?: string) => {
        const made = await attempt("The session could not be forked", () => api.fork(session.id, messageId));
        if (!made) return;
        await refresh();
        go(sessionPath(made.id));
        say("Forked", "The original stays as it is.");
      },
      retry: (turn: string) => retry(session.id, turn),
      interrupt: () => attempt("The turn did not stop", () => api.interrupt(session.id)),
      kill: () => attempt("The agent could not be killed", () => api.kill(session.id)),
      close: async () => {
        await attempt("The session could not be closed", () => api.closeSession(session.id));
        await refresh();
      },
      update: async (change: Parameters<typeof api.updateSession>[1]) => {
        await attempt("The change was not taken", () => api.updateSession(session.id, change));
        await refresh();
      },
      remove: async (force: boolean) => {
        const done = await attempt("The session was not deleted", async () => {
          await api.deleteSession(session.id, force);
          return true;
        });
        if (done) {
          setDraft(session.id, "");
          go("/");
        }
        await refresh();
      },
      export: () => attempt("The session could not be exported", async () => save(await api.exportSession(session.id), `terret-${session.id}.jsonl`)),
      exportHtml: () =>
        attempt("The session could not be exported", async () => {
          const store = conversations.get(session.id);
          await store.catchUp();
          const { htmlOf } = await import("./exportHtml");
          save(new Blob([htmlOf(session, nameOf(session), store.snapshot().conversation)], { type: "text/html" }), `terret-${session.id}.html`);
        }),
    };
  }, [client, session, nameOf]);
}
