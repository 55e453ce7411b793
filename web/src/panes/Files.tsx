import { ArrowLeft, ChevronRight, File, Folder } from "lucide-react";
import { useState } from "react";
import { useFile, useFiles } from "../api/queries";
import type { FileEntry } from "../api/types";
import { CodeBlock } from "../conversation/CodeBlock";
import { useShown } from "../conversation/context";
import { pictureSource, safeName, safeText } from "../lib/safe";
import { Button } from "../ui/Button";
import { Skeleton } from "../ui/Lazy";

const marks: Record<string, string> = { created: "A", modified: "M", deleted: "D" };

/** The session's folder: what is in it, what changed, and what a file holds. */
export function Files() {
  const { session } = useShown();
  const [file, setFile] = useState("");
  if (file) return <Preview session={session.id} path={file} onBack={() => setFile("")} />;
  return (
    <div className="tree" role="tree" aria-label="Files">
      <Level session={session.id} path="" depth={0} onFile={setFile} />
    </div>
  );
}

function Level({ session, path, depth, onFile }: { session: string; path: string; depth: number; onFile: (path: string) => void }) {
  const { data, error, isPending } = useFiles(session, path);
  if (isPending) return <Skeleton lines={4} />;
  if (error) return <div className="empty" role="alert">{error.message}</div>;
  const items = data.items.filter((e) => e.path !== ".terret"); // Terret's own records
  if (items.length === 0 && depth === 0) return <div className="empty"><strong>The folder is empty</strong><span>Files appear here as the agent makes them.</span></div>;
  return (
    <>
      {items.map((entry) => <Node key={entry.path} session={session} entry={entry} depth={depth} onFile={onFile} />)}
      {data.truncated && <p className="small faint tree-more">There are more files than are shown.</p>}
    </>
  );
}

function Node({ session, entry, depth, onFile }: { session: string; entry: FileEntry; depth: number; onFile: (path: string) => void }) {
  const [open, setOpen] = useState(false);
  const dir = entry.type === "dir";
  return (
    <>
      <button
        type="button"
        role="treeitem"
        aria-level={depth + 1}
        aria-expanded={dir ? open : undefined}
        aria-selected={false}
        className={`node depth-${Math.min(depth, 12)}${entry.ignored ? " faint" : ""}`}
        disabled={entry.type === "other"}
        onClick={() => (dir ? setOpen(!open) : onFile(entry.path))}
      >
        {dir ? <ChevronRight size={14} className="turn" /> : <span className="no-turn" />}
        {dir ? <Folder size={14} /> : <File size={14} />}
        <span className="cut grow">{safeName(entry.name)}</span>
        {entry.change && <span className={`mark ${entry.change}`} title={entry.change}>{marks[entry.change] ?? "M"}</span>}
      </button>
      {open && <Level session={session} path={entry.path} depth={depth + 1} onFile={onFile} />}
    </>
  );
}

function Preview({ session, path, onBack }: { session: string; path: string; onBack: () => void }) {
  const { data, error } = useFile(session, path);
  const picture = pictureSource(data?.media, data?.data);
  return (
    <div className="preview">
      <div className="row">
        <Button look="quiet" tiny onClick={onBack}><ArrowLeft size={14} /> Files</Button>
        <span className="mono cut grow">{safeName(path)}</span>
      </div>
      {error && <p role="alert">{error.message}</p>}
      {!data && !error && <Skeleton lines={6} />}
      {picture && <img className="media" src={picture} alt={safeName(path)} />}
      {data && !picture && (data.binary ? <p className="dim small">A binary file of {data.size} bytes.</p> : <CodeBlock code={safeText(data.text)} language={path.split(".").at(-1) ?? ""} />)}
      {data?.truncated && <p className="small faint">Only the beginning is shown.</p>}
    </div>
  );
}
