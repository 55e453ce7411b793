import type { Row } from "../model/rows";
import { RequestCard } from "../requests/RequestCard";
import { Notice, Said, Subagent, Task, Thinking, TurnEnd, User } from "./Items";
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
