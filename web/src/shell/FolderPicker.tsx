import { ArrowUp, Folder, FolderGit2 } from "lucide-react";
import { useEffect, useState } from "react";
import { useDirs, useRoots } from "../api/queries";
import { safeName } from "../lib/safe";
import { useSettings } from "../lib/state";
import { Button } from "../ui/Button";

/** The folder of a form, which begins with the one that was used last. */
export function useFolder(): [string, (cwd: string) => void] {
  const list = useRoots().data?.items;
  const [cwd, setCwd] = useState("");
  useEffect(() => {
    if (cwd || !list?.[0]) return;
    const last = useSettings.getState().lastFolder;
    setCwd(list.some((r) => last === r.path || last.startsWith(`${r.path}/`)) ? last : list[0].path);
  }, [cwd, list]);
  return [cwd, setCwd];
}

/** A folder of the server, to be typed or found. */
export function FolderPicker({ cwd, onCwd }: { cwd: string; onCwd: (cwd: string) => void }) {
  const roots = useRoots().data?.items ?? [];
  const [open, setOpen] = useState(false);
  const dirs = useDirs(open ? cwd : "");
  return (
    <div className="field">
      <label htmlFor="cwd">Folder</label>
      <div className="row">
        <input id="cwd" className="input mono" value={cwd} onChange={(e) => onCwd(e.target.value)} spellCheck={false} required />
        <Button aria-expanded={open} onClick={() => setOpen(!open)}><Folder size={14} /> Browse</Button>
      </div>
      {open && (
        <ul className="dirs" aria-label="Folders">
          {roots.length > 1 && roots.map((r) => <li key={r.path}><button type="button" onClick={() => onCwd(r.path)}><Folder size={14} /> <span className="mono cut">{safeName(r.path)}</span></button></li>)}
          {dirs.data?.parent && <li><button type="button" onClick={() => onCwd(dirs.data!.parent!)}><ArrowUp size={14} /> Up</button></li>}
          {dirs.data?.items.filter((d) => !d.hidden).map((d) => (
            <li key={d.path}><button type="button" onClick={() => onCwd(d.path)}>{d.git ? <FolderGit2 size={14} /> : <Folder size={14} />} <span className="cut">{safeName(d.name)}</span></button></li>
          ))}
          {dirs.error && <li className="small form-error">{dirs.error.message}</li>}
          {dirs.data && dirs.data.items.length === 0 && <li className="small faint">No folders in here.</li>}
        </ul>
      )}
    </div>
  );
}
