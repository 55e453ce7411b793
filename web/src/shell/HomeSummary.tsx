import { useRequests, useUsage } from "../api/queries";
import type { Session } from "../api/types";
import { dollars } from "../lib/format";
import { isWorking } from "../model/lists";
import { focusFirstRequest } from "../requests/useFocus";
import { useEnded } from "../stream/ended";
import { Link } from "../ui/Link";

const show = (section: string) => document.querySelector(`main section[aria-label="${section}"]`)?.scrollIntoView();

/** The line on top of Home: what there is of everything below, and what today has cost. */
export function Summary({ sessions }: { sessions: readonly Session[] }) {
  const needs = useRequests().data?.items.length ?? 0;
  const ended = useEnded((e) => e.sessions);
  const today = new Date().toISOString().slice(0, 10);
  const cost = useUsage("day").data?.items.find((r) => r.key.startsWith(today))?.cost_usd ?? 0;
  const counts = [
    { count: needs, words: needs === 1 ? "needs you" : "need you", dot: "needs", go: focusFirstRequest },
    { count: sessions.filter((s) => isWorking(s.state) && s.open_requests === 0).length, words: "working", dot: "busy", go: () => show("Working") },
    { count: sessions.filter((s) => s.id in ended).length, words: "done", dot: "done", go: () => show("Done since you last looked") },
  ].filter((c) => c.count > 0);
  return (
    <div className="home-sum small" role="group" aria-label="At a glance">
      {counts.map((c) => (
        <button key={c.words} type="button" className="home-sum-part" onClick={c.go}><span className={`dot ${c.dot}`} aria-hidden="true" />{c.count} {c.words}</button>
      ))}
      {cost > 0 && <Link to="/usage" className="home-money">{dollars(cost)} today</Link>}
    </div>
  );
}
