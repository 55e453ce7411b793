// Marks what Find finds in the rows that are drawn. Highlights lie over the text, so the
// page stays as it is; a browser that has none gets the row as a whole.

import { type RefObject, useEffect } from "react";
import { finder } from "../model/rows";

export const canMark = typeof CSS !== "undefined" && "highlights" in CSS;
const most = 2_000; // marks in a row

/** Where the words are in the text of a row, also if they are in several parts of it. */
function rangesIn(row: Element, find: RegExp): Range[] {
  const nodes: { node: Text; from: number }[] = [];
  const walk = document.createTreeWalker(row, NodeFilter.SHOW_TEXT);
  let text = "";
  let last: Element | null | undefined;
  while (walk.nextNode()) {
    const node = walk.currentNode as Text;
    if (node.parentElement?.closest(".who, .code-head")) continue;
    const block = node.parentElement?.closest("p, li, th, td, pre, div");
    if (block !== last) text += "\n";
    last = block;
    nodes.push({ node, from: text.length });
    text += node.data;
  }
  const ranges: Range[] = [];
  let i = 0;
  const nodeAt = (place: number) => {
    while (i + 1 < nodes.length && nodes[i + 1]!.from <= place) i++;
    return nodes[i]!;
  };
  for (const { index, 0: { length } } of text.matchAll(find)) {
    const range = new Range();
    const first = nodeAt(index);
    range.setStart(first.node, index - first.from);
    const end = nodeAt(index + length - 1);
    range.setEnd(end.node, index + length - end.from);
    if (ranges.push(range) === most) break;
  }
  return ranges;
}

/** Marks the words in what is drawn, and brings the nth of a row into view once it is. */
export function useFound(box: RefObject<HTMLElement | null>, words: string, row: number | undefined, nth: number): void {
  useEffect(() => {
    const el = box.current;
    const find = finder(words);
    if (!el || !find || !canMark) return;
    let now: Range | undefined;
    const mark = () => {
      const [found, current] = [new Highlight(), new Highlight()];
      current.priority = 1;
      now = undefined;
      for (const drawn of el.querySelectorAll<HTMLElement>(".virtual-row")) {
        const ranges = rangesIn(drawn, find);
        for (const range of ranges) found.add(range);
        if (Number(drawn.dataset.index) === row) now = ranges[Math.min(nth, ranges.length - 1)];
      }
      if (now) current.add(now);
      CSS.highlights.set("found", found);
      CSS.highlights.set("found-now", current);
    };
    mark();
    const watch = new MutationObserver(mark);
    watch.observe(el, { childList: true, characterData: true, subtree: true });
    // Rows change their height when they are measured, so it takes some frames.
    let frames = 30;
    const bring = () => {
      const [at, view] = [now?.getBoundingClientRect(), el.getBoundingClientRect()];
      if (at && (at.top < view.top + 60 || at.bottom > view.bottom - 20)) el.scrollTop += at.top - view.top - el.clientHeight / 3;
      if (--frames > 0) frame = requestAnimationFrame(bring);
    };
    let frame = requestAnimationFrame(bring);
    return () => {
      cancelAnimationFrame(frame);
      watch.disconnect();
      CSS.highlights.delete("found");
      CSS.highlights.delete("found-now");
    };
  }, [box, words, row, nth]);
}
