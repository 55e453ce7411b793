// Messages and tools: text as it comes, calls as they run, results.

import type { Block, KnownEvent } from "../api/types";
import type { Draft } from "./draft";
import { root, type ToolItem } from "./types";

type Of<K extends KnownEvent["kind"]> = Extract<KnownEvent, { kind: K }>;

/** Live output is cut to this many characters; the newest are kept. */
export const outputLimit = 200_000;

/** Whether the agent says that this is not for people, such as an error that the end of its turn reports. */
export const hidden = (e: Pick<KnownEvent, "visibility">) => e.visibility === "internal" || e.visibility === "log";

const partKey = (actor: string, messageId: string, index: number) => `${actor}/${messageId}/${index}`;

export function onMessage(d: Draft, e: Of<"message.delta" | "reasoning.delta" | "message.complete" | "user.prompt">): void {
  const actor = e.actor || root;
  const base = { turn: e.turn ?? "", time: e.time };
  switch (e.kind) {
    case "message.delta":
    case "reasoning.delta": {
      const type = e.kind === "message.delta" ? "text" : "thinking";
      const key = partKey(actor, e.data.message_id, e.data.index);
      const item = d.get(key, type);
      if (item) {
        // Pieces that come after the whole message change nothing.
        if (item.streaming) d.patch(key, type, { text: item.text + e.data.text });
        return;
      }
      d.add(actor, { ...base, type, key, messageId: e.data.message_id, index: e.data.index, text: e.data.text, streaming: true });
      return;
    }
    case "user.prompt": {
      const key = e.data.message_id ?? `u${e.seq}`;
      // Where people run the agent themselves, the turn begins without its prompt.
      const first = !d.items(actor).some((i) => i.turn === base.turn);
      d.add(actor, {
        ...base, type: "user", key, blocks: e.data.blocks, origin: first ? "user" : "steer", ...(e.by ? { by: e.by } : {}),
      });
      return;
    }
    case "message.complete":
      if (e.data.role === "assistant" && hidden(e)) {
        e.data.blocks.forEach((_, index) => d.patch(partKey(actor, e.data.message_id, index), "text", { text: "", streaming: false }));
      } else if (e.data.role === "assistant") {
        const place = placesOf(d, actor, e.data);
        e.data.blocks.forEach((block, index) => complete(d, e, actor, block, index, place(block, index)));
      } else if (e.data.role === "tool") {
        for (const block of e.data.blocks) lateResult(d, block);
      }
  }
}

/**
 * Where the pieces of a message's blocks are. Mostly their numbers tell; but some agents
 * count the pieces otherwise than the blocks of the whole message. Then the first piece of
 * a kind is the first block of that kind.
 */
function placesOf(d: Draft, actor: string, message: { message_id: string; blocks: Block[] }): (block: Block, index: number) => string {
  const byNumber = (_: Block, index: number) => partKey(actor, message.message_id, index);
  const pieces = d.items(actor).filter((i) => (i.type === "text" || i.type === "thinking") && i.streaming && i.messageId === message.message_id);
  if (pieces.every((p) => message.blocks[p.index!]?.type === p.type)) return byNumber;
  return (block, index) => {
    const at = pieces.findIndex((p) => p.type === block.type);
    return at < 0 ? `${byNumber(block, index)}+` : pieces.splice(at, 1)[0]!.key;
  };
}

/** Puts one block of a whole message in the place of its pieces. */
function complete(d: Draft, e: Of<"message.complete">, actor: string, block: Block, index: number, key: string): void {
  const place = { turn: e.turn ?? "", time: e.time, messageId: e.data.message_id, index };
  switch (block.type) {
    case "text":
    case "thinking": {
      const text = block.text ?? "";
      if (d.patch(key, block.type, { text, streaming: false })) return;
      if (text.trim()) d.add(actor, { ...place, type: block.type, key, text, streaming: false });
      return;
    }
    case "tool_use":
      if (!block.tool_id) return;
      if (d.get(block.tool_id, "tool")) d.patch(block.tool_id, "tool", { input: block.input });
      else d.add(actor, { ...place, ...newTool(block.tool_id, block.name ?? "tool"), input: block.input });
      return;
    case "image":
    case "document":
      d.add(actor, { ...place, type: "media", key, block });
  }
}

/** A result that comes only within a message, for agents that report no tool.post. */
function lateResult(d: Draft, block: Block): void {
  const tool = block.tool_id ? d.get(block.tool_id, "tool") : undefined;
  if (!tool || (tool.state !== "running" && tool.state !== "writing")) return;
  const { output, media } = split(block.content);
  d.patch(tool.key, "tool", {
    state: block.is_error ? "failed" : "done", output, media, ...(block.is_error ? { error: output } : {}),
  });
}

function newTool(toolId: string, name: string): Omit<ToolItem, "turn" | "time"> {
  return { type: "tool", key: toolId, toolId, name, class: "other", state: "writing", output: "", media: [] };
}

/** Some agents wrap what went wrong in a tag that is meant for the model. */
const withoutTags = (text: string) => text.replace(/^<(tool_use_error|error)>([\s\S]*?)(?:<\/\1>\s*)?$/, "$2");

function split(content: Block[] | undefined): { output: string; media: Block[] } {
  let output = "";
  const media: Block[] = [];
  for (const block of content ?? []) {
    if (block.type === "text") output += withoutTags(block.text ?? "");
    else if (block.type === "image" || block.type === "document") media.push(block);
  }
  return { output, media };
}

type ToolEvent = Of<"tool.start" | "tool.delta" | "tool.pre" | "tool.progress" | "tool.post" | "tool.failure" | "permission.denied">;

export function onTool(d: Draft, e: ToolEvent): void {
  const actor = e.actor || root;
  const base = { turn: e.turn ?? "", time: e.time };
  const id = e.data.tool_id;
  switch (e.kind) {
    case "tool.start":
      d.add(actor, {
        ...base, ...newTool(e.data.tool_id, e.data.name), class: e.data.class,
        ...(e.data.message_id ? { messageId: e.data.message_id, index: e.data.index } : {}),
      });
      break;
    case "tool.delta": {
      const tool = d.get(e.data.tool_id, "tool");
      if (tool?.state === "writing") d.patch(tool.key, "tool", { partialInput: (tool.partialInput ?? "") + e.data.partial_input });
      break;
    }
    case "tool.pre": {
      const { tool_id, name, title, paths, diff, input } = e.data;
      d.add(actor, { ...base, ...newTool(tool_id, name) });
      d.patch(tool_id, "tool", { state: "running", since: e.time, name, class: e.data.class, input, title, paths, diff, partialInput: undefined });
      break;
    }
    case "tool.progress": {
      const tool = d.get(e.data.tool_id, "tool");
      if (tool?.state !== "running") break;
      d.patch(tool.key, "tool", {
        output: (tool.output + (e.data.text ?? "")).slice(-outputLimit),
      });
      break;
    }
    case "tool.post":
    case "tool.failure":
      finish(d, e, actor);
      break;
    case "permission.denied":
      if (id) d.patch(id, "tool", { state: "denied", error: e.data.reason ?? "The agent denied it without asking." });
  }
}

function finish(d: Draft, e: Of<"tool.post" | "tool.failure">, actor: string): void {
  const { tool_id, name, diff } = e.data;
  d.add(actor, { turn: e.turn ?? "", time: e.time, ...newTool(tool_id, name) });
  const { output, media } = split(e.data.content);
  const live = d.get(tool_id, "tool")?.output ?? "";
  const change: Partial<ToolItem> = {
    state: "done", output: (output || live).slice(-outputLimit), media, durationMs: e.data.duration_ms ?? 0, partialInput: undefined,
  };
  if (diff) change.diff = diff;
  if (e.kind === "tool.failure") {
    change.state = e.data.denied ? "denied" : e.data.interrupted ? "interrupted" : "failed";
    change.error = e.data.error && withoutTags(e.data.error);
  }
  d.patch(tool_id, "tool", change);
}
