import { Copy, ExternalLink, GitMerge, GitPullRequest, Send, Trash2, Upload } from "lucide-react";
import { useState } from "react";
import * as api from "../api/actions";
import type { Branch, PullRequest } from "../api/types";
import { useShown } from "../conversation/context";
import { plural } from "../lib/format";
import { safeLink, safeName, safeText } from "../lib/safe";
import { getDraft, offerDraft, useSettings, useView } from "../lib/state";
import { attempt, copy, say } from "../lib/toast";
import { isWorking } from "../model/lists";
import { Button } from "../ui/Button";
import { distance, useBranch, useLookAgain, usePullRequest } from "./branch";

/** From the branch to the remote and to a pull request, and back into the base: each says what it will do. */
export function BranchBox() {
  const { session } = useShown();
  const branch = useBranch(session.id);
  const pull = usePullRequest(session.id, branch);
  if (!branch) return null;
  if (branch.problem) return branch.worktree === undefined && /not in a git/.test(branch.problem) ? null : <p className="notice boxed" role="status">{safeText(branch.problem)}</p>;
  const why = stuck(branch);
  return (
    <section className="branch-box column" aria-label="Branch">
      <p className="small dim">
        <strong className="mono">{safeName(branch.branch || "no branch")}</strong>{" "}
        {branch.upstream ? `${distance(branch) || "the same as"} ${safeName(branch.upstream.branch)}` : branch.base ? `${distance(branch) || "the same as"} ${safeName(branch.base.branch)}; not pushed` : ""}
      </p>
      {why ? <p className="notice boxed" role="status">{why}</p> : (
        <>
          <Push branch={branch} />
          {pull ? <Pull pull={pull} /> : <OpenPull branch={branch} />}
        </>
      )}
      <Places branch={branch} />
    </section>
  );
}

/** Why the branch can go nowhere. */
function stuck(b: Branch): string {
  if (!b.head) return "There is no commit yet. Commit something first.";
  if (b.operation) return `A ${b.operation} is in progress. Finish or abort it with git first.`;
  if (!b.branch) return "No branch is checked out here, only a commit. Ask the agent to make a branch.";
  return "";
}

function useAct() {
  const { session } = useShown();
  const look = useLookAgain(session.id);
  const [doing, setDoing] = useState("");
  const act = async (name: string, failed: string, what: () => Promise<string>) => {
    setDoing(name);
    const told = await attempt(failed, what);
    setDoing("");
    await look();
    if (told) say(told);
  };
  return { act, doing, busy: doing !== "" || isWorking(session.state), session };
}

function Push({ branch: b }: { branch: Branch }) {
  const { act, doing, busy, session } = useAct();
  if (!b.remote) return <p className="small dim">There is no remote to push to. <code>git remote add origin ADDRESS</code> adds one.</p>;
  const replaces = !!b.upstream && b.upstream.behind > 0;
  const n = b.upstream ? b.upstream.ahead : undefined;
  const push = () => act("push", "Nothing was pushed", async () => {
    const done = await api.push(session.id, replaces);
    return `Pushed ${done.branch} to ${done.remote}`;
  });
  const hook = b.hooks?.includes("pre-push") ? " The hook pre-push runs." : "";
  return (
    <div className="row wrap">
      <Button look={replaces ? "danger" : undefined} disabled={busy || !b.trusted || n === 0} onClick={push}>
        <Upload size={14} /> {doing ? "Pushing…" : replaces ? `Replace ${safeName(b.upstream?.branch ?? "")}` : n === 0 ? "Pushed" : `Push ${n === undefined ? "" : `${plural(n, "commit")} `}to ${safeName(`${b.remote}/${b.branch}`)}`}
      </Button>
      <span className="small faint">{!b.trusted ? "Trust the folder first: a push runs its hooks." : replaces ? `It has ${plural(b.upstream?.behind ?? 0, "commit")} that are not here, as after a rebase. Refused if somebody else has pushed since.${hook}` : hook}</span>
    </div>
  );
}

function OpenPull({ branch: b }: { branch: Branch }) {
  const { act, doing, busy, session } = useAct();
  const [open, setOpen] = useState(false);
  const [title, setTitle] = useState(b.draft.title);
  const [text, setText] = useState(b.draft.text ?? "");
  const link = safeLink(b.link);
  if (!b.remote || !b.base) return null;
  if (!b.program) {
    return link && b.upstream ? <p className="small"><a href={link} target="_blank" rel="noreferrer noopener">Open a pull request in the browser <ExternalLink size={12} /></a> <span className="faint">With gh, glab or tea on the server it can be done here.</span></p> : null;
  }
  if (!open) {
    return (
      <div className="row wrap">
        <Button disabled={busy || !b.trusted || !b.upstream || b.upstream.ahead > 0 || b.base.ahead === 0} onClick={() => { setTitle(b.draft.title); setText(b.draft.text ?? ""); setOpen(true); }}>
          <GitPullRequest size={14} /> Pull request into {safeName(b.base.branch)}…
        </Button>
        <span className="small faint">{!b.upstream || b.upstream.ahead > 0 ? "Push first." : `Through ${b.program}, as you are signed in on the server.`}</span>
      </div>
    );
  }
  const create = () => act("open", "No pull request was opened", async () => {
    const p = await api.openPullRequest(session.id, { title, text });
    setOpen(false);
    return p.existed ? "There was a pull request already" : `Opened pull request #${p.number ?? ""}`;
  });
  return (
    <form className="column" aria-label="Pull request" onSubmit={(e) => { e.preventDefault(); if (title.trim() && !busy) void create(); }}>
      <input className="input" aria-label="Title" maxLength={250} value={title} onChange={(e) => setTitle(e.target.value)} />
      <textarea className="input" aria-label="Text" rows={8} value={text} onChange={(e) => setText(e.target.value)} />
      <div className="row wrap">
        <span className="grow small faint">Everybody who sees {safeName(b.project ?? "the project")} can read this.</span>
        <Button look="quiet" onClick={() => setOpen(false)}>Cancel</Button>
        <Button type="submit" look="primary" disabled={busy || !title.trim()}>{doing ? "Opening…" : "Open pull request"}</Button>
      </div>
    </form>
  );
}

/** A pull request with what is said of it; each can go to the agent. */
function Pull({ pull: p }: { pull: PullRequest }) {
  const { session } = useShown();
  const link = safeLink(p.url);
  const tell = (text: string) => {
    useView.setState({ review: false, phone: "chat" });
    requestAnimationFrame(() => offerDraft(session.id, [getDraft(session.id).trim(), text].filter(Boolean).join("\n\n")));
  };
  const quote = (text: string) => `> ${safeText(text).replace(/\n/g, "\n> ")}`;
  return (
    <div className="column">
      <p><GitPullRequest size={14} /> {link ? <a href={link} target="_blank" rel="noreferrer noopener">#{p.number} {safeName(p.title ?? "")}</a> : safeName(p.title ?? "")} <span className="tag">{p.draft ? "draft" : p.state}</span> {p.review && <span className="faint small">{safeName(p.review.replaceAll("_", " "))}</span>}</p>
      <ul className="plain remarks">
        {p.checks.map((c) => (
          <li key={`${c.name} ${c.url ?? ""}`} className="row">
            <span className={c.state === "failed" ? "removed" : c.state === "passed" ? "added" : "faint"} title={c.state}>{{ passed: "✓", failed: "✕", pending: "…", skipped: "–" }[c.state]}</span>
            <span className="grow cut">{safeLink(c.url) ? <a href={safeLink(c.url)} target="_blank" rel="noreferrer noopener">{safeName(c.name)}</a> : safeName(c.name)}</span>
            {c.state === "failed" && <Button tiny look="quiet" label={`Send ${safeName(c.name)} to the agent`} onClick={() => tell(`The check "${safeName(c.name)}" of pull request #${p.number} failed (${safeLink(c.url) || "no link"}). Find out why, and fix it.`)}><Send size={13} /></Button>}
          </li>
        ))}
        {p.comments.map((c, i) => (
          <li key={i} className="row">
            <span className="grow"><strong>{safeName(c.author)}</strong> {c.path && <code>{safeName(c.path)}{c.line ? `:${c.line}` : ""}</code>} <span className="remark">{safeText(c.text)}</span></span>
            <Button tiny look="quiet" label={`Send the comment of ${safeName(c.author)} to the agent`} onClick={() => tell(`${safeName(c.author)} commented on pull request #${p.number}${c.path ? `, on ${safeName(c.path)}${c.line ? ` line ${c.line}` : ""}` : ""}:\n\n${quote(c.text)}`)}><Send size={13} /></Button>
          </li>
        ))}
      </ul>
    </div>
  );
}

/** What can be done with the folder itself. */
function Places({ branch: b }: { branch: Branch }) {
  const { act, busy, session } = useAct();
  const editor = useSettings((s) => s.editor);
  const [sure, setSure] = useState(false);
  const base = b.base?.branch;
  return (
    <div className="row wrap">
      {b.worktree && base && (
        <>
          <Button look="quiet" disabled={busy || b.base?.ahead === 0} title={`Merges what is committed into ${base} in ${b.origin ?? ""}; no hook runs`} onClick={() => act("merge", "Nothing was merged", async () => { await api.onWorktree(session.id, "merge"); return `Merged into ${base}`; })}><GitMerge size={14} /> Merge into {safeName(base)}</Button>
          <Button look="quiet" disabled={busy || b.base?.behind === 0} title={`Puts the commits on top of ${base} as it is now; no hook runs`} onClick={() => act("rebase", "Nothing was rebased", async () => { await api.onWorktree(session.id, "rebase"); return `Rebased onto ${base}`; })}>Rebase onto {safeName(base)}</Button>
        </>
      )}
      <a className="button quiet" href={editor.replace("{path}", encodeURI(session.cwd))} title="Works where the server runs on this computer">Open in editor</a>
      <Button look="quiet" onClick={() => copy(session.cwd, "Path copied")}><Copy size={14} /> Copy path</Button>
      {b.worktree && !sure && <Button look="quiet" disabled={busy} onClick={() => setSure(true)}><Trash2 size={14} /> Discard…</Button>}
      {sure && (
        <span className="notice boxed" role="alert">
          <span>Deletes this worktree and its branch: what was neither merged nor pushed is lost. The conversation stays.</span>
          <span className="row"><Button look="danger" disabled={busy} onClick={() => act("discard", "Nothing was discarded", async () => { await api.onWorktree(session.id, "discard"); setSure(false); return "Discarded"; })}>Discard</Button> <Button look="quiet" onClick={() => setSure(false)}>Keep</Button></span>
        </span>
      )}
    </div>
  );
}
