// Lines of the list of sessions.

import { ChevronRight, MoreHorizontal } from "lucide-react";
import { type KeyboardEvent, memo, type MouseEvent } from "react";
import { useNames } from "../api/names";
import type { Session } from "../api/types";
import { ago, dollars } from "../lib/format";
import { sessionPath } from "../lib/router";
import { safeName } from "../lib/safe";
import { useView } from "../lib/state";
import { modelName } from "../lib/words";
import { dotOf, isWorking } from "../model/lists";
import { tickOff, useEnded } from "../stream/ended";
import { useMissed } from "../stream/missed";
import { Button } from "../ui/Button";
import { Link } from "../ui/Link";
import { LateMenu, Menu } from "../ui/Menu";
import { archive, foldedFirst, keep, useKept } from "./kept";
import { listed, pick, usePicked } from "./picked";

const stateWords = { needs: "needs you", busy: "working", failed: "failed", done: "finished", idle: "idle" };

interface HeadProps { /** Under this it is folded. */ fold: string; name: string; tip: string; sessions: Session[]; open: boolean }

/** The head of a group, which folds its sessions, with what can be done to all of them. */
export const GroupHead = memo(function GroupHead({ fold, name, tip, sessions, open }: HeadProps) {
  const title = safeName(name);
  const resting = sessions.filter((s) => !isWorking(s.state) && s.open_requests === 0).map((s) => s.id);
  const working = sessions.filter((s) => isWorking(s.state)).length;
  const flip = () => keep("folded", foldedFirst(fold) ? !open : open, fold);
  return (
    <h2 title={safeName(tip)} className="folder">
      <button type="button" className="fold" aria-expanded={open} onClick={flip}>
        <ChevronRight size={12} aria-hidden="true" /><span className="cut">{title}</span>
        {!open && <span className="faint">{sessions.length}</span>}
        {!open && working > 0 && <span className="dot busy"><span className="visually-hidden">{working} working</span></span>}
      </button>
      <Menu
        trigger={<Button look="quiet" tiny label={`All sessions in ${title}`} className="on-row"><MoreHorizontal size={14} /></Button>}
        entries={[
          { label: "Mark all seen", onSelect: () => tickOff(...sessions.map((s) => s.id)) },
          fold === archive ? { label: "Take all out of the archive", onSelect: () => keep("archived", false, ...sessions.map((s) => s.id)) }
            : { label: `Archive all that rest (${resting.length})`, disabled: resting.length === 0, onSelect: () => keep("archived", true, ...resting) },
        ]}
      />
    </h2>
  );
});

/** A session in the list. Drawn again only when it or the time changes, since there may be hundreds. */
export const Entry = memo(function Entry({ session: s, chosen, now }: { session: Session; chosen: boolean; now: number }) {
  const { nameOf } = useNames();
  const missed = useMissed((m) => s.id in m.sessions);
  const ended = useEnded((e) => e.sessions[s.id]);
  const pinned = useKept((k) => k.pinned.includes(s.id));
  const archived = useKept((k) => k.archived.includes(s.id));
  const picked = usePicked((p) => p.ids.includes(s.id));
  const labels = useKept((k) => (k.labels[s.id] ?? []).join("\n")); // the server's arrays are new each time
  const select = (range: boolean) => pick(s.id, range, listed.sessions);
  const onClick = (e: MouseEvent) => {
    if (!e.shiftKey && !e.ctrlKey && !e.metaKey) return useView.setState({ phone: "chat" });
    e.preventDefault();
    select(e.shiftKey);
  };
  const onKeyDown = (e: KeyboardEvent) => {
    if (e.key !== "x" || e.altKey || e.ctrlKey || e.metaKey) return;
    e.preventDefault();
    select(false);
  };
  const state = missed ? "needs" : dotOf(s);
  const dot = ended && state === "idle" ? (ended.failed ? "failed" : "done") : state;
  return (
    <>
      <Link to={sessionPath(s.id)} className={`session${ended ? " unread" : ""}${picked ? " picked" : ""}`} aria-current={chosen ? "page" : undefined} data-session={s.id} onClick={onClick} onKeyDown={onKeyDown}>
        <span className={`dot ${dot}`}><span className="visually-hidden">{picked ? "selected, " : ""}{stateWords[dot]}</span></span>
        <span className="cut">{safeName(s.title) || "New session"}</span>
        {missed ? <span className="missed" title="A request timed out before you answered">missed</span> : <span className="faint small">{ago(s.updated_at, now)}</span>}
        <span className="under cut">{labels && labels.split("\n").map((l) => <span key={l} className="tag">{safeName(l)}</span>)}{nameOf(s)}{s.model && s.agent !== "native" ? ` · ${modelName(s.model)}` : ""}{s.cost_usd > 0 ? ` · ${dollars(s.cost_usd)}` : ""}</span>
      </Link>
      <LateMenu
        trigger={<Button look="quiet" tiny label={`Actions for ${safeName(s.title) || "New session"}`} className="on-row"><MoreHorizontal size={14} /></Button>}
        entries={[
          { label: pinned ? "Unpin" : "Pin", onSelect: () => keep("pinned", !pinned, s.id) },
          { label: archived ? "Take out of the archive" : "Archive", onSelect: () => keep("archived", !archived, s.id) },
          { label: "Labels…", onSelect: () => usePicked.setState({ labelling: [s.id] }) },
          { label: picked ? "Do not select" : "Select", keys: "x", onSelect: () => select(false) },
          !!ended && { label: "Mark as seen", onSelect: () => tickOff(s.id) },
        ]}
      />
    </>
  );
});
