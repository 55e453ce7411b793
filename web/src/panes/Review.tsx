import { Check, Columns2, Copy, Rows2, X } from "lucide-react";
import { useState } from "react";
import { useShown } from "../conversation/context";
import { plural } from "../lib/format";
import { useMedia } from "../lib/media";
import { safeName } from "../lib/safe";
import { getDraft, offerDraft, useSettings, useView } from "../lib/state";
import { copy } from "../lib/toast";
import { type Comment, messageOf } from "../model/comments";
import { Button } from "../ui/Button";
import { Skeleton } from "../ui/Lazy";
import { ChangeList, useSplit } from "./ChangeList";
import { CommitBox } from "./CommitBox";
import { useChosenChanges, useTurns, Which } from "./ChangesPane";

const none: readonly never[] = [];

const marks: Record<string, string> = { created: "A", modified: "M", deleted: "D" };

/** The changes of a session like a pull request: files at the left, diffs at the right, comments on lines. */
export function Review() {
  const { session } = useShown();
  const { data, error, isPending } = useChosenChanges();
  const split = useSettings((s) => s.split);
  const roomy = useMedia("(min-width: 1100px)");
  const [comments, setComments] = useState<Comment[]>([]);
  const close = () => useView.setState({ review: false });
  const send = () => {
    const before = getDraft(session.id).trim();
    close();
    // The message field is there once this page is gone.
    requestAnimationFrame(() => offerDraft(session.id, [before, messageOf(comments)].filter(Boolean).join("\n\n")));
  };
  const items = data?.items ?? none;
  const { turn } = useTurns();
  const { open, kept } = useSplit(items);
  return (
    <main className="pane review" aria-label="Changes">
      <header className="bar">
        <h1 className="title grow cut">Changes</h1>
        <Which />
        {roomy && (
          <Button look="quiet" onClick={() => useSettings.setState({ split: !split })} aria-pressed={split}>
            {split ? <Rows2 size={14} /> : <Columns2 size={14} />} {split ? "Inline" : "Side by side"}
          </Button>
        )}
        <Button look="quiet" disabled={items.length === 0} onClick={() => copy(items.map((c) => c.diff ?? "").join(""), "Patch copied")}><Copy size={14} /> Copy patch</Button>
        <Button look="quiet" label="Back to the conversation (Alt-C)" onClick={close}><X size={16} /></Button>
      </header>
      {isPending && <Skeleton lines={8} />}
      {error && <div className="empty" role="alert">{error.message}</div>}
      {data && items.length === 0 && <div className="empty"><strong>Nothing changed yet</strong></div>}
      {items.length > 0 && (
        <div className="review-body">
          <nav className="review-files" aria-label="Changed files">
            <ul className="plain">
              {[...open, ...kept].map((c) => (
                <li key={c.path} className={kept.includes(c) ? "kept" : ""}>
                  <button type="button" className="node" onClick={() => document.getElementById(`review-${c.path}`)?.scrollIntoView({ block: "start" })}>
                    <span className={`mark ${c.change}`} title={c.change}>{marks[c.change] ?? "M"}</span>
                    <span className="cut grow">{safeName(c.path)}</span>
                    {kept.includes(c) ? <Check size={13} aria-label="kept" /> : <span className="counts"><span className="added">+{c.insertions}</span> <span className="removed">−{c.deletions}</span></span>}
                  </button>
                </li>
              ))}
            </ul>
          </nav>
          <div className="review-diffs" tabIndex={0} role="region" aria-label="Diffs">
            <ChangeList items={items} turn={turn} review={(c) => ({
              split: split && roomy,
              comments: comments.filter((x) => x.path === c.path),
              onSave: (line, code, key, text) => setComments((all) => [...all.filter((x) => x.path !== c.path || x.key !== key), ...(text.trim() ? [{ path: c.path, line, code, key, text }] : [])]),
            })} />
          </div>
        </div>
      )}
      {data?.since === "head" && items.length > 0 && <CommitBox items={items} />}
      <footer className={`review-foot${comments.length === 0 ? " idle" : ""}`}>
        <span className="grow small dim">{comments.length > 0 ? plural(comments.length, "comment") : "Click a line number to comment on it."}</span>
        <Button look="primary" disabled={comments.length === 0} onClick={send}>Add to the message</Button>
      </footer>
    </main>
  );
}
