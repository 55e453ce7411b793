import { useQueryClient } from "@tanstack/react-query";
import { ArrowUp, Pencil, Send, Trash2 } from "lucide-react";
import { useState } from "react";
import { dropQueued, editQueued, moveQueued, sendQueued } from "../api/actions";
import { keys } from "../api/keys";
import { useQueue } from "../api/queries";
import type { Session, Turn } from "../api/types";
import { safeProse } from "../lib/safe";
import { appendDraft } from "../lib/state";
import { attempt } from "../lib/toast";
import { Button } from "../ui/Button";

const wordsOf = (turn: Turn) => turn.prompt.map((b) => b.text ?? (b.name || b.type)).join(" ");

const isText = (turn: Turn) => turn.prompt.every((b) => b.type === "text");

/**
 * Messages that wait for the running turn, and those that a stop holds until somebody sends
 * them: they can be changed, moved and dropped.
 */
export function Queue({ session }: { session: Session }) {
  const client = useQueryClient();
  const turns = useQueue(session.id).data?.items ?? [];
  const [editing, setEditing] = useState<string | null>(null);
  if (turns.length === 0) return null;
  const act = async (title: string, action: () => Promise<unknown>) => {
    await attempt(title, action);
    await client.invalidateQueries({ queryKey: keys.queue(session.id) });
  };
  const putBack = (t: Turn) =>
    act("The message was not put back", async () => {
      await dropQueued(session.id, t.id);
      appendDraft(session.id, wordsOf(t));
    });
  return (
    <ol className="queue" aria-label="Queued messages">
      {turns.map((t, i) => (
        <li key={t.id} className={t.held ? "held" : ""}>
          <span className="faint">{t.held ? "Held:" : i === 0 ? "Next:" : "Then:"}</span>
          {editing === t.id ? (
            <input
              className="input grow"
              aria-label="Queued message"
              autoFocus
              defaultValue={wordsOf(t)}
              onBlur={() => setEditing(null)}
              onKeyDown={(e) => {
                if (e.key === "Escape") setEditing(null);
                if (e.key !== "Enter") return;
                const text = e.currentTarget.value;
                setEditing(null);
                void act("The message was not changed", () => editQueued(session.id, t.id, text));
              }}
            />
          ) : (
            <span className="grow cut">{safeProse(wordsOf(t))}</span>
          )}
          {t.held && <Button look="quiet" tiny onClick={() => act("The message was not sent", () => sendQueued(session.id, t.id))}><Send size={13} /> Send</Button>}
          {i > 0 && <Button look="quiet" tiny label="Move up" onClick={() => act("The message was not moved", () => moveQueued(session.id, t.id, turns[i - 1]!.id))}><ArrowUp size={13} /></Button>}
          <Button look="quiet" tiny label="Edit" onClick={() => (t.held && isText(t) ? putBack(t) : setEditing(t.id))}><Pencil size={13} /></Button>
          <Button look="quiet" tiny label="Drop" onClick={() => act("The message was not dropped", () => dropQueued(session.id, t.id))}><Trash2 size={13} /></Button>
        </li>
      ))}
    </ol>
  );
}
