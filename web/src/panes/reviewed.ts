// What a person looked at and keeps, in this browser: files and hunks in the state that
// they had. What changes again is open again.

import { create } from "zustand";
import { persist } from "zustand/middleware";

const most = 2_000;

const useReviewed = create<{ marks: string[] }>()(persist((): { marks: string[] } => ({ marks: [] }), { name: "terret.reviewed", version: 1 }));

/** The mark of a file, or of a hunk in it. */
export const markOf = (session: string, path: string, state: string) => `${session} ${state} ${path}`;

/** A short name for a text; equal texts have equal names. */
export function digest(text: string): string {
  let h = 5381;
  for (let i = 0; i < text.length; i++) h = (Math.imul(h, 33) ^ text.charCodeAt(i)) >>> 0;
  return `${text.length.toString(36)}-${h.toString(36)}`;
}

export const useMarks = (): readonly string[] => useReviewed((s) => s.marks);

/** Marks something as kept, or as open again. */
export function mark(wanted: boolean, ...marks: string[]): void {
  useReviewed.setState((s) => ({ marks: [...s.marks.filter((m) => !marks.includes(m)), ...(wanted ? marks : [])].slice(-most) }));
}
