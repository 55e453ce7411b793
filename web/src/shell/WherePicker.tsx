import { useSettings } from "../lib/state";

const kept = 50;

/** Whether new sessions of a folder get a worktree of their own: remembered by folder. */
export function useWhere(cwd: string): { tree: boolean; setTree: (tree: boolean) => void } {
  const inTree = useSettings((s) => s.inTree);
  const setTree = (tree: boolean) => {
    const rest = inTree.filter((f) => f !== cwd);
    useSettings.setState({ inTree: tree ? [cwd, ...rest].slice(0, kept) : rest });
  };
  return { tree: inTree.includes(cwd), setTree };
}

/** What a branch for this text will be called, as far as no other has the name: like Slug of the server. */
export function slug(text: string): string {
  const words = (text.trim().split("\n")[0] ?? "").toLowerCase().split(/[^a-z0-9]+/).filter(Boolean);
  let out = "";
  for (const word of words) {
    const next = out ? `${out}-${word}` : word.slice(0, 39);
    if (next.length > 39) break;
    out = next;
  }
  return out;
}

/** Here, or in a new worktree. Alt-W changes it from the message. */
export function WherePicker({ cwd, text, className = "pick" }: { cwd: string; text: string; className?: string }) {
  const { tree, setTree } = useWhere(cwd);
  const name = slug(text);
  return (
    <select className={className} aria-label="Where" title="Alt-W. A worktree is a copy of the last commit, on a branch of its own" value={tree ? "tree" : "here"} onChange={(e) => setTree(e.target.value === "tree")}>
      <option value="here">Here</option>
      <option value="tree">New worktree{tree && name ? ` · ${name}` : ""}</option>
    </select>
  );
}
