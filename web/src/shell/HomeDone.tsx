// What ended since a person last looked: how, what it changed, and what to do about it.

import { useQueryClient } from "@tanstack/react-query";
import { Check } from "lucide-react";
import { useMemo, useState } from "react";
import { useNames } from "../api/names";
import { useCan, useTurnCounts } from "../api/queries";
import type { Session } from "../api/types";
import { ago, plural, sentence } from "../lib/format";
import { go, sessionPath } from "../lib/router";
import { safeName, safeProse } from "../lib/safe";
import { useView } from "../lib/state";
import { type Ended, tickOff, useEnded } from "../stream/ended";
import { Button } from "../ui/Button";
import { Link } from "../ui/Link";
import { retry, rewind, useSessionActions } from "./sessionActions";
import { Fresh, useStable } from "./stable";

const byEntry = ([id]: [string, Ended]) => id;
const shownAtOnce = 20;

export function Done({ sessions, held }: { sessions: readonly Session[]; held: boolean }) {
  const ended = useEnded((e) => e.sessions);
  const there = useMemo(() => new Map(sessions.map((s) => [s.id, s])), [sessions]);
  const list = useMemo(() => Object.entries(ended).filter(([id]) => there.has(id)).sort(([, a], [, b]) => (a.at < b.at ? 1 : -1)), [ended, there]);
  const [all, setAll] = useState(false);
  const { lines, fresh } = useStable(list, byEntry, held);
  if (lines.length === 0) return null;
  const failed = list.filter(([, e]) => e.failed);
  return (
    <section aria-label="Done since you last looked">
      <div className="home-head">
        <h2>Done since you last looked <span className="faint">{list.length}</span></h2><Fresh count={fresh} />
        {failed.length > 1 && <Button tiny look="quiet" onClick={() => void Promise.all(failed.map(([id, e]) => retry(id, e.turn ?? "")))}>Retry all {failed.length}</Button>}
        <Button tiny look="quiet" onClick={() => tickOff(...list.map(([id]) => id))}>Mark all seen</Button>
      </div>
      <ul className="plain">
        {(all ? lines : lines.slice(0, shownAtOnce)).map(({ item: [id, e], gone }) => {
          const s = there.get(id);
          return s && <DoneRow key={id} session={s} ended={e} gone={gone} />;
        })}
      </ul>
      {!all && lines.length > shownAtOnce && <button type="button" className="link small" onClick={() => setAll(true)}>Show {lines.length - shownAtOnce} more</button>}
    </section>
  );
}

/** The first line with words in it, without marks of Markdown. */
const firstLine = (text: string) => (text.split("\n").find((line) => /[\p{L}\p{N}]/u.test(line) && !line.startsWith("```")) ?? "").replace(/^\s*(?:#+|[-*>])\s+/, "").replace(/[`*]/g, "");

function DoneRow({ session: s, ended: e, gone }: { session: Session; ended: Ended; gone: boolean }) {
  const { nameOf } = useNames();
  const client = useQueryClient();
  const actions = useSessionActions(s);
  const can = useCan(s.agent);
  const counts = useTurnCounts(s.id, e.turn ?? "", !gone && !!s.revert);
  const files = counts?.items.length ?? 0;
  const title = safeName(s.title) || "New session";
  const review = () => {
    useView.setState({ reviewNext: s.id, changesOf: e.turn ?? "", phone: "chat" });
    go(sessionPath(s.id));
  };
  // A row that is done with must not hold the list by its focus.
  const seen = () => {
    (document.activeElement as HTMLElement | null)?.blur();
    tickOff(s.id);
  };
  const undo = async () => {
    await rewind(client, s.id, "undo");
    seen();
  };
  return (
    <li className={`home-row home-done${gone ? " gone" : ""}`} inert={gone}>
      <Link to={sessionPath(s.id)} className="home-link">
        <span className={`dot ${e.failed ? "failed" : "done"}`}><span className="visually-hidden">{e.failed ? "failed" : "finished"}</span></span>
        <strong className="cut home-title">{title}</strong>
        <span className="dim home-who">{nameOf(s)}</span>
        <span className={`cut grow ${e.failed ? "tool-error" : "dim"}`}>{safeProse((e.failed ? sentence(firstLine(e.failed)) : firstLine(e.text)) || "finished")}</span>
        {files > 0 && <span className="counts small home-counts" title={plural(files, "file")}><span className="added">+{counts!.insertions}</span> <span className="removed">−{counts!.deletions}</span> <span className="faint">in {plural(files, "file")}</span></span>}
        <span className="faint number">{ago(e.at)}</span>
      </Link>
      <span className="home-acts">
        {files > 0 && <Button tiny look="quiet" aria-label={`Review ${title}`} onClick={review}>Review</Button>}
        {files > 0 && can("undo") && s.revert?.can_undo && <Button tiny look="quiet" aria-label={`Undo ${title}`} onClick={undo}>Undo</Button>}
        {e.failed && <Button tiny look="quiet" aria-label={`Retry ${title}`} onClick={() => actions.retry(e.turn ?? "")}>Retry</Button>}
        <Button tiny look="quiet" label={`Mark ${title} as seen`} onClick={seen}><Check size={14} /></Button>
      </span>
    </li>
  );
}
