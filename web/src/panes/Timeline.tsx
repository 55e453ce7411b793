import { useMemo } from "react";
import { useShown } from "../conversation/context";
import { useNow } from "../lib/now";
import { clock, dollars, duration, plural } from "../lib/format";
import { safeName } from "../lib/safe";
import { useView } from "../lib/state";
import { type Bar, timeline, type TurnLine } from "../model/timeline";

const kinds: { is: (b: Bar) => boolean; name: string; css: string }[] = [
  { is: (b) => b.kind === "wait", name: "waited for you", css: "wait" },
  { is: (b) => b.bad, name: "failed", css: "bad" },
  { is: (b) => b.kind === "execute", name: "commands", css: "execute" },
  { is: (b) => b.kind === "edit", name: "edits", css: "edit" },
  { is: () => true, name: "other tools", css: "other" },
];

const kindOf = (b: Bar) => kinds.find((k) => k.is(b))!;

const jump = (key: string) => useView.setState({ jump: { key }, phone: "chat", drawer: false });

/** The session as a picture: a bar for each turn, with what ran in it and when it waited. */
export function Timeline() {
  const { conversation } = useShown();
  const now = useNow(conversation.runningTurn !== "");
  const lines = useMemo(() => timeline(conversation, now), [conversation, now]);
  if (lines.length === 0) return <div className="empty"><strong>Nothing happened yet</strong><span>Each turn becomes a bar here: what ran, when it waited for you, and what it cost.</span></div>;
  const longest = Math.max(1, ...lines.map((l) => l.ms));
  const used = kinds.filter((k) => lines.some((l) => l.bars.some((b) => kindOf(b) === k)));
  return (
    <div className="pane-pad timeline">
      <ol className="plain">{lines.map((l) => <Line key={l.key} line={l} longest={longest} />)}</ol>
      {used.length > 0 && <p className="legend small dim">{used.map((k) => <span key={k.css} className="row"><span className={`swatch tl-${k.css}`} /> {k.name}</span>)}</p>}
    </div>
  );
}

function Line({ line: l, longest }: { line: TurnLine; longest: number }) {
  const percent = (ms: number) => `${Math.min(100, (100 * ms) / Math.max(1, l.ms))}%`;
  const facts = [
    clock(l.time), l.running ? `${duration(l.ms)} so far` : duration(l.ms), l.tools > 0 && plural(l.tools, "tool"),
    l.waited >= 1_000 && `waited ${duration(l.waited)}`, l.costUsd > 0 && dollars(l.costUsd), l.failed && "failed", l.undone && "undone",
  ].filter(Boolean);
  return (
    <li className={l.undone ? "undone" : ""}>
      <button type="button" className="tl-turn" onClick={() => jump(l.key)}>
        <span className="cut">{safeName(l.title) || "Turn"}</span>
        <span className="faint small">{facts.join(" · ")}</span>
      </button>
      <div className={`tl-bar${l.failed ? " failed" : ""}`} style={{ width: `${Math.max(4, (100 * l.ms) / longest)}%` }} aria-hidden="true">
        {l.bars.map((b) => (
          <span key={`${b.kind}${b.key}`} className={`tl-part tl-${kindOf(b).css}`} title={safeName(b.title)} style={{ left: percent(b.from), width: percent(b.to - b.from) }} onClick={() => jump(b.key)} />
        ))}
      </div>
    </li>
  );
}
