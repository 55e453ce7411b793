import { useQueryClient } from "@tanstack/react-query";
import { ArrowUp, Pencil, Trash2 } from "lucide-react";
import { useEffect, useState } from "react";
import { dropQueued, editQueued, moveQueued } from "../api/actions";
import { keys } from "../api/keys";
import { useQueue } from "../api/queries";
import type { Session, Turn } from "../api/types";
import { safeProse } from "../lib/safe";
import { attempt } from "../lib/toast";
import { isWorking } from "../model/lists";
import { Button } from "../ui/Button";

const lookEvery = 4_000; // milliseconds

const wordsOf = (turn: Turn) => turn.prompt.map((b) => b.text ?? (b.name || b.type)).join(" ");

/** Messages that wait for the running turn: they can be changed, moved and dropped. */
export function Queue({ session }: { session: Session }) {
  const client = useQueryClient();
  const turns = useQueue(session.id).data?.items ?? [];
  const [editing, setEditing] = useState<string | null>(null);
  const busy = isWorking(session.state);
  useEffect(() => {
    if (!busy) return;
    // What others queue is no event of the log, so it is looked up now and then.
    const timer = setInterval(() => !document.hidden && void client.invalidateQueries({ queryKey: keys.queue(session.id) }), lookEvery);
    return () => clearInterval(timer);
  }, [client, session.id, busy]);
  if (turns.length === 0) return null;
  const act = async (title: string, action: () => Promise<unknown>) => {
    await attempt(title, action);
    await client.invalidateQueries({ queryKey: keys.queue(session.id) });
  };
  return (
    <ol className="queue" aria-label="Queued messages">
      {turns.map((t, i) => (
        <li key={t.id}>
          <span className="faint">{i === 0 ? "Next:" : "Then:"}</span>
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
          {i > 0 && <Button look="quiet" tiny label="Move up" onClick={() => act("The message was not moved", () => moveQueued(session.id, t.id, turns[i - 1]!.id))}><ArrowUp size={13} /></Button>}
          <Button look="quiet" tiny label="Edit" onClick={() => setEditing(t.id)}><Pencil size={13} /></Button>
          <Button look="quiet" tiny label="Drop" onClick={() => act("The message was not dropped", () => dropQueued(session.id, t.id))}><Trash2 size={13} /></Button>
        </li>
      ))}
    </ol>
  );
}
