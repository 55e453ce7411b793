// The list of sessions, of which only what is in view is drawn: there may be hundreds.

import { defaultRangeExtractor, type Range, useVirtualizer } from "@tanstack/react-virtual";
import { type FocusEvent, type RefObject, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { useNames } from "../api/names";
import { useBeyond, useBranches, useSessions } from "../api/queries";
import type { Session } from "../api/types";
import { useTouch } from "../lib/media";
import { useNow } from "../lib/now";
import { safeName } from "../lib/safe";
import { useSettings } from "../lib/state";
import { Skeleton } from "../ui/Lazy";
import { Entry, GroupHead } from "./Entry";
import { archive, arrange, foldedFirst, type Groups, useKept } from "./kept";
import { useParents } from "../work/parents";
import { listed } from "./picked";

/** Whether all the words occur. */
export const has = (text: string, words: string) => words.toLowerCase().split(/\s+/).every((w) => text.toLowerCase().includes(w));

/** What a session is found by, its labels also as #label. */
export const wordsOf = (s: Session, labels: readonly string[] = []) => `${s.title} ${s.cwd} ${s.agent} ${s.model} ${labels.map((l) => `#${l}`).join(" ")}`;

interface Section { key: string; name: string; tip: string; /** Under this it is folded; empty if it cannot be. */ fold: string; sessions: Session[]; open: boolean }

/** A line of the list: the head of a section, or a session, which is the nth of its section. */
interface Row { key: string; section: Section; /** The number of the line with the section's head. */ head: number; index: number; session?: Session; nth: number }

function sectionsOf({ pinned, groups, work, archived }: Groups, folded: readonly string[], searching: boolean): Section[] {
  const open = (fold: string) => searching || folded.includes(fold) === foldedFirst(fold);
  return [
    { key: "pinned", name: "Pinned", tip: "", fold: "", sessions: pinned, open: true },
    ...[...groups, ...work].map((g) => ({ key: `group ${g.key}`, name: g.name, tip: g.tip, fold: g.key, sessions: g.sessions, open: open(g.key) })),
    { key: archive, name: "Archived", tip: "", fold: archive, sessions: archived, open: open(archive) },
  ].filter((s) => s.sessions.length > 0);
}

function rowsOf(sections: readonly Section[]): Row[] {
  const rows: Row[] = [];
  const there = new Set<string>(); // with labels a session may be there more than once
  const keyOf = (section: Section, s: Session) => (there.has(s.id) ? `${section.key} ${s.id}` : (there.add(s.id), s.id));
  for (const section of sections) {
    const head = rows.length;
    rows.push({ key: section.key, section, head, index: head, nth: 0 });
    if (section.open) section.sessions.forEach((session, i) => rows.push({ key: keyOf(section, session), section, head, index: head + 1 + i, session, nth: i + 1 }));
  }
  return rows;
}

const none: readonly Session[] = [];

interface Props { box: RefObject<HTMLElement | null>; words: string; chosen: string }

export function SessionList({ box, words, chosen }: Props) {
  const { data, error, isPending } = useSessions();
  const kept = useKept();
  const old = useBeyond(kept.pinned);
  const touch = useTouch();
  const { nameOf } = useNames();
  const by = useSettings((s) => s.listBy);
  const parentOf = useParents();
  const branches = useBranches(by === "branch" ? (data?.items ?? none) : none);
  const rows = useMemo(() => {
    const list = [...(data?.items ?? []), ...old].filter((s) => has(wordsOf(s, kept.labels[s.id]), words));
    return rowsOf(sectionsOf(arrange(list, kept, { by, nameOf, branchOf: (s) => branches[s.cwd] ?? "", parentOf }), kept.folded, words !== ""));
  }, [data, old, words, kept, by, nameOf, branches, parentOf]);
  useLayoutEffect(() => {
    listed.sessions = [...new Set(rows.flatMap((r) => r.session?.id ?? []))];
    return () => void (listed.sessions = []);
  }, [rows]);
  if (isPending) return <Skeleton lines={8} />;
  if (error) return <div className="empty" role="alert">{error.message}</div>;
  if (rows.length === 0) return <div className="empty">{words ? "No sessions match" : `No sessions yet.${touch ? "" : " Press Alt-N to start one."}`}</div>;
  return <Rows box={box} rows={rows} chosen={chosen} />;
}

/** How far the rows begin below the top of what scrolls, which has other things above them. */
function useAbove(box: RefObject<HTMLElement | null>, rows: RefObject<HTMLElement | null>): number {
  const [above, setAbove] = useState(0);
  useLayoutEffect(() => {
    const [outer, before] = [box.current, rows.current?.previousElementSibling];
    if (!outer || !before) return;
    const look = () => setAbove(rows.current!.offsetTop);
    look();
    const watch = new ResizeObserver(look);
    watch.observe(before);
    return () => watch.disconnect();
  }, [box, rows]);
  return above;
}

function Rows({ box, rows, chosen }: { box: Props["box"]; rows: readonly Row[]; chosen: string }) {
  const now = useNow(true, 30_000);
  const self = useRef<HTMLDivElement>(null);
  const above = useAbove(box, self);
  const focused = useRef("");
  const list = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: (i) => (rows[i]!.session ? 46 : 40),
    getItemKey: useCallback((i: number) => rows[i]!.key, [rows]),
    overscan: 8,
    scrollMargin: above,
    // Beside what is in view: what has the focus with its neighbours, so that Tab goes on from there, and the heads of all that.
    rangeExtractor: (range: Range) => {
      const at = focused.current ? rows.findIndex((r) => r.key === focused.current) : -1;
      const wanted = [...(at < 0 ? [] : [at - 1, at, at + 1]), ...defaultRangeExtractor(range)].filter((i) => i >= 0 && i < rows.length);
      return [...new Set(wanted.flatMap((i) => [rows[i]!.head, i]))].sort((a, b) => a - b);
    },
  });

  // Whoever comes to a session by key or link finds it in the list.
  const place = rows.findIndex((r) => r.session?.id === chosen);
  const found = place >= 0;
  useEffect(() => {
    if (found) list.scrollToIndex(place, { align: "auto" });
  }, [chosen, found]);

  const onFocus = (e: FocusEvent) => (focused.current = (e.target.closest<HTMLElement>("[data-row]") ?? undefined)?.dataset.row ?? focused.current);
  const onBlur = (e: FocusEvent) => {
    if (!self.current?.contains(e.relatedTarget)) focused.current = "";
  };
  const drawn = list.getVirtualItems().map((v) => ({ row: rows[v.index]!, start: v.start, end: v.end }));
  const sections = [...new Set(drawn.map((d) => d.row.section))];
  return (
    <div ref={self} className="session-rows" style={{ height: list.getTotalSize() }} onFocus={onFocus} onBlur={onBlur}>
      {sections.map((section) => {
        const [head, ...entries] = drawn.filter((d) => d.row.section === section);
        if (!head) return null;
        const at = (start: number) => ({ transform: `translateY(${start}px)` });
        const line = ({ row, start }: typeof head) => ({ ref: list.measureElement, "data-index": row.index, "data-row": row.key, style: at(start - head.start) });
        return (
          <section key={section.key} aria-label={safeName(section.name)} className="session-row" style={{ height: (entries.at(-1) ?? head).end - head.start, ...at(head.start - above) }}>
            <div className="session-row" {...line(head)}>
              {section.fold ? <GroupHead fold={section.fold} name={section.name} tip={section.tip} sessions={section.sessions} open={section.open} /> : <h2>{section.name}</h2>}
            </div>
            {entries.length > 0 && (
              <ul className="plain">
                {entries.map((d) => (
                  <li key={d.row.key} className="session-row entry" aria-setsize={section.sessions.length} aria-posinset={d.row.nth} {...line(d)}>
                    <Entry session={d.row.session!} chosen={d.row.session!.id === chosen} now={now} />
                  </li>
                ))}
              </ul>
            )}
          </section>
        );
      })}
    </div>
  );
}
