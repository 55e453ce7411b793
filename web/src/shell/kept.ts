// Sessions that a person pinned or put away, which the server keeps, and folders that are
// folded in this browser. A copy of all is here, so that the list is right at once.

import { create } from "zustand";
import { persist } from "zustand/middleware";
import type { Session } from "../api/types";
import { attempt } from "../lib/toast";
import { groupByFolder } from "../model/lists";
import { changeMarks, type Marks } from "../stream/marks";

interface Kept {
  pinned: string[];
  archived: string[];
  folded: string[];
  /** Whether the server has what this browser kept by itself before. */
  shared: boolean;
}

export const useKept = create<Kept>()(persist((): Kept => ({ pinned: [], archived: [], folded: [], shared: false }), { name: "terret.kept", version: 1 }));

type Field = "pinned" | "archived" | "folded";

/** Puts something into a list, or takes it out. */
export function keep(field: Field, wanted: boolean, ...ids: string[]): void {
  useKept.setState((s) => ({ [field]: [...s[field].filter((id) => !ids.includes(id)), ...(wanted ? ids : [])] }));
  if (field === "folded") return;
  const verb = field === "pinned" ? (wanted ? "pin" : "unpin") : wanted ? "archive" : "unarchive";
  void attempt("The server did not keep that", () => changeMarks({ [verb]: ids }));
}

/** Takes over what the server keeps, and first gives it what this browser kept by itself. */
export function takeMarks({ pinned, archived }: Marks): void {
  const { shared, ...own } = useKept.getState();
  if (shared || own.pinned.length + own.archived.length === 0) {
    useKept.setState({ pinned, archived, shared: true });
    return;
  }
  changeMarks({ pin: own.pinned, archive: own.archived }).then((m) => useKept.setState({ pinned: m.pinned, archived: m.archived, shared: true }), () => {
    // The next time, then.
  });
}

export interface Groups { pinned: Session[]; folders: { cwd: string; sessions: Session[] }[]; archived: Session[] }

/** Pinned sessions first, then the folders in the order of their names, and what was put away. */
export function arrange(list: readonly Session[], kept: Pick<Kept, "pinned" | "archived">): Groups {
  const pinned = new Set(kept.pinned);
  const away = new Set(kept.archived);
  const rest = list.filter((s) => !pinned.has(s.id) && (!away.has(s.id) || s.open_requests > 0));
  return {
    pinned: list.filter((s) => pinned.has(s.id)),
    folders: groupByFolder(rest).sort((a, b) => (a.cwd < b.cwd ? -1 : a.cwd > b.cwd ? 1 : 0)),
    archived: list.filter((s) => away.has(s.id) && !pinned.has(s.id) && s.open_requests === 0),
  };
}
