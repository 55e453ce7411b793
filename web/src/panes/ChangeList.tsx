import { useQueryClient } from "@tanstack/react-query";
import { Check, ChevronRight, Undo2 } from "lucide-react";
import { lazy, useMemo, useState } from "react";
import * as api from "../api/actions";
import { keys } from "../api/keys";
import type { Changes } from "../api/types";
import type { ReviewProps } from "../conversation/Diff";
import { useShown } from "../conversation/context";
import { plural } from "../lib/format";
import { safeName } from "../lib/safe";
import { attempt, say } from "../lib/toast";
import { isWorking } from "../model/lists";
import { Button } from "../ui/Button";
import { Lazy } from "../ui/Lazy";
import { mark, markOf, useMarks } from "./reviewed";

const Diff = lazy(() => import("../conversation/Diff"));

export type Change = Changes["items"][number];

/** Which of the changes somebody looked at and keeps. */
export function useSplit(items: readonly Change[]): { open: Change[]; kept: Change[] } {
  const { session } = useShown();
  const marks = useMarks();
  return useMemo(() => {
    const all = new Set(marks);
    const isKept = (c: Change) => all.has(markOf(session.id, c.path, c.state));
    return { open: items.filter((c) => !isKept(c)), kept: items.filter(isKept) };
  }, [items, marks, session.id]);
}

function useTakeBack(turn: string) {
  const { session } = useShown();
  const client = useQueryClient();
  return async (c: Change, hunk?: number) => {
    const refresh = () => client.invalidateQueries({ queryKey: keys.changes(session.id) });
    const done = await attempt("It was not reverted", () =>
      api.takeBack(session.id, { path: c.path, state: c.state, ...(turn ? { turn } : {}), ...(hunk === undefined ? {} : { hunks: [hunk] }) }));
    await refresh();
    if (!done) return;
    const what = hunk === undefined ? safeName(c.path) : `a part of ${safeName(c.path)}`;
    const copy = done.copy;
    if (!copy) return say(`${safeName(c.path)} was that way already`);
    say(`Reverted ${what}`, undefined, {
      label: "Undo",
      run: () => attempt("It could not be brought back", async () => {
        await api.restoreCopy(session.id, copy);
        await refresh();
        say(`Brought back ${what}`);
      }),
    });
  };
}

interface Props {
  items: readonly Change[];
  turn: string;
  /** Begins with every file folded. */
  folded?: boolean;
  /** What the review in the whole window adds. */
  review?: (c: Change) => ReviewProps;
}

/** Diffs, file by file, to keep or take back; those that are kept come last, folded. */
export function ChangeList({ items, turn, folded = false, review }: Props) {
  const { open, kept } = useSplit(items);
  const [shown, setShown] = useState(false);
  return (
    <Lazy lines={6}>
      {open.length === 0 && <p className="small dim">You have looked at everything.</p>}
      {open.map((c) => <OneChange key={`${c.path} ${turn}`} c={c} turn={turn} kept={false} folded={folded} review={review} />)}
      {kept.length > 0 && (
        <button type="button" className="fold kept-head" aria-expanded={shown} onClick={() => setShown(!shown)}>
          <ChevronRight size={14} /> Kept <span className="faint">{plural(kept.length, "file")}</span>
        </button>
      )}
      {shown && kept.map((c) => <OneChange key={`${c.path} ${turn}`} c={c} turn={turn} kept folded review={review} />)}
    </Lazy>
  );
}

function OneChange({ c, turn, kept, folded, review }: { c: Change; turn: string; kept: boolean; folded: boolean; review: Props["review"] }) {
  const { session } = useShown();
  const takeBack = useTakeBack(turn);
  const marks = useMarks();
  const name = safeName(c.path);
  const busy = isWorking(session.state);
  const whole = markOf(session.id, c.path, c.state);
  const head = (
    <>
      {c.by && <span className="tag" title="Another session worked here during this turn. Undo leaves this file">another session</span>}
      <Button tiny look="quiet" aria-pressed={kept} aria-label={`Keep ${name}`} title={kept ? "Look at it again" : "It is fine: put it away until it changes again"} onClick={() => mark(!kept, whole)}>
        <Check size={13} /> {kept ? "Kept" : "Keep"}
      </Button>
      <Button tiny look="quiet" aria-label={`Revert ${name}`} disabled={busy} title={busy ? "Stop the turn first" : "Put the file back as it was"} onClick={() => takeBack(c)}>
        <Undo2 size={13} /> Revert
      </Button>
    </>
  );
  return (
    <div id={review && `review-${c.path}`}>
      {c.diff ? (
        <Diff text={c.diff} cwd={session.cwd} folded={folded} head={head} {...(review ? { review: review(c) } : {})} hunks={{
          busy,
          kept: (hunk) => marks.includes(markOf(session.id, c.path, hunk)),
          keep: (wanted, hunk, last) => mark(wanted, markOf(session.id, c.path, hunk), ...(wanted && last ? [whole] : [])),
          takeBack: (index) => takeBack(c, index),
        }} />
      ) : (
        <div className="row wrap diff-file diff-head bare-change">
          <span className={`mark ${c.change}`}>{c.change}</span> <span className="mono cut grow">{name}</span>{" "}
          <span className="faint">{c.too_large ? "too large to show" : c.binary ? "binary" : c.old_mode ? `${c.old_mode} → ${c.new_mode}` : ""}</span>
          {head}
        </div>
      )}
    </div>
  );
}
