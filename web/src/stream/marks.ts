// What the server keeps about sessions for all devices: pinned, put away, seen, labelled.

import { call } from "../api/http";

export interface Marks { pinned: string[]; archived: string[]; /** By session: what happened until then was seen. */ seen: Record<string, string>; /** By session. */ labels: Record<string, string[]> }

type Change = Partial<Record<"pin" | "unpin" | "archive" | "unarchive" | "seen", string[]>> & /** By label: sessions. */ Partial<Record<"label" | "unlabel", Record<string, string[]>>>;

const most = 1_000; // that the server takes at once
let pending = 0;

export async function changeMarks(change: Change): Promise<Marks> {
  pending++;
  try {
    return await call<Marks>("/v1/marks", { method: "PATCH", body: Object.fromEntries(Object.entries(change).map(([what, ids]) => [what, Array.isArray(ids) ? ids.slice(-most) : ids])) });
  } finally {
    pending--;
  }
}

const every = 20_000; // milliseconds between two looks at what other devices did

/** Follows the marks while somebody looks; the result stops it. */
export function followMarks(apply: (marks: Marks) => void): () => void {
  const look = async () => {
    if (document.hidden || pending > 0) return;
    try {
      const marks = await call<Marks>("/v1/marks");
      if (pending === 0) apply(marks); // else something newer is on its way
    } catch {
      // The next time, then.
    }
  };
  void look();
  const timer = setInterval(look, every);
  document.addEventListener("visibilitychange", look);
  return () => {
    clearInterval(timer);
    document.removeEventListener("visibilitychange", look);
  };
}
