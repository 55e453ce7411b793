// A row of the conversation. A subagent's thread has rows again, so both are here.

import { ChevronRight } from "lucide-react";
import { memo, useState } from "react";
import { plural } from "../lib/format";
import { safeText } from "../lib/safe";
import { type Row, rowsOf } from "../model/rows";
import type { SubagentItem } from "../model/types";
import { RequestCard } from "../requests/RequestCard";
import { useShown } from "./context";
import { Notice, Said, Task, Thinking, TurnEnd, User } from "./Items";
import { Markdown } from "./Markdown";
import { Media } from "./Media";
import { ToolCard, ToolGroup } from "./ToolCard";

export function RowView({ row }: { row: Row }) {
  if (row.type === "group") return <ToolGroup tools={row.tools} />;
  const { item } = row;
  switch (item.type) {
    case "user":
      return <User item={item} />;
    case "text":
      return <Said item={item} />;
    case "thinking":
      return <Thinking item={item} />;
    case "tool":
      return <ToolCard tool={item} />;
    case "request":
      return <RequestCard request={item.request} />;
    case "subagent":
      return <Subagent item={item} />;
    case "task":
      return <Task item={item} />;
    case "notice":
      return <Notice item={item} />;
    case "turn-end":
      return <TurnEnd item={item} />;
    case "media":
      return <Media block={item.block} />;
  }
}

/** A subagent: a thread of its own that can be unfolded. */
const Subagent = memo(function Subagent({ item }: { item: SubagentItem }) {
  const { conversation } = useShown();
  const [open, setOpen] = useState(false);
  const items = conversation.threads.get(item.actor) ?? [];
  return (
    <section className="subagent" aria-label={`Subagent ${item.name}`}>
      <button type="button" className="fold tool-line" aria-expanded={open} onClick={() => setOpen(!open)}>
        <ChevronRight size={14} aria-hidden="true" />
        <span className={`dot ${item.running ? "busy" : ""}`} aria-hidden="true" />
        <span className="tool-name">{safeText(item.name)}</span>
        <span className="grow cut dim">{safeText(item.description)}</span>
        <span className="faint tool-time">{item.running ? "working" : plural(items.length, "step")}</span>
      </button>
      {open && (
        <div className="subagent-body">
          {rowsOf(items).map((row) => <RowView key={row.key} row={row} />)}
          {item.result && items.length === 0 && <Markdown text={item.result} />}
        </div>
      )}
    </section>
  );
});
