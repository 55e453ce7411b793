import { useMemo } from "react";
import { useShown } from "../conversation/context";
import { Output } from "../conversation/Output";
import { ToolIcon } from "../conversation/ToolCard";
import { clock, duration } from "../lib/format";
import { safeName } from "../lib/safe";
import { argument, outcome } from "../model/summary";
import type { ToolItem } from "../model/types";

const newest = 60;
const tail = 2_000;

/** Tools as they run, the newest first, with what they print. */
export function Activity() {
  const { session, conversation } = useShown();
  const tools = useMemo(() => {
    const all: ToolItem[] = [];
    for (const items of conversation.threads.values()) for (const i of items) if (i.type === "tool") all.push(i);
    return all.sort((a, b) => (a.time < b.time ? 1 : a.time > b.time ? -1 : 0)).slice(0, newest);
  }, [conversation.threads]);
  if (tools.length === 0) {
    return <div className="empty"><strong>No activity yet</strong><span>Commands, edits and searches appear here as the agent makes them.</span></div>;
  }
  return (
    <ol className="activity">
      {tools.map((t) => (
        <li key={t.key}>
          <div className="row small">
            <ToolIcon of={t.class} />
            <span className="mono cut grow">{t.class === "execute" ? "$ " : `${safeName(t.name)} `}{argument(t.input, session.cwd)}</span>
            <span className={t.state === "failed" || t.state === "denied" ? "tool-bad" : "faint"}>
              {outcome(t, !!t.requestId && conversation.open.has(t.requestId)) || (t.durationMs !== undefined && t.durationMs >= 50 ? duration(t.durationMs) : clock(t.time))}
            </span>
          </div>
          {(t.class === "execute" || t.state === "failed") && (t.output || t.error) && (
            <Output text={(t.output || t.error!).slice(-tail)} live={t.state === "running"} />
          )}
        </li>
      ))}
    </ol>
  );
}
