// A session as one HTML file that needs nothing else and can do nothing: no scripts, no
// requests. What looks like a secret is left out.

import { type ReactNode } from "react";
import { flushSync } from "react-dom";
import { createRoot } from "react-dom/client";
import type { Session } from "../api/types";
import { RichMarkdown as Markdown } from "../conversation/RichMarkdown";
import { clock, dollars, duration, tokens, totalTokens } from "../lib/format";
import { safeName, safeProse, safeText, withoutAnsi } from "../lib/safe";
import { withoutSecrets } from "../lib/secrets";
import { argument, describe, outcome } from "../model/summary";
import { type Conversation, type Item, root, type ToolItem } from "../model/types";
import { answersOf, gist, verdict } from "../requests/words";

const css = `
:root { color-scheme: light dark; --line: color-mix(in srgb, currentColor 18%, transparent); --soft: color-mix(in srgb, currentColor 6%, transparent); --dim: color-mix(in srgb, currentColor 68%, transparent); }
body { max-width: 46rem; margin: 2rem auto; padding: 0 1rem; font: 15px/1.6 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 22px; margin: 0; } header p, .facts { color: var(--dim); font-size: 13px; }
.user { margin: 1.5rem 0 .75rem; padding: .6rem 1rem; border-radius: 8px; background: var(--soft); white-space: pre-wrap; }
pre { overflow-x: auto; margin: .4rem 0; padding: .5rem .75rem; border-radius: 6px; background: var(--soft); font: 12.5px/1.5 ui-monospace, monospace; white-space: pre-wrap; }
code { font-family: ui-monospace, monospace; font-size: .92em; }
details { margin: .25rem 0; font-size: 13px; } summary { cursor: pointer; color: var(--dim); }
.plus { background: rgb(60 160 90 / .18); } .minus { background: rgb(200 60 60 / .16); } .plus, .minus { display: block; }
.facts { border-bottom: 1px solid var(--line); padding-bottom: .75rem; } .bad { color: #c0392b; }
table { border-collapse: collapse; } td, th { border: 1px solid var(--line); padding: 2px 8px; } button, .code-head { display: none; }
`;

/** What React makes of a node, as text. */
function markup(node: ReactNode): string {
  const box = document.createElement("div");
  const made = createRoot(box);
  flushSync(() => made.render(node));
  const html = box.innerHTML;
  made.unmount();
  return html;
}

export function htmlOf(session: Session, who: string, c: Conversation): string {
  const items = c.threads.get(root) ?? [];
  const body = markup(
    <>
      <header>
        <h1>{safeName(session.title) || "Session"}</h1>
        <p>{[who, new Date(session.created_at).toLocaleString(), session.cost_usd > 0 ? dollars(session.cost_usd) : ""].filter(Boolean).join(" · ")}</p>
      </header>
      <main>{items.map((item) => <Part key={item.key} item={item} c={c} cwd={session.cwd} />)}</main>
    </>,
  );
  const title = safeName(session.title || "Session").replace(/[&<>"]/g, " ");
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<title>${withoutSecrets(title)}</title><style>${css}</style></head><body>${withoutSecrets(body)}</body></html>
`;
}

function Part({ item, c, cwd }: { item: Item; c: Conversation; cwd: string }) {
  switch (item.type) {
    case "user":
      return <div className="user">{safeProse(item.blocks.map((b) => b.text ?? (b.name || b.type)).join(""))}</div>;
    case "text":
      return <Markdown text={item.text} />;
    case "thinking":
      return <details><summary>Thought</summary><Markdown text={item.text} /></details>;
    case "tool":
      return <Tool tool={item} cwd={cwd} />;
    case "subagent":
      return <details><summary>{safeText(item.name)} {safeText(item.description)}</summary>{(c.threads.get(item.actor) ?? []).map((i) => <Part key={i.key} item={i} c={c} cwd={cwd} />)}</details>;
    case "request": {
      const d = item.request.decision;
      return !d || d.behavior === "passthrough" || item.request.data.tool_id ? null : <p className="facts">{verdict(d, "")}: {answersOf(d) ? safeText(answersOf(d)) : gist(item.request)}</p>;
    }
    case "notice":
      return <p className="facts">{safeText(item.text)}</p>;
    case "turn-end":
      return (
        <p className="facts">
          {item.error && <span className="bad">{safeText(item.error.message)} · </span>}
          {[clock(item.time), duration(item.durationMs), totalTokens(item.usage) > 0 && `${tokens(totalTokens(item.usage))} tokens`, item.costUsd > 0 && dollars(item.costUsd), c.undone.has(item.turn) && "undone"].filter(Boolean).join(" · ")}
        </p>
      );
    default:
      return null;
  }
}

function Tool({ tool, cwd }: { tool: ToolItem; cwd: string }) {
  const text = withoutAnsi(tool.error || tool.output).trim();
  return (
    <details open={!!tool.diff && tool.state === "done"}>
      <summary>{safeName(tool.name)} <code>{argument(tool.input, cwd)}</code> {describe(tool.input)} {outcome(tool)}</summary>
      {tool.diff
        ? <pre>{tool.diff.split("\n").map((l, i) => <span key={i} className={l.startsWith("+") ? "plus" : l.startsWith("-") ? "minus" : undefined}>{safeText(l)}{"\n"}</span>)}</pre>
        : text && <pre>{safeText(text)}</pre>}
    </details>
  );
}
