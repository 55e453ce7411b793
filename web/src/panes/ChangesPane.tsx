import { useQueryClient } from "@tanstack/react-query";
import { Maximize2, Redo2, Undo2 } from "lucide-react";
import { useMemo } from "react";
import { keys } from "../api/keys";
import { useCan, useChanges } from "../api/queries";
import type { Changes } from "../api/types";
import { useShown } from "../conversation/context";
import { clock, plural } from "../lib/format";
import { useView } from "../lib/state";
import { root } from "../model/types";
import { useSessionActions } from "../shell/sessionActions";
import { Button } from "../ui/Button";
import { Skeleton } from "../ui/Lazy";
import { BranchBox } from "./BranchBox";
import { ChangeList } from "./ChangeList";
import { CommitBox } from "./CommitBox";

/** The turns that changed files, and the one that is chosen; empty means all. */
export function useTurns() {
  const { conversation } = useShown();
  const turns = useMemo(
    () => (conversation.threads.get(root) ?? []).filter((i) => i.type === "user" && conversation.changed.has(i.turn)),
    [conversation.threads, conversation.changed],
  );
  const wanted = useView((s) => s.changesOf);
  return { turns, turn: turns.some((t) => t.turn === wanted) ? wanted : "" };
}

export const useChosenChanges = () => useChanges(useShown().session.id, useTurns().turn);

/** Chooses between everything and one turn. */
export function Which() {
  const { turns, turn } = useTurns();
  const whole = useQueryClient().getQueryData<Changes>([...keys.changes(useShown().session.id), ""]);
  return (
    <select className="input which" aria-label="Which changes" value={turn} onChange={(e) => useView.setState({ changesOf: e.target.value })}>
      <option value="">{whole?.since === "start" ? "Since the session began" : "Since the last commit"}</option>
      {turns.map((t) => t.type === "user" && (
        <option key={t.turn} value={t.turn}>{clock(t.time)} {t.blocks.map((b) => b.text ?? "").join(" ").slice(0, 50)}</option>
      ))}
    </select>
  );
}

/** What changed in the folder: whole, or in one turn; with undo and redo. */
export function ChangesPane() {
  const { session } = useShown();
  const actions = useSessionActions(session);
  const can = useCan(session.agent);
  const { data, error, isPending } = useChosenChanges();
  const { turn } = useTurns();
  return (
    <div className="changes">
      <div className="row wrap changes-head">
        <Which />
        {can("undo") && <Button look="quiet" disabled={!session.revert?.can_undo} onClick={actions.undo} title="Undo the last turn (Alt-U)"><Undo2 size={14} /> Undo</Button>}
        {can("redo") && <Button look="quiet" disabled={!session.revert?.can_redo} onClick={actions.redo}><Redo2 size={14} /> Redo</Button>}
        <Button look="quiet" label="Review in the whole window (Alt-C)" onClick={() => useView.setState({ review: true, phone: "chat" })}><Maximize2 size={14} /></Button>
      </div>
      {isPending && <Skeleton lines={5} />}
      {error && <div className="empty" role="alert">{error.message}</div>}
      {data && data.items.length === 0 && (
        <div className="empty"><strong>{data.since === "head" ? "No uncommitted changes" : "Nothing changed yet"}</strong><span>When the agent edits files, the differences are shown here, and Undo takes them back.</span></div>
      )}
      {data && data.items.length > 0 && (
        <>
          <p className="small dim">
            {plural(data.items.length, "file")} <span className="added">+{data.insertions}</span> <span className="removed">−{data.deletions}</span>{" "}
            {{ head: "since the last commit", start: "since the session began", turn: "in this turn" }[data.since]}
          </p>
          <ChangeList items={data.items} turn={turn} folded={data.items.length > 12} />
          {data.since === "head" && <CommitBox items={data.items} />}
          {data.items.some((c) => c.by) && <p className="small dim">Another session worked here during this turn and may have changed {plural(data.items.filter((c) => c.by).length, "file")} of these, marked “another session”. Undo leaves them.</p>}
          {data.truncated && <p className="small faint">More has changed than is shown.</p>}
        </>
      )}
      {turn === "" && <BranchBox />}
    </div>
  );
}
