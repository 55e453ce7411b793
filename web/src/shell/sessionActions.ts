// What can be done with a session, from anywhere.

import { useQueryClient } from "@tanstack/react-query";
import { useMemo } from "react";
import * as api from "../api/actions";
import { ApiError } from "../api/http";
import { keys } from "../api/keys";
import type { Session } from "../api/types";
import { go, sessionPath } from "../lib/router";
import { setDraft } from "../lib/state";
import { attempt, say } from "../lib/toast";
import { root } from "../model/types";
import { conversations } from "../stream/live";

export function useSessionActions(session: Session) {
  const client = useQueryClient();
  return useMemo(() => {
    const refresh = () => client.invalidateQueries({ queryKey: keys.sessions });
    const rewind = async (name: "Undo" | "Redo", action: (id: string, force?: boolean) => Promise<void>) => {
      await attempt(`${name} did not work`, async () => {
        try {
          await action(session.id);
        } catch (cause) {
          const overwrite = cause instanceof ApiError && cause.kind === "conflict";
          if (!overwrite || !window.confirm(`${cause.message}\n\nOverwrite these files?`)) throw cause;
          await action(session.id, true);
        }
      });
      await refresh();
    };
    return {
      undo: () => rewind("Undo", api.undo),
      redo: () => rewind("Redo", api.redo),
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
      export: () =>
        attempt("The session could not be exported", async () => {
          const url = URL.createObjectURL(await api.exportSession(session.id));
          const link = document.createElement("a");
          link.href = url;
          link.download = `terret-${session.id}.jsonl`;
          link.click();
          URL.revokeObjectURL(url);
        }),
    };
  }, [client, session.id]);
}
