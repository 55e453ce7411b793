import {
  Bot, Brain, Check, ChevronRight, FilePen, FileText, Globe, type LucideIcon, Plug, Search, SquareTerminal, Wrench, X,
} from "lucide-react";
import { lazy, memo, type ReactNode, useState } from "react";
import { useMe } from "../api/queries";
import type { Decision, Request, ToolClass } from "../api/types";
import { duration } from "../lib/format";
import { useNow } from "../lib/now";
import { safeName, safeText } from "../lib/safe";
import { argument, commandOf, describe, groupTitle, outcome, pathsOf, toolName, waitsFor, whyFailed } from "../model/summary";
import type { ToolItem } from "../model/types";
import { verdict } from "../requests/words";
import { CopyButton } from "../ui/CopyButton";
import { Lazy } from "../ui/Lazy";
import { useShown } from "./context";
import { Media } from "./Media";
import { Output } from "./Output";
import { Why } from "./Why";

const Diff = lazy(() => import("./Diff"));

const icons: Record<ToolClass, LucideIcon> = {
  execute: SquareTerminal, read: FileText, edit: FilePen, search: Search, fetch: Globe, agent: Bot, mcp: Plug, think: Brain, other: Wrench,
};

export const ToolIcon = ({ of }: { of: ToolClass }) => {
  const Icon = icons[of] ?? Wrench;
  return <Icon size={14} aria-hidden="true" />;
};

const liveTail = 4_000; // characters of a running command that show unasked

const bad = (t: ToolItem) => t.state === "failed" || t.state === "denied";

/** How a request was answered, by whom and why. */
function Verdict({ decision: d }: { decision: Decision }) {
  const me = useMe();
  if (d.behavior === "passthrough" || (d.behavior === "allow" && (d.source === "rule" || d.source === "policy"))) return null;
  const yes = d.behavior === "allow" || d.behavior === "answer" || d.behavior === "approve";
  const words = verdict(d, me) + (d.reason && d.source !== "user" && d.source !== "timeout" ? `: ${safeText(d.reason)}` : "");
  return (
    <>
      {d.source === "timeout" && <span className="tool-bad">{words}</span>}
      {d.reason && d.source === "user" && <span className="cut verdict-why">“{safeText(d.reason)}”</span>}
      <span className={`verdict${yes ? "" : " no"}`} title={words}>
        {yes ? <Check size={13} aria-hidden="true" /> : <X size={13} aria-hidden="true" />}
        <span className="visually-hidden">{words}</span>
      </span>
    </>
  );
}

function Head({ tool, cwd, asked, decision }: { tool: ToolItem; cwd: string; asked: Request | undefined; decision: Decision | undefined }) {
  const result = outcome(tool, asked);
  const described = describe(tool.input);
  const running = tool.state === "running" && !asked;
  const now = useNow(running);
  const spent = tool.durationMs ?? (running && tool.since ? now - Date.parse(tool.since) : undefined);
  const ms = spent === undefined ? undefined : Math.max(0, spent - (tool.waitedMs ?? 0));
  return (
    <>
      <ToolIcon of={tool.class} />
      <span className="tool-name">{toolName(tool)}</span>
      <span className="mono cut grow tool-argument">{argument(tool.input, cwd)}{described && <span className="tool-described"> {described}</span>}</span>
      {running && <span className="dot busy" aria-hidden="true" />}
      {decision && !running && !(tool.state === "failed" && decision.behavior === "allow") && <Verdict decision={decision} />}
      {result && decision?.source !== "timeout" && <span className={bad(tool) ? "tool-bad" : "tool-result"}>{result}</span>}
      {ms !== undefined && ms >= 50 && <span className="faint tool-time">{duration(ms)}</span>}
    </>
  );
}

/** A tool call: one line until a person asks for more. Edits show their diff. */
export const ToolCard = memo(function ToolCard({ tool }: { tool: ToolItem }) {
  const { session, conversation } = useShown();
  const asked = waitsFor(tool, conversation.open);
  const decision = tool.requestId ? conversation.decisions.get(tool.requestId) : undefined;
  const [chosen, setOpen] = useState<boolean | null>(null);
  // While it is asked for, the request shows the diff.
  const open = chosen ?? (tool.class === "edit" && !!tool.diff && tool.state === "done");
  const why = !open && tool.state === "failed" && whyFailed(tool);
  return (
    <div className={`tool${bad(tool) ? " bad" : ""}`}>
      <button type="button" className="fold tool-line" aria-expanded={open} onClick={() => setOpen(!open)}>
        <ChevronRight size={14} aria-hidden="true" />
        <Head tool={tool} cwd={session.cwd} asked={asked} decision={decision} />
      </button>
      {!open && chosen === null && tool.class === "execute" && tool.state === "running" && tool.output && (
        <div className="tool-live"><Output text={tool.output.slice(-liveTail)} live /></div>
      )}
      {why && <p className="tool-reason cut">{why}</p>}
      {open && <ToolBody tool={tool} cwd={session.cwd} decision={decision} />}
    </div>
  );
});

function ToolBody({ tool, cwd, decision }: { tool: ToolItem; cwd: string; decision: Decision | undefined }) {
  const input = inputText(tool);
  return (
    <div className="tool-body">
      {decision && <Why decision={decision} />}
      {!tool.diff && input && (
        <Part title="Input" copy={input}>
          <pre className="output" tabIndex={0} role="group" aria-label="Input">
            {safeText(input)}
          </pre>
        </Part>
      )}
      {tool.diff && (
        <Lazy>
          <Diff text={tool.diff} cwd={cwd} paths={pathsOf(tool.input, tool.paths)} bare />
        </Lazy>
      )}
      {tool.error && tool.error !== tool.output && <p className="tool-error">{safeText(tool.error)}</p>}
      {tool.output && !(tool.diff && tool.state === "done") && (
        <Part title={tool.state === "running" ? "Output so far" : "Output"} copy={tool.output}>
          <Output text={tool.output} live={tool.state === "running"} fromEnd />
        </Part>
      )}
      {tool.media.map((block, i) => (
        <Media key={i} block={block} />
      ))}
      {!tool.output && !tool.error && !tool.diff && tool.state === "done" && tool.media.length === 0 && (
        <p className="small faint">It printed nothing.</p>
      )}
    </div>
  );
}

function Part({ title, copy, children }: { title: string; copy: string; children: ReactNode }) {
  return (
    <div className="tool-part">
      <div className="row">
        <span className="grow faint part-title">{title}</span>
        <CopyButton text={copy} label={`Copy ${title.toLowerCase()}`} />
      </div>
      {children}
    </div>
  );
}

function inputText(tool: ToolItem): string {
  if (tool.input === undefined) return tool.partialInput ?? "";
  const fields = tool.input as Record<string, unknown> | null;
  const command = commandOf(tool.input);
  if (command && Object.keys(fields!).length <= 2) return command;
  return typeof tool.input === "string" ? tool.input : JSON.stringify(tool.input, null, 2);
}

/** Several calls that only look at things, in one line. */
export const ToolGroup = memo(function ToolGroup({ tools }: { tools: readonly ToolItem[] }) {
  const [open, setOpen] = useState(false);
  const total = tools.reduce((sum, t) => sum + (t.durationMs ?? 0), 0);
  return (
    <div className="tool">
      <button type="button" className="fold tool-line" aria-expanded={open} onClick={() => setOpen(!open)}>
        <ChevronRight size={14} aria-hidden="true" />
        <ToolIcon of={tools[0]?.class ?? "read"} />
        <span className="grow cut">{safeName(groupTitle(tools))}</span>
        {total >= 50 && <span className="faint tool-time">{duration(total)}</span>}
      </button>
      {open && (
        <div className="tool-group">
          {tools.map((t) => (
            <ToolCard key={t.key} tool={t} />
          ))}
        </div>
      )}
    </div>
  );
});
