// Many requests: a line each, which opens in place into its card. What several sessions
// want is one line.

import { ChevronRight } from "lucide-react";
import { type FocusEvent, type KeyboardEvent, type ReactNode, useLayoutEffect, useRef, useState } from "react";
import { decide } from "../api/actions";
import { useNames } from "../api/names";
import type { Answer, Request, Session } from "../api/types";
import { baseName } from "../lib/format";
import { sessionPath } from "../lib/router";
import { safeName } from "../lib/safe";
import { together } from "../lib/together";
import { diffSize } from "../model/summary";
import type { Line } from "../shell/stable";
import { Button } from "../ui/Button";
import { Link } from "../ui/Link";
import { Countdown } from "./Countdown";
import { gather, wanted } from "./gather";
import { What } from "./PermissionCard";
import { RequestCard } from "./RequestCard";
import { inText } from "./useFocus";
import { gist, shortly } from "./words";

const cardsAtOnce = 3;
const linesAtOnce = 30;

/** Whether that many requests are lines. They stay so until all are answered. */
export function useAsLines(count: number): boolean {
  const before = useRef(false);
  return (before.current = count > cardsAtOnce || (before.current && count > 0));
}

interface Props {
  lines: readonly Line<Request>[];
  sessions: readonly Session[];
  /** What is shown between an open line and its card. */
  before?: (session: Session) => ReactNode;
}

const heads = (list: Element) => [...list.querySelectorAll<HTMLElement>("[data-need]:not([inert] *)")];

/** Goes to another line. The request that was open closes, and the other one opens; what is gathered stays as it is. */
function move(list: HTMLElement, from: Element, by: number): void {
  const all = heads(list);
  const at = all.findIndex((h) => h.parentElement!.parentElement === from.closest("[data-line]"));
  const next = all[at + by];
  if (!next) return;
  if (at >= 0 && all[at]!.dataset.need === "one" && all[at]!.ariaExpanded === "true") all[at]!.click();
  next.focus();
  if (next.dataset.need === "one" && next.ariaExpanded === "false") next.click();
}

/** The keys of the list; those of an open card are the card's. */
function onKeyDown(e: KeyboardEvent<HTMLElement>): void {
  const at = e.target as HTMLElement;
  if (e.altKey || e.ctrlKey || e.metaKey || e.defaultPrevented || !e.currentTarget.contains(at) || inText(at)) return;
  const head = at.closest<HTMLElement>("[data-need]");
  const resting = head || at.matches("[data-request]");
  const by = { j: 1, k: -1, ...(resting ? { ArrowDown: 1, ArrowUp: -1 } : {}) }[e.key];
  const line = at.closest("[data-line]");
  if (by && line) move(e.currentTarget, at, by);
  else if (e.key === "Escape" && line && at.matches("[data-request]:not(:has([data-key=Escape]))")) {
    const own = line.querySelector<HTMLElement>("[data-need]")!;
    own.click();
    own.focus();
  } else if (head && /^[ynsaedD]$/.test(e.key)) {
    // Nothing is answered before it is seen.
    if (head.ariaExpanded === "false") head.click();
    else line?.querySelector<HTMLElement>("[data-request]")?.focus();
  } else return;
  e.preventDefault();
}

export function NeedLines({ lines, sessions, before }: Props) {
  const list = useRef<HTMLUListElement>(null);
  const [all, setAll] = useState(false);
  const groups = gather(lines, (l) => l.item);
  // After an answer by key the next line has the focus.
  const last = useRef<HTMLElement | null>(null);
  const onFocus = (e: FocusEvent<HTMLElement>) => (last.current = e.target.matches("[data-request]") || inText(e.target) ? e.target : null);
  useLayoutEffect(() => {
    const [was, now] = [last.current, document.activeElement];
    const line = was?.closest<HTMLElement>("[data-line]");
    if (!line?.inert || (now !== document.body && !line.contains(now))) return;
    last.current = null;
    heads(list.current!).find((h) => line.compareDocumentPosition(h) & Node.DOCUMENT_POSITION_FOLLOWING)?.focus();
  }, [lines]);
  const of = (r: Request) => sessions.find((s) => s.id === r.session);
  const one = ({ item, gone }: Line<Request>) => <One key={item.request_id} request={item} gone={gone} session={of(item)} before={before} />;
  return (
    <>
      <ul ref={list} className="plain need-lines" onKeyDown={onKeyDown} onFocus={onFocus}>
        {(all ? groups : groups.slice(0, linesAtOnce)).map((g) => (g.length === 1 ? one(g[0]!) : <Together key={wanted(g[0]!.item)} lines={g} sessions={g.flatMap((l) => of(l.item) ?? [])}>{g.map(one)}</Together>))}
      </ul>
      {!all && groups.length > linesAtOnce && <button type="button" className="link small" onClick={() => setAll(true)}>Show {groups.length - linesAtOnce} more</button>}
    </>
  );
}

interface HeadProps { kind: "one" | "several"; open: boolean; onOpen: () => void; title: string; who?: string; request: Request; cwd: string; where: string; children?: ReactNode }

/** The line itself: who wants what, and where. */
function Head({ kind, open, onOpen, title, who, request: r, cwd, where, children }: HeadProps) {
  const size = r.data.diff ? diffSize(r.data.diff) : undefined;
  return (
    <div className="home-row need-row">
      <button type="button" className="home-link need-head" data-need={kind} aria-expanded={open} onClick={onOpen}>
        <ChevronRight size={12} className="need-turn" aria-hidden="true" />
        <span className="dot needs" aria-hidden="true" />
        <strong className="cut home-title">{title}</strong>
        {who && <span className="dim home-who">{who}</span>}
        <span className="need-verb dim">{shortly(r)}</span>
        <span className="cut grow mono">{gist(r, cwd)}</span>
        {size && <span className="counts small home-counts"><span className="added">+{size.added}</span> <span className="removed">−{size.removed}</span></span>}
        <span className="faint cut need-where">{where}</span>
      </button>
      {children}
    </div>
  );
}

function One({ request: r, gone, session: s, before }: { request: Request; gone: boolean; session: Session | undefined; before: Props["before"] }) {
  const { nameOf } = useNames();
  const [open, setOpen] = useState(false);
  const self = useRef<HTMLLIElement>(null);
  useLayoutEffect(() => {
    if (!open) return;
    self.current!.querySelector<HTMLElement>("[data-request]")?.focus({ preventScroll: true });
    self.current!.scrollIntoView({ block: "nearest" });
  }, [open]);
  const title = safeName(s?.title ?? "") || "New session";
  return (
    <li ref={self} data-line="" className={gone ? "gone" : ""} inert={gone}>
      <Head kind="one" open={open} onOpen={() => setOpen(!open)} title={title} who={s ? nameOf(s) : ""} request={r} cwd={s?.cwd ?? ""} where={s ? safeName(baseName(s.cwd)) : ""}>
        {gone ? <span className="tag">Answered</span> : r.expires_at && !open && <span className="small"><Countdown to={r.expires_at} /></span>}
      </Head>
      {open && (
        <div className="home-need need-open">
          {s && before?.(s)}
          <RequestCard request={r} />
          <Link to={sessionPath(r.session)} className="small" aria-label={`Open the session ${title}`}>Open the session</Link>
        </div>
      )}
    </li>
  );
}

const short = 120;

/** Whether the line says all that there is to know about the request. */
const said = (r: Request, cwd: string) => ["execute", "fetch", "search", "read"].includes(r.data.class ?? "") && !r.data.diff && !/[⏎…]/.test(gist(r, cwd)) && gist(r, cwd).length <= short;

/** What several sessions want. Each gets an answer of its own. */
function Together({ lines, sessions, children }: { lines: readonly Line<Request>[]; sessions: readonly Session[]; children: ReactNode }) {
  const [open, setOpen] = useState(false);
  const [sending, setSending] = useState(false);
  const first = lines[0]!.item;
  const waiting = lines.flatMap((l) => (l.gone ? [] : [l.item]));
  const folders = [...new Set(sessions.map((s) => safeName(baseName(s.cwd))))].join(", ");
  const answer = async (did: string, what: Answer) => {
    setSending(true);
    await together(did, waiting, (r) => decide(r, what));
    setSending(false);
  };
  const whole = said(first, "");
  return (
    <li data-line="" className={waiting.length === 0 ? "gone" : ""} inert={waiting.length === 0}>
      <Head kind="several" open={open} onOpen={() => setOpen(!open)} title={`${new Set(lines.map((l) => l.item.session)).size} sessions want`} request={first} cwd="" where={folders}>
        {waiting.length === 0 && <span className="tag">Answered</span>}
        {waiting.length > 0 && (open || whole) && (
          <span className="home-acts need-acts">
            <Button tiny look="primary" disabled={sending} onClick={() => answer("Allowed", { behavior: "allow", scope: "once" })}>Allow all {waiting.length}</Button>
            <Button tiny look="danger" disabled={sending} onClick={() => answer("Denied", { behavior: "deny" })}>Deny all {waiting.length}</Button>
          </span>
        )}
      </Head>
      {open && <div className="need-open">{!whole && <What request={first} cwd="" />}<ul className="plain">{children}</ul></div>}
    </li>
  );
}
