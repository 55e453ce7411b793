// Who works now, by folder or team. What is folded is not drawn.

import { useEffect, useMemo, useState } from "react";
import { useNames } from "../api/names";
import type { Session } from "../api/types";
import { baseName, dollars, plural, stopwatch } from "../lib/format";
import { useNow } from "../lib/now";
import { sessionPath } from "../lib/router";
import { safeName, safeText } from "../lib/safe";
import { useSettings } from "../lib/state";
import { wordsOf } from "../model/act";
import { groupByFolder, isWorking } from "../model/lists";
import { lookUpAct, useActs } from "../stream/acts";
import { Link } from "../ui/Link";
import { useMembers } from "../work/api";
import { Fresh, useStable } from "./stable";

const byId = (s: Session) => s.id;
const foldFrom = 12; // sessions beyond which groups begin folded

interface Group { key: string; name: string; sessions: Session[] }

/** The groups of those that work, each in the order of its first session. */
function useGroups(list: readonly Session[]): Group[] {
  const by = useSettings((s) => s.workBy);
  const members = useMembers().data?.items ?? [];
  return useMemo(() => {
    if (by === "none") return [{ key: "", name: "", sessions: [...list] }];
    if (by === "folder") return groupByFolder(list).map((g) => ({ key: g.cwd, name: baseName(g.cwd), sessions: g.sessions }));
    const team = new Set(members.map((m) => m.session));
    const [inTeam, alone] = [list.filter((s) => team.has(s.id)), list.filter((s) => !team.has(s.id))];
    return [{ key: "team", name: "Team", sessions: inTeam }, { key: "alone", name: "On their own", sessions: alone }].filter((g) => g.sessions.length > 0);
  }, [by, list, members]);
}

export function Working({ sessions, held }: { sessions: readonly Session[]; held: boolean }) {
  // The oldest first: a line keeps its place while its agent works.
  const working = useMemo(() => sessions.filter((s) => isWorking(s.state) && s.open_requests === 0).sort((a, b) => (a.created_at < b.created_at ? -1 : 1)), [sessions]);
  const { lines, fresh } = useStable(working, byId, held);
  const now = useNow(working.length > 0);
  const groups = useGroups(lines.map((l) => l.item));
  const by = useSettings((s) => s.workBy);
  const gone = new Set(lines.filter((l) => l.gone).map((l) => l.item.id));
  if (lines.length === 0) return null;
  return (
    <section aria-label="Working">
      <div className="home-head">
        <h2>Working <span className="faint">{working.length}</span></h2><Fresh count={fresh} />
        <select className="pick small" aria-label="Group those that work" value={by} onChange={(e) => useSettings.setState({ workBy: e.target.value as typeof by })}>
          <option value="folder">By folder</option>
          <option value="team">By team</option>
          <option value="none">One list</option>
        </select>
      </div>
      {groups.map((g) => <Fold key={g.key} group={g} alone={groups.length === 1 && lines.length <= foldFrom} folded={lines.length > foldFrom && groups.length > 1} now={now} gone={gone} />)}
    </section>
  );
}

/** A group, which folds unless it is the only one. */
function Fold({ group: g, alone, folded, now, gone }: { group: Group; alone: boolean; folded: boolean; now: number; gone: ReadonlySet<string> }) {
  const [open, setOpen] = useState<boolean | undefined>();
  const shown = open ?? !folded;
  const rows = <ul className="plain">{g.sessions.map((s) => <WorkingRow key={s.id} session={s} now={now} gone={gone.has(s.id)} />)}</ul>;
  if (alone || !g.name) return rows;
  const cost = g.sessions.reduce((sum, s) => sum + s.cost_usd, 0);
  return (
    <details className="home-fold" open={shown}>
      <summary className="small dim" onClick={(e) => { e.preventDefault(); setOpen(!shown); }}><span>{safeName(g.name)}</span> <span className="faint">{plural(g.sessions.length, "session")}{cost > 0 ? ` · ${dollars(cost)}` : ""}</span></summary>
      {shown && rows}
    </details>
  );
}

function WorkingRow({ session: s, now, gone }: { session: Session; now: number; gone: boolean }) {
  const { nameOf } = useNames();
  const act = useActs((a) => a.sessions[s.id]);
  useEffect(() => {
    if (!act && !gone) void lookUpAct(s.id, s.last_seq);
  }, [act, gone, s.id]);
  return (
    <li className={`home-row${gone ? " gone" : ""}`}>
      <Link to={sessionPath(s.id)} className="home-link">
        <span className={`dot ${gone ? "" : "busy"}`} aria-hidden="true" />
        <strong className="cut home-title">{safeName(s.title) || "New session"}</strong>
        <span className="dim home-who">{nameOf(s)}</span>
        <span className="cut grow dim">{gone ? "ended" : act ? safeText(wordsOf(act)) : "working"}</span>
        <span className="faint number">{act?.since && !gone ? stopwatch(now - Date.parse(act.since)) : ""}</span>
        <span className="faint number">{s.cost_usd > 0 ? dollars(s.cost_usd) : ""}</span>
      </Link>
    </li>
  );
}
