// What can be done with a session, from anywhere.

import { type QueryClient, useQueryClient } from "@tanstack/react-query";
import { useMemo } from "react";
import * as api from "../api/actions";
import { ApiError, call } from "../api/http";
import { keys } from "../api/keys";
import type { Session } from "../api/types";
import { go, sessionPath } from "../lib/router";
import { getDraft, offerDraft, setDraft } from "../lib/state";
import { attempt, say } from "../lib/toast";
import { rewound } from "../lib/words";
import { root } from "../model/types";
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
  await client.invalidateQueries({ queryKey: keys.sessions });
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

/** Hands a file to the person. */
function save(file: Blob, name: string): void {
  const url = URL.createObjectURL(file);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}

export function useSessionActions(session: Session) {
  const client = useQueryClient();
  return useMemo(() => {
    const refresh = () => client.invalidateQueries({ queryKey: keys.sessions });
    return {
      undo: () => rewind(client, session.id, "undo"),
      redo: () => rewind(client, session.id, "redo"),
      fork: async (messageId?: string) => {
        const made = await attempt("The session could not be forked", () => api.fork(session.id, messageId));
        if (!made) return;
        await refresh();
        go(sessionPath(made.id));
        say("Forked", "The original stays as it is.");
      },
      retry: (turn: string) => {
        const items = conversations.get(session.id).snapshot().conversation.threads.get(root) ?? [];
        const prompt = items.find((i) => i.type === "user" && i.turn === turn);
        if (prompt?.type !== "user") return Promise.resolve(undefined);
        return attempt("The message was not sent", () => api.prompt(session.id, prompt.blocks, "reject"));
      },
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
          save(new Blob([htmlOf(session, store.snapshot().conversation)], { type: "text/html" }), `terret-${session.id}.html`);
        }),
    };
  }, [client, session]);
}
