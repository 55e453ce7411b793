// Lines of the list of sessions.

import { ChevronRight, MoreHorizontal } from "lucide-react";
import { memo } from "react";
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
import { keep, useKept } from "./kept";

const stateWords = { needs: "needs you", busy: "working", failed: "failed", done: "finished", idle: "idle" };

export const archive = "archived"; // it is folded until it is asked for

/** The head of a project, which folds its sessions, with what can be done to all of them. */
export const FolderHead = memo(function FolderHead({ cwd, name, sessions, open }: { cwd: string; name: string; sessions: Session[]; open: boolean }) {
  const title = safeName(name);
  const resting = sessions.filter((s) => !isWorking(s.state) && s.open_requests === 0).map((s) => s.id);
  const working = sessions.filter((s) => isWorking(s.state)).length;
  const flip = () => keep("folded", cwd === archive ? !open : open, cwd);
  return (
    <h2 title={safeName(cwd)} className="folder">
      <button type="button" className="fold" aria-expanded={open} onClick={flip}>
        <ChevronRight size={12} aria-hidden="true" /><span className="cut">{title}</span>
        {!open && <span className="faint">{sessions.length}</span>}
        {!open && working > 0 && <span className="dot busy"><span className="visually-hidden">{working} working</span></span>}
      </button>
      <Menu
        trigger={<Button look="quiet" tiny label={`All sessions in ${title}`} className="on-row"><MoreHorizontal size={14} /></Button>}
        entries={[
          { label: "Mark all seen", onSelect: () => tickOff(...sessions.map((s) => s.id)) },
          cwd === archive ? { label: "Take all out of the archive", onSelect: () => keep("archived", false, ...sessions.map((s) => s.id)) }
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
  const state = missed ? "needs" : dotOf(s);
  const dot = ended && state === "idle" ? (ended.failed ? "failed" : "done") : state;
  return (
    <>
      <Link to={sessionPath(s.id)} className={`session${ended ? " unread" : ""}`} aria-current={chosen ? "page" : undefined} data-session={s.id} onClick={() => useView.setState({ phone: "chat" })}>
        <span className={`dot ${dot}`}><span className="visually-hidden">{stateWords[dot]}</span></span>
        <span className="cut">{safeName(s.title) || "New session"}</span>
        {missed ? <span className="missed" title="A request timed out before you answered">missed</span> : <span className="faint small">{ago(s.updated_at, now)}</span>}
        <span className="under cut">{nameOf(s)}{s.model && s.agent !== "native" ? ` · ${modelName(s.model)}` : ""}{s.cost_usd > 0 ? ` · ${dollars(s.cost_usd)}` : ""}</span>
      </Link>
      <LateMenu
        trigger={<Button look="quiet" tiny label={`Actions for ${safeName(s.title) || "New session"}`} className="on-row"><MoreHorizontal size={14} /></Button>}
        entries={[
          { label: pinned ? "Unpin" : "Pin", onSelect: () => keep("pinned", !pinned, s.id) },
          { label: archived ? "Take out of the archive" : "Archive", onSelect: () => keep("archived", !archived, s.id) },
          !!ended && { label: "Mark as seen", onSelect: () => tickOff(s.id) },
        ]}
      />
    </>
  );
});
