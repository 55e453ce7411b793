import { useEffect, useRef, useState } from "react";
import type { Item } from "../model/types";

/** Reads new text out to screen readers, a whole message at a time. */
export function NewText({ items }: { items: readonly Item[] }) {
  const [text, setText] = useState("");
  const known = useRef<string | null>(null);
  const last = items.findLast((i) => i.type === "text" && !i.streaming);
  useEffect(() => {
    if (last?.type !== "text") return;
    // What was there when the session opened is not new.
    if (known.current !== null && known.current !== last.key) setText(last.text.slice(0, 2_000));
    known.current = last.key;
  }, [last]);
  useEffect(() => {
    known.current ??= "";
  }, []);
  return (
    <div className="visually-hidden" aria-live="polite">
      {text}
    </div>
  );
}
