// Sessions that a person pinned or put away, and folders that are folded, in this browser.

import { create } from "zustand";
import { persist } from "zustand/middleware";
import type { Session } from "../api/types";
import { groupByFolder } from "../model/lists";

interface Kept { pinned: string[]; archived: string[]; folded: string[] }

export const useKept = create<Kept>()(persist((): Kept => ({ pinned: [], archived: [], folded: [] }), { name: "terret.kept", version: 1 }));

type Field = keyof Kept;

/** Puts something into a list, or takes it out. */
export const keep = (field: Field, wanted: boolean, ...ids: string[]) =>
  useKept.setState((s) => ({ [field]: [...s[field].filter((id) => !ids.includes(id)), ...(wanted ? ids : [])] }));

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
