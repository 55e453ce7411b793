// Unified diffs, file by file, with marks on the words that changed. Loaded when the
// first diff is shown.

import { Check, ChevronRight, ExternalLink, Undo2 } from "lucide-react";
import { Fragment, memo, type ReactNode, useEffect, useMemo, useState } from "react";
import { type ChangeData, Decoration, Diff as View, type FileData, getChangeKey, Hunk, type HunkData, markEdits, parseDiff, tokenize } from "react-diff-view";
import { safeName, safeText } from "../lib/safe";
import { useSettings } from "../lib/state";
import { digest } from "../panes/reviewed";
import type { Comment } from "../model/comments";
import { CopyButton } from "../ui/CopyButton";
import { Output } from "./Output";
import { refract } from "./refract";

const none: readonly string[] = [];
const wide = 400; // lines beyond which a file is folded at first

/** What a review adds: two columns, and comments on lines. */
export interface ReviewProps {
  split: boolean;
  comments: readonly Comment[];
  /** Keeps a comment; without text it is dropped. */
  onSave: (line: number, code: string, key: string, text: string) => void;
}

/** What can be done with the hunks of a file. A hunk is named by what it changes. */
export interface HunkProps {
  busy: boolean;
  kept: (hunk: string) => boolean;
  /** Last says that no other hunk is open. */
  keep: (wanted: boolean, hunk: string, last: boolean) => void;
  takeBack: (index: number) => void;
}

const nameOf = (h: HunkData) => digest(`${h.oldStart}\n${h.changes.map((c) => c.type[0] + c.content).join("\n")}`);

function HunkHead({ file, index, hunks }: { file: FileData; index: number; hunks: HunkProps }) {
  const hunk = file.hunks[index]!;
  const name = nameOf(hunk);
  const kept = hunks.kept(name);
  const last = file.hunks.every((h) => h === hunk || hunks.kept(nameOf(h)));
  const first = hunk.newLines > 0 ? hunk.newStart : hunk.newStart + 1;
  const lines = hunk.newLines > 1 ? `Lines ${first}–${first + hunk.newLines - 1}` : `Line ${first}`;
  return (
    <div className="row hunk-head">
      <span className="grow faint">{lines}</span>
      <button type="button" className="button quiet tiny" aria-pressed={kept} aria-label={`Keep ${lines.toLowerCase()}`} onClick={() => hunks.keep(!kept, name, last)}>
        <Check size={13} /> {kept ? "Kept" : "Keep"}
      </button>
      <button type="button" className="button quiet tiny" aria-label={`Revert ${lines.toLowerCase()}`} disabled={hunks.busy} title={hunks.busy ? "Stop the turn first" : "Put these lines back as they were"} onClick={() => hunks.takeBack(index)}>
        <Undo2 size={13} /> Revert
      </button>
    </div>
  );
}

/** Something that stands under a line of the new file. */
export interface DiffNote { path: string; line: number; node: ReactNode }

const noNotes: readonly DiffNote[] = [];

/** The lines under which notes stand. A line that the diff does not show has its note under the first one. */
function noted(file: FileData, notes: readonly DiffNote[]): Record<string, ReactNode> {
  const out: Record<string, ReactNode[]> = {};
  const changes = file.hunks.flatMap((h) => h.changes);
  for (const note of notes) {
    const at = changes.find((c) => c.type !== "delete" && lineOf(c) === note.line) ?? changes.find((c) => lineOf(c) === note.line) ?? changes[0];
    if (at) (out[getChangeKey(at)] ??= []).push(note.node);
  }
  return Object.fromEntries(Object.entries(out).map(([key, nodes]) => [key, <div key={key} className="diff-notes">{nodes}</div>]));
}

const lineOf = (c: ChangeData) => (c.type === "normal" ? c.newLineNumber : c.lineNumber);

function CommentBox({ text, writing, onSave, onEdit }: { text: string; writing: boolean; onSave: (text: string) => void; onEdit: () => void }) {
  const [now, setNow] = useState(text);
  if (!writing) return <button type="button" className="comment" onClick={onEdit}>{safeText(text)}</button>;
  return (
    <form className="comment" onSubmit={(e) => { e.preventDefault(); onSave(now); }}>
      <textarea className="input" aria-label="Comment" rows={2} autoFocus value={now} onChange={(e) => setNow(e.target.value)}
        onKeyDown={(e) => { if (e.key === "Enter" && (e.metaKey || e.ctrlKey)) { e.preventDefault(); onSave(now); } if (e.key === "Escape") { e.stopPropagation(); onSave(text); } }} />
      <span className="row"><button type="submit" className="button tiny primary">Comment</button><button type="button" className="button tiny quiet" onClick={() => onSave("")}>Remove</button></span>
    </form>
  );
}

/** The files of a diff. Bare leaves out the name of a single file, where it is said already. */
export default memo(function Diff({ text, cwd, folded = false, paths = none, bare = false, review, notes = noNotes, head, hunks }: { head?: ReactNode; hunks?: HunkProps; bare?: boolean; review?: ReviewProps; notes?: readonly DiffNote[]; text: string; cwd: string; folded?: boolean; paths?: readonly string[] }) {
  const files = useMemo(() => parse(text), [text]);
  if (!files) return <Output text={text} />;
  return (
    <div className="diffs">
      {files.map((file, i) => (
        <FileDiff key={`${file.oldPath}:${file.newPath}:${i}`} file={file} cwd={cwd} folded={folded} paths={paths} bare={bare && files.length === 1} review={review} notes={notes} head={head} hunks={hunks} />
      ))}
    </div>
  );
});

/** Diffs come with or without the line that git puts first. */
export function parse(text: string): FileData[] | null {
  try {
    const whole = /^diff --git /m.test(text)
      ? text
      : text.replace(/^--- (.*)\n\+\+\+ (.*)$/gm, (_, from: string, to: string) =>
          `diff --git ${from === "/dev/null" ? to.replace(/^b\//, "a/") : from} ${to === "/dev/null" ? from.replace(/^a\//, "b/") : to}\n--- ${from}\n+++ ${to}`);
    const files = parseDiff(whole).filter((f) => f.hunks.length > 0 || f.isBinary || f.type === "rename");
    return files.length > 0 ? files : null;
  } catch {
    return null;
  }
}

/** The path of a file; a diff drops the slash of one outside the folder. */
export const pathOf = (file: Pick<FileData, "type" | "oldPath" | "newPath">, paths: readonly string[]): string => {
  const path = file.type === "delete" ? file.oldPath : file.newPath;
  return paths.includes(`/${path}`) ? `/${path}` : path;
};

function FileDiff({ file, cwd, folded, paths, bare, review, notes, head, hunks: acts }: { head: ReactNode; hunks: HunkProps | undefined; bare: boolean; notes: readonly DiffNote[]; review: ReviewProps | undefined; file: FileData; cwd: string; folded: boolean; paths: readonly string[] }) {
  const editor = useSettings((s) => s.editor);
  const path = pathOf(file, paths);
  const [added, removed] = useMemo(() => count(file), [file]);
  const own = useMemo(() => notes.filter((n) => n.path === path), [notes, path]);
  const [open, setOpen] = useState(!folded && (bare || own.length > 0 || added + removed <= wide));
  const [tokens, setTokens] = useState<ReturnType<typeof tokenize> | null>(null);

  useEffect(() => {
    if (!open || file.hunks.length === 0) return;
    let gone = false;
    const enhancers = [markEdits(file.hunks, { type: "block" })];
    setTokens(tokenize(file.hunks, { enhancers }));
    void refract(path).then((refractor) => {
      if (gone || !refractor) return;
      setTokens(tokenize(file.hunks, { highlight: true, refractor: refractor as never, language: "x", enhancers }));
    });
    return () => {
      gone = true;
    };
  }, [open, file, path]);

  const [writing, setWriting] = useState<string | null>(null);
  const commenting = review && {
    gutterEvents: { onClick: ({ change }: { change: ChangeData | null }) => change && setWriting(getChangeKey(change)) },
    widgets: Object.fromEntries(file.hunks.flatMap((h) => h.changes).flatMap((change) => {
      const key = getChangeKey(change);
      const said = review.comments.find((c) => c.key === key);
      if (!said && writing !== key) return [];
      return [[key, <CommentBox key={key} text={said?.text ?? ""} writing={writing === key} onEdit={() => setWriting(key)}
        onSave={(text) => { review.onSave(lineOf(change), change.content, key, text); setWriting(null); }} />]];
    })),
  };
  const absolute = path.startsWith("/") ? path : `${cwd}/${path}`;
  return (
    <div className="diff-file" role="group" aria-label={`Changes in ${safeName(path)}`}>
      {!bare && <div className="diff-head">
        <button type="button" className="fold grow" aria-expanded={open} onClick={() => setOpen(!open)}>
          <ChevronRight size={14} />
          <span className="mono cut">{safeName(path)}</span>
          <span className="counts">
            <span className="added">+{added}</span> <span className="removed">−{removed}</span>
          </span>
        </button>
        {head}
        <CopyButton text={path} label="Copy path" />
        <a className="button quiet tiny icon" href={editor.replace("{path}", encodeURI(absolute))} title="Open in editor" aria-label={`Open ${safeName(path)} in editor`}>
          <ExternalLink size={13} />
        </a>
      </div>}
      {open && (
        <div className="diff-body" tabIndex={0} role="group" aria-label={`Diff of ${safeName(path)}`}>
          {file.isBinary ? (
            <p className="small dim">A binary file changed.</p>
          ) : (
            <View viewType={review?.split ? "split" : "unified"} diffType={file.type} hunks={file.hunks} tokens={tokens} gutterType="default" {...commenting} {...(own.length > 0 ? { widgets: { ...commenting?.widgets, ...noted(file, own) } } : {})}>
              {(hunks) => hunks.map((h, i) => (
                <Fragment key={h.content}>
                  {acts && hunks.length > 1 && <Decoration><HunkHead file={file} index={i} hunks={acts} /></Decoration>}
                  {(!acts || hunks.length === 1 || !acts.kept(nameOf(h))) && <Hunk hunk={h} />}
                </Fragment>
              ))}
            </View>
          )}
        </div>
      )}
    </div>
  );
}

function count(file: FileData): [number, number] {
  let added = 0;
  let removed = 0;
  for (const h of file.hunks) {
    for (const c of h.changes) {
      if (c.type === "insert") added++;
      else if (c.type === "delete") removed++;
    }
  }
  return [added, removed];
}
