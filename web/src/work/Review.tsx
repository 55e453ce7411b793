import { useQueryClient } from "@tanstack/react-query";
import { MessageSquarePlus } from "lucide-react";
import { lazy, useEffect, useMemo, useState } from "react";
import { keys } from "../api/keys";
import { useNames } from "../api/names";
import { useSessions } from "../api/queries";
import type { Finding, ReviewReport, Session } from "../api/types";
import type { DiffNote } from "../conversation/Diff";
import { baseName, dollars, plural, sentence } from "../lib/format";
import { go, sessionPath } from "../lib/router";
import { safeName, safeText } from "../lib/safe";
import { getDraft, setDraft, useSettings, useView } from "../lib/state";
import { attempt } from "../lib/toast";
import { Button } from "../ui/Button";
import { Lazy } from "../ui/Lazy";
import { resumeReview, useReview } from "./api";
import { promptOf, worst } from "./findings";
import { Pending, SessionLink, State, Title } from "./parts";
import { templates, Verdict } from "./Reviews";

const Diff = lazy(() => import("../conversation/Diff"));

const fresh = ""; // instead of a session: a new one

/** One report: verdict, findings on the diff. */
export function ReviewPage({ id }: { id: string }) {
  const client = useQueryClient();
  const { data: r, error, isPending } = useReview(id);
  const findings = useMemo(() => [...(r?.findings ?? [])].sort(worst), [r]);
  const sessions = useTargets(r);
  const [chosen, setChosen] = useState<string | null>(null);
  const target = chosen ?? sessions[0]?.id ?? fresh;
  const [at, setAt] = useState(-1);
  const handOn = (f: Finding) => {
    if (!r) return;
    const key = target || "home";
    setDraft(key, [getDraft(key).trim(), promptOf(f, r.diff ?? "")].filter(Boolean).join("\n\n"));
    if (!target) useSettings.setState({ lastFolder: r.cwd });
    useView.setState({ phone: "chat" });
    go(target ? sessionPath(target) : "/");
  };
  useFindingKeys(findings.length, at, setAt, () => findings[Math.max(0, at)] && handOn(findings[Math.max(0, at)]!));
  const card = (f: Finding) => {
    const i = findings.indexOf(f);
    return <FindingCard key={i} finding={f} at={i} chosen={i === at} several={(r?.agents.length ?? 0) > 1} onFix={() => handOn(f)} onChoose={() => setAt(i)} />;
  };
  const onDiff = findings.filter((f) => f.verified && f.file);
  const notes: DiffNote[] = onDiff.map((f) => ({ path: f.file!, line: f.line ?? 0, node: card(f) }));
  const loose = findings.filter((f) => !onDiff.includes(f));
  if (!r) return <Pending error={error} isPending={isPending} />;
  const resume = async () => {
    await attempt("The review did not continue", () => resumeReview(id));
    await client.invalidateQueries({ queryKey: keys.work });
  };
  return (
    <>
      <Title page="reviews" list="Reviews" name={`${templates[r.template]?.name ?? r.template} review of ${baseName(r.cwd)}`}>
        <Verdict of={r.verdict} />{r.state !== "completed" && <State state={r.state} />}
      </Title>
      <Reviewers report={r} />
      {r.state === "interrupted" && (
        <div className="notice boxed" role="status">
          <strong>Nobody works on this review</strong>
          <span>It was interrupted. Agents that had answered are not asked again.</span>
          <span><Button tiny look="primary" onClick={resume}>Resume</Button></span>
        </div>
      )}
      {r.summary && <p className="pre">{safeText(r.summary)}</p>}
      {r.left && r.left.length > 0 && <p className="small dim">Too large to be reviewed: {r.left.map(safeName).join(", ")}</p>}
      {r.state === "completed" && (
        <div className="row wrap review-tools">
          <span className="grow small dim">{findings.length === 0 ? "Nothing was found." : <>{plural(findings.length, "finding")} <span className="desktop-only">· <kbd className="key">j</kbd> <kbd className="key">k</kbd> move · <kbd className="key">f</kbd> have it fixed</span></>}</span>
          {findings.length > 0 && (
            <label className="row small dim">Fix in
              <select className="pick" value={target} onChange={(e) => setChosen(e.target.value)}>
                {sessions.map((s) => <option key={s.id} value={s.id}>{safeName(s.title) || "New session"}</option>)}
                <option value={fresh}>A new session</option>
              </select>
            </label>
          )}
        </div>
      )}
      {loose.length > 0 && <section aria-label="Not on the diff" className="column"><h2>Not on the diff</h2>{loose.map(card)}</section>}
      {r.diff && <section aria-label="The change" className="column review-change"><h2>The change</h2><Lazy lines={8}><Diff text={r.diff} cwd={r.cwd} notes={notes} /></Lazy></section>}
    </>
  );
}

/** The sessions that could fix something: those in the same folder, the newest first, and not the reviewers'. */
function useTargets(r: ReviewReport | undefined): Session[] {
  const sessions = useSessions().data?.items;
  return useMemo(() => (sessions ?? []).filter((s) => s.cwd === r?.cwd && !r.agents.some((a) => a.session === s.id)).slice(0, 20), [sessions, r]);
}

/** Keys of the page: they go before those of the shell. */
function useFindingKeys(count: number, at: number, onMove: (at: number) => void, onFix: () => void): void {
  useEffect(() => {
    const onKey = (e: KeyboardEvent) => {
      const el = e.target instanceof HTMLElement ? e.target : null;
      if (count === 0 || e.ctrlKey || e.metaKey || e.altKey || el?.closest("input, textarea, select") || document.querySelector("[role=dialog], [role=menu]")) return;
      const next = e.key === "j" ? Math.min(count - 1, at + 1) : e.key === "k" ? Math.max(0, at - 1) : -1;
      if (next < 0 && e.key !== "f") return;
      e.preventDefault();
      if (e.key === "f") return onFix();
      onMove(next);
      document.getElementById(`finding-${next}`)?.scrollIntoView({ block: "center" });
    };
    window.addEventListener("keydown", onKey, true);
    return () => window.removeEventListener("keydown", onKey, true);
  }, [count, at, onMove, onFix]);
}

function Reviewers({ report: r }: { report: ReviewReport }) {
  const { agentName } = useNames();
  return (
    <ul className="plain reviewers" aria-label="Reviewers">
      {r.agents.map((a, i) => (
        <li key={i} className="row wrap small">
          <strong>{safeName(agentName(a.agent))}</strong>
          {a.error ? <span className="tool-error">{safeText(a.error)}</span> : a.verdict ? <Verdict of={a.verdict} /> : <State state={r.state === "running" ? "running" : "interrupted"} name={r.state === "running" ? "Reading" : "No answer"} />}
          {(a.repairs ?? 0) > 0 && <span className="dim">had to answer {plural(a.repairs! + 1, "time")}</span>}
          {a.cost_usd > 0 && <span className="dim">{dollars(a.cost_usd)}</span>}
          <SessionLink session={a.session} live={r.state === "running"} />
        </li>
      ))}
    </ul>
  );
}

function FindingCard({ finding: f, at, chosen, several, onFix, onChoose }: { finding: Finding; at: number; chosen: boolean; several: boolean; onFix: () => void; onChoose: () => void }) {
  const { agentName } = useNames();
  const place = f.file ? `${f.file}${f.line ? `:${f.line}` : ""}` : "";
  return (
    <article id={`finding-${at}`} className={`finding ${f.severity}${chosen ? " chosen" : ""}`} onClick={onChoose} aria-label={`${sentence(f.severity)}: ${safeName(f.message.split("\n", 1)[0]!)}`}>
      <div className="row wrap small">
        <span className={`severity ${f.severity}`}>{sentence(f.severity)}</span>
        <span className="dim">{safeName(f.category)}</span>
        {!f.verified && place && <span className="mono cut">{safeName(place)}</span>}
        {!f.verified && <span className="tag" title="The diff does not show this line">unverified</span>}
        <span className="grow" />
        {several && f.found_by && <span className="dim">{f.found_by.map((a) => agentName(a)).join(", ")}</span>}
      </div>
      <p className="pre">{safeText(f.message)}</p>
      {f.suggestion && <p className="pre dim">{safeText(f.suggestion)}</p>}
      <span><Button tiny onClick={onFix}><MessageSquarePlus size={13} /> Have it fixed <kbd className="desktop-only">f</kbd></Button></span>
    </article>
  );
}
