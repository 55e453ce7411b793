// Unified diffs, file by file, with marks on the words that changed. Loaded when the
// first diff is shown.

import { ChevronRight, ExternalLink } from "lucide-react";
import { memo, useEffect, useMemo, useState } from "react";
import { Diff as View, type FileData, Hunk, markEdits, parseDiff, tokenize } from "react-diff-view";
import { safeName } from "../lib/safe";
import { useSettings } from "../lib/state";
import { CopyButton } from "../ui/CopyButton";
import { Output } from "./Output";
import { refract } from "./refract";

const none: readonly string[] = [];
const wide = 400; // lines beyond which a file is folded at first

/** The files of a diff. Bare leaves out the name of a single file, where it is said already. */
export default memo(function Diff({ text, cwd, folded = false, paths = none, bare = false }: { bare?: boolean; text: string; cwd: string; folded?: boolean; paths?: readonly string[] }) {
  const files = useMemo(() => parse(text), [text]);
  if (!files) return <Output text={text} />;
  return (
    <div className="diffs">
      {files.map((file, i) => (
        <FileDiff key={`${file.oldPath}:${file.newPath}:${i}`} file={file} cwd={cwd} folded={folded} paths={paths} bare={bare && files.length === 1} />
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

function FileDiff({ file, cwd, folded, paths, bare }: { bare: boolean; file: FileData; cwd: string; folded: boolean; paths: readonly string[] }) {
  const editor = useSettings((s) => s.editor);
  const path = pathOf(file, paths);
  const [added, removed] = useMemo(() => count(file), [file]);
  const [open, setOpen] = useState(!folded && (bare || added + removed <= wide));
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
            <View viewType="unified" diffType={file.type} hunks={file.hunks} tokens={tokens} gutterType="default">
              {(hunks) => hunks.map((h) => <Hunk key={h.content} hunk={h} />)}
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
