// Sessions that a person pinned, labelled or put away, which the server keeps, and folders that are
// folded in this browser. A copy of all is here, so that the list is right at once.

import { create } from "zustand";
import { persist } from "zustand/middleware";
import type { Session } from "../api/types";
import { attempt } from "../lib/toast";
import { folderName, groupByFolder } from "../model/lists";
import { changeMarks, type Marks } from "../stream/marks";

interface Kept {
  pinned: string[];
  archived: string[];
  folded: string[];
  /** By session. */
  labels: Record<string, string[]>;
  /** Whether the server has what this browser kept by itself before. */
  shared: boolean;
}

export const useKept = create<Kept>()(persist((): Kept => ({ pinned: [], archived: [], folded: [], labels: {}, shared: false }), { name: "terret.kept", version: 1 }));

type Field = "pinned" | "archived" | "folded";

/** Puts something into a list, or takes it out. */
export function keep(field: Field, wanted: boolean, ...ids: string[]): void {
  useKept.setState((s) => ({ [field]: [...s[field].filter((id) => !ids.includes(id)), ...(wanted ? ids : [])] }));
  if (field === "folded") return;
  const verb = field === "pinned" ? (wanted ? "pin" : "unpin") : wanted ? "archive" : "unarchive";
  void attempt("The server did not keep that", () => changeMarks({ [verb]: ids }));
}

/** Gives sessions a label, or takes it away. */
export function label(word: string, wanted: boolean, ...ids: string[]): void {
  useKept.setState(({ labels }) => {
    const own = (id: string) => [...(labels[id] ?? []).filter((l) => l !== word), ...(wanted ? [word] : [])];
    return { labels: { ...labels, ...Object.fromEntries(ids.map((id) => [id, own(id)])) } };
  });
  void attempt("The server did not keep that", async () => useKept.setState({ labels: (await changeMarks({ [wanted ? "label" : "unlabel"]: { [word]: ids } })).labels }));
}

/** Takes over what the server keeps, and first gives it what this browser kept by itself. */
export function takeMarks({ pinned, archived, labels = {} }: Marks): void {
  const { shared, ...own } = useKept.getState();
  if (shared || own.pinned.length + own.archived.length === 0) {
    useKept.setState({ pinned, archived, labels, shared: true });
    return;
  }
  changeMarks({ pin: own.pinned, archive: own.archived }).then((m) => useKept.setState({ pinned: m.pinned, archived: m.archived, labels: m.labels, shared: true }), () => {
    // The next time, then.
  });
}

export type ListBy = "folder" | "branch" | "agent" | "label";

/** Sessions under one head of the list. */
export interface Group { /** It is folded under this name. */ key: string; name: string; tip: string; sessions: Session[] }

export interface Groups { pinned: Session[]; groups: Group[]; /** What works for a race, a workflow or a bench. */ work: Group[]; archived: Session[] }

/** What a session works for. */
export interface Parent { id: string; name: string }

/** How the list is grouped, and what the sessions do not say themselves. */
export interface Sorting { by: ListBy; nameOf: (s: Session) => string; branchOf: (s: Session) => string; parentOf: (s: Session) => Parent | undefined }

const work = "work ";

export const archive = "archived";

/** Whether what is kept under this name is folded until it is asked for. */
export const foldedFirst = (fold: string) => fold === archive || fold.startsWith(work);

const without = { branch: "No branch", agent: "No agent", label: "No label" };

function groupsOf(list: readonly Session[], labels: Kept["labels"], { by, nameOf, branchOf }: Sorting): Group[] {
  if (by === "folder") {
    const folders = groupByFolder(list).sort((a, b) => (a.cwd < b.cwd ? -1 : a.cwd > b.cwd ? 1 : 0));
    const all = folders.map((f) => f.cwd);
    return folders.map(({ cwd, sessions }) => ({ key: cwd, name: folderName(cwd, all), tip: cwd, sessions }));
  }
  const under = { agent: (s: Session) => [nameOf(s)], branch: (s: Session) => [branchOf(s)], label: (s: Session) => labels[s.id] ?? [] }[by];
  const groups = new Map<string, Session[]>();
  for (const s of list) for (const word of under(s).length > 0 ? under(s) : [""]) groups.set(word, [...(groups.get(word) ?? []), s]);
  // What has no word comes last.
  const words = [...groups.keys()].sort((a, b) => (!a ? 1 : !b ? -1 : a.localeCompare(b)));
  return words.map((word) => ({ key: `${by} ${word}`, name: word || without[by], tip: word, sessions: groups.get(word)! }));
}

/** Those of one parent together, in the order of the newest of them. */
function worksOf(list: readonly Session[], parentOf: Sorting["parentOf"]): Group[] {
  const groups = new Map<string, Group>();
  for (const s of list) {
    const parent = parentOf(s);
    if (!parent) continue;
    const group = groups.get(parent.id) ?? { key: work + parent.id, name: parent.name, tip: parent.name, sessions: [] };
    group.sessions.push(s);
    groups.set(parent.id, group);
  }
  return [...groups.values()];
}

/** Pinned sessions first, then the groups in the order of their names, what works for something, and what was put away. With labels a session is in several groups. */
export function arrange(list: readonly Session[], kept: Pick<Kept, "pinned" | "archived" | "labels">, sorting: Sorting): Groups {
  const pinned = new Set(kept.pinned);
  const away = new Set(kept.archived);
  const rest = list.filter((s) => !pinned.has(s.id) && (!away.has(s.id) || s.open_requests > 0));
  return {
    pinned: list.filter((s) => pinned.has(s.id)),
    groups: groupsOf(rest.filter((s) => !sorting.parentOf(s)), kept.labels, sorting),
    work: worksOf(rest, sorting.parentOf),
    archived: list.filter((s) => away.has(s.id) && !pinned.has(s.id) && s.open_requests === 0),
  };
}
