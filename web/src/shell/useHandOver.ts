import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { handOver } from "../api/actions";
import { refreshSessions } from "../api/queries";
import type { Session } from "../api/types";
import { go, sessionPath } from "../lib/router";
import { attempt, say } from "../lib/toast";

/** Has a session continue elsewhere and opens it there, or says why it was not done. */
export function useHandOver(session: Session, onClose: () => void) {
  const client = useQueryClient();
  const [busy, setBusy] = useState(false);
  const run = async (failed: string, body: Parameters<typeof handOver>[1]) => {
    setBusy(true);
    const made = await attempt(failed, () => handOver(session.id, body));
    setBusy(false);
    if (!made) return;
    onClose();
    for (const note of made.notes ?? []) say(note);
    await refreshSessions(client);
    go(sessionPath(made.id));
  };
  return { busy, run };
}
