// The conversation: only what is in view is drawn. It sticks to the end while a
// person is at the end, and otherwise leaves what they read where it is.

import { useVirtualizer } from "@tanstack/react-virtual";
import { ArrowDown } from "lucide-react";
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { useView } from "../lib/state";
import { findRows, inFull, rowOf, rowOfMessage, rowsOf } from "../model/rows";
import { root } from "../model/types";
import { Button } from "../ui/Button";
import { useShown } from "./context";
import { Find } from "./Find";
import { canMark, useFound } from "./found";
import { LiveLine } from "./LiveLine";
import { NewText } from "./NewText";
import { RowView } from "./RowView";

const nearEnd = 48; // pixels

export function ConversationView({ label = "Conversation" }: { label?: string }) {
  const { session, conversation } = useShown();
  const box = useRef<HTMLDivElement>(null);
  const rows = useMemo(() => rowsOf(conversation.threads.get(root) ?? []), [conversation.threads]);
  const [atEnd, setAtEnd] = useState(true);
  const [seen, setSeen] = useState(rows.length);
  const finding = useView((s) => s.finding);
  const [words, setWords] = useState("");
  const hits = useMemo(() => (finding ? findRows(rows, words) : []), [finding, rows, words]);
  const [hit, setHit] = useState(0);

  const list = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: () => 64,
    getItemKey: useCallback((i: number) => rows[i]!.key, [rows]),
    overscan: 6,
    paddingStart: 24,
    paddingEnd: 24,
  });

  // A session opens at its end and stays there until a person scrolls up.
  const stick = useRef(true);
  const lastTop = useRef(0);
  const size = list.getTotalSize();
  useLayoutEffect(() => {
    const el = box.current;
    if (el && stick.current) el.scrollTop = el.scrollHeight;
  }, [size, session.id]);
  const onScroll = () => {
    const el = box.current;
    if (!el) return;
    const end = el.scrollHeight - el.scrollTop - el.clientHeight <= nearEnd;
    if (end) stick.current = true;
    else if (el.scrollTop < lastTop.current) stick.current = false;
    lastTop.current = el.scrollTop;
    setAtEnd(end || stick.current);
  };
  const toEnd = () => {
    stick.current = true;
    setAtEnd(true);
    list.scrollToIndex(rows.length - 1, { align: "end" });
  };

  useEffect(() => {
    if (atEnd) setSeen(rows.length);
  }, [atEnd, rows.length]);

  // Who says something wants to see it, and what comes of it.
  const sent = useView((s) => s.sent);
  const before = useRef(sent);
  useEffect(() => {
    if (sent !== before.current) toEnd();
    before.current = sent;
  });

  const at = hits[hit];
  const marks = at !== undefined && canMark && inFull(rows[at]!);
  useEffect(() => {
    if (at === undefined) return;
    stick.current = false;
    if (!marks) list.scrollToIndex(at, { align: "center" });
    else if (!list.getVirtualItems().some((v) => v.index === at)) box.current!.scrollTop = list.getOffsetForIndex(at, "start")![0];
  }, [words, hit, at, marks, list]);
  useFound(box, finding ? words : "", at, at === undefined ? 0 : hit - hits.indexOf(at));

  const wanted = useView((s) => s.jump);
  const [marked, setMarked] = useState(-1);
  useEffect(() => {
    if (!wanted || ("message" in wanted && wanted.message.session !== session.id)) return;
    const to = "key" in wanted ? rowOf(rows, wanted.key) : rowOfMessage(rows, wanted.message.turn, wanted.message.messageId, wanted.message.mine);
    if (to < 0 && "message" in wanted) return; // its part of the history comes yet
    useView.setState({ jump: null });
    if (to < 0) return;
    stick.current = false;
    setAtEnd(false);
    setMarked(to);
    list.scrollToIndex(to, { align: "center" });
  }, [wanted, rows, list, session.id]);
  useEffect(() => {
    if (marked < 0) return;
    const timer = setTimeout(() => setMarked(-1), 2_000);
    return () => clearTimeout(timer);
  }, [marked]);

  const unseen = rows.length - seen;
  return (
    <div className="conversation">
      {finding && <Find words={words} onWords={(w) => { setWords(w); setHit(0); }} count={hits.length} hit={hit} onHit={setHit} />}
      <div
        ref={box}
        className="scroll"
        tabIndex={0}
        role="region"
        aria-label={label}
        onScroll={onScroll}
      >
        <div className="rows" style={{ height: size }}>
          {list.getVirtualItems().map((v) => {
            const row = rows[v.index]!;
            const undone = row.type === "item" && row.item.type !== "turn-end" && conversation.undone.has(row.item.turn);
            return (
              <div
                key={v.key}
                data-index={v.index}
                ref={list.measureElement}
                className={`virtual-row${undone ? " undone" : ""}${(at === v.index && !marks) || marked === v.index ? " hit" : ""}`}
                style={{ transform: `translateY(${v.start}px)` }}
              >
                <div className="measure">
                  <RowView row={row} />
                </div>
              </div>
            );
          })}
        </div>
      </div>
      {!atEnd && rows.length > 0 && (
        <Button className="latest" onClick={toEnd}>
          <ArrowDown size={14} /> {unseen > 0 ? `${unseen} new` : "Latest"}
        </Button>
      )}
      <LiveLine />
      <NewText items={conversation.threads.get(root) ?? []} />
    </div>
  );
}
