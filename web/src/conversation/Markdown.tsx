// Text of an agent. What draws Markdown is large and is loaded behind the first paint;
// until it is there, the text is shown as it was written.

import { useSyncExternalStore } from "react";
import { safeProse } from "../lib/safe";
import type { RichMarkdown } from "./RichMarkdown";

let rich: typeof RichMarkdown | undefined;
let loading = false;
const readers = new Set<() => void>();

/** Begins to load what draws Markdown. A load that failed is tried again by the next call. */
export function loadMarkdown(): void {
  if (rich || loading) return;
  loading = true;
  import("./RichMarkdown").then(
    (m) => {
      rich = m.RichMarkdown;
      readers.forEach((read) => read());
    },
    () => (loading = false),
  );
}

const subscribe = (read: () => void) => {
  readers.add(read);
  loadMarkdown();
  return () => void readers.delete(read);
};

export function Markdown({ text, streaming = false }: { text: string; streaming?: boolean }) {
  const Rich = useSyncExternalStore(subscribe, () => rich);
  return Rich ? <Rich text={text} streaming={streaming} /> : <div className="markdown plain">{safeProse(text)}</div>;
}
