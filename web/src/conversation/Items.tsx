// One item of the conversation each. A subagent, which has rows of its own, is in RowView.

import { ChevronRight, CircleAlert, GitFork, Info, MoreHorizontal, Pencil, RotateCcw, TriangleAlert, Undo2 } from "lucide-react";
import { memo, useState } from "react";
import { useNames } from "../api/names";
import { useCan, useFork, useMe, useModels, useReplay } from "../api/queries";
import { clock, dollars, duration, sentence, tokens, totalTokens } from "../lib/format";
import { safeProse, safeText } from "../lib/safe";
import { offerDraft, useSettings, useView } from "../lib/state";
import { root } from "../model/types";
import type { NoticeItem, TaskItem, TextItem, ThinkingItem, TurnEndItem, UserItem } from "../model/types";
import { showRight } from "../shell/rightPane";
import { turnsFrom, useSessionActions } from "../shell/sessionActions";
import { Button } from "../ui/Button";
import { CopyButton } from "../ui/CopyButton";
import { Menu } from "../ui/Menu";
import { useShown } from "./context";
import { Markdown } from "./Markdown";
import { Media } from "./Media";

/** Beyond these, in characters and lines, a prompt is folded: what follows it matters more. */
const longPrompt = 2_400;
const longLines = 30;

export const User = memo(function User({ item }: { item: UserItem }) {
  const { nameOf } = useNames();
  const { session, conversation } = useShown();
  const actions = useSessionActions(session);
  const me = useMe();
  const { anywhere } = useFork(session);
  const text = item.blocks.map((b) => b.text ?? "").join("");
  const [whole, setWhole] = useState(false);
  const finding = useView((v) => v.finding); // what is found must be seen
  const long = text.length > longPrompt || text.split("\n").length > longLines;
  const media = item.blocks.filter((b) => b.type === "image" || b.type === "document");
  const can = useCan(session.agent);
  const back = can("undo") && !!session.revert?.can_undo && !conversation.runningTurn && turnsFrom(conversation, item.turn).some((t) => conversation.changed.has(t));
  const last = (conversation.threads.get(root) ?? []).findLast((i) => i.type === "user")?.key === item.key;
  const resend = async () => {
    // The last turn is taken back first; what came before stays, and the words are sent again.
    if (last && session.revert?.can_undo && !conversation.undone.has(item.turn)) await actions.undo();
    offerDraft(session.id, text);
  };
  // What the steps of workflows, reviews and races ask has no other author.
  const task = item.origin === "bus" && item.by === "user";
  const origin = task ? "" : { queue: "from the queue", steer: "while it worked", bus: "from a team-mate", background: "by itself" }[item.origin];
  return (
    <article className="user" aria-label="Message">
      <div className="who">
        <strong>{task ? "Task" : item.origin === "background" ? nameOf(session) : !item.by || !me || item.by === me ? "You" : item.by === "admin" ? "API" : safeText(item.by)}</strong>
        {origin && <span className="faint cut">{origin}</span>}
        <time className="faint" dateTime={item.time}>{clock(item.time)}</time>
        <span className="grow" />
        <span className="on-hover row">
          <CopyButton text={text} label="Copy message" />
          <Menu
            trigger={<Button look="quiet" tiny label="Message actions"><MoreHorizontal size={14} /></Button>}
            entries={[
              back && { label: "Go back to before this", icon: <Undo2 size={14} />, onSelect: () => void actions.goBackTo(item.turn) },
              { label: "Edit and resend", icon: <Pencil size={14} />, onSelect: () => void resend() },
              anywhere && { label: "Fork from here", icon: <GitFork size={14} />, onSelect: () => actions.fork(item.key) },
            ]}
          />
        </span>
      </div>
      {text && <div className={`user-text${long && !whole && !finding ? " folded" : ""}`} dir="auto">{safeProse(text)}</div>}
      {long && <button type="button" className="link small" aria-expanded={whole} onClick={() => setWhole(!whole)}>{whole ? "Show less" : "Show all"}</button>}
      {media.length > 0 && <div className="row wrap">{media.map((b, i) => <Media key={i} block={b} />)}</div>}
    </article>
  );
});

export const Said = memo(function Said({ item }: { item: TextItem }) {
  return (
    <div className="said">
      <Markdown text={item.text} streaming={item.streaming} />
      {!item.streaming && <span className="on-hover said-copy"><CopyButton text={item.text} label="Copy text" /></span>}
    </div>
  );
});

export const Thinking = memo(function Thinking({ item }: { item: ThinkingItem }) {
  const [open, setOpen] = useState(false);
  const first = item.text.trim().split("\n", 1)[0] ?? "";
  return (
    <div className="tool">
      <button type="button" className="fold tool-line" aria-expanded={open} onClick={() => setOpen(!open)}>
        <ChevronRight size={14} aria-hidden="true" />
        <span className="faint">{item.streaming ? "Thinking" : "Thought"}</span>
        {!open && <span className="faint cut grow">{safeProse(first)}</span>}
      </button>
      {open && <div className="thought"><Markdown text={item.text} streaming={item.streaming} /></div>}
    </div>
  );
});

const noticeIcon = { info: Info, warning: TriangleAlert, error: CircleAlert };

export const Notice = memo(function Notice({ item }: { item: NoticeItem }) {
  const Icon = noticeIcon[item.level];
  return (
    <div className={`notice ${item.level}`}>
      <Icon size={14} aria-hidden="true" />
      {item.detail ? (
        <details>
          <summary>{safeText(item.text)}</summary>
          <pre>{safeText(item.detail)}</pre>
        </details>
      ) : (
        <span>{safeText(item.text)}</span>
      )}
    </div>
  );
});

export const Task = memo(function Task({ item }: { item: TaskItem }) {
  return (
    <div className="notice">
      <span className={`dot ${item.running ? "busy" : item.status === "failed" ? "failed" : ""}`} aria-hidden="true" />
      <span>
        {safeText(item.description)} <span className="faint">{safeText(item.text ?? item.status)}</span>
      </span>
    </div>
  );
});

const advice: Record<string, string> = {
  not_authenticated: "Sign the agent in, then send the message again.",
  agent_not_found: "Install the agent; the Agents page says how.",
  rate_limited: "Wait until the limit resets, or choose another model.",
  overloaded: "The provider is busy. Try again in a moment.",
  billing: "The provider says there is no credit left. Check billing in your account.",
  model_not_found: "Choose another model.",
  max_turns: "The turn reached its limit of steps. Send “go on” to continue.",
  max_structured_retries: "The answer never matched the required schema. Try again, or simplify the schema.",
  max_budget: "The turn reached its budget. Raise it, or go on in a new session.",
  interrupted: "You stopped it. Send a message to go on.",
  killed: "It was ended by force. Send a message to go on.",
  timeout: "It took longer than allowed. Send a message to go on.",
};

/** Where a model can be chosen, beside what failed for want of one. */
function OtherModel() {
  const { session } = useShown();
  const actions = useSessionActions(session);
  const models = (useModels(session.agent).data?.items ?? []).filter((m) => m.id !== session.model);
  if (models.length === 0) return <span>This agent offers no other here: begin a session with another agent, or hand this one over.</span>;
  return (
    <select className="pick" aria-label="Another model" value="" onChange={(e) => void actions.update({ model: e.target.value })}>
      <option value="">Choose…</option>
      {models.map((m) => <option key={m.id} value={m.id}>{safeText(m.name || m.id)}</option>)}
    </select>
  );
}

export const TurnEnd = memo(function TurnEnd({ item }: { item: TurnEndItem }) {
  const { session, conversation } = useShown();
  const actions = useSessionActions(session);
  const can = useCan(session.agent);
  const changed = conversation.changed.has(item.turn);
  const undone = conversation.undone.has(item.turn);
  const quietEnd = item.error?.kind === "interrupted" || item.error?.kind === "killed";
  // What to do about a missing key is told to those who have a command line; here it is another thing.
  const noKey = session.agent === "native" && item.error?.kind === "not_authenticated" && / keys set /.test(item.error.message);
  const help = item.error && (noKey ? "Add a key in Settings, or choose the demo model." : (advice[item.error.kind] ?? ""));
  const replay = useReplay(session.id, item.turn, !!item.error && !quietEnd && item.turn !== "");
  const showChanges = () => {
    useView.setState({ changesOf: item.turn, phone: "side" });
    useSettings.setState({ tab: "changes" });
    showRight(true);
  };
  return (
    <footer className="turn-end">
      {item.error && (
        <div className={`turn-error${quietEnd ? " quiet" : ""}`} role={quietEnd ? undefined : "alert"}>
          <strong>{quietEnd ? "Stopped" : sentence(safeText(noKey ? item.error.message.split("; ")[0]! : item.error.message))}</strong>
          {help && <span>{help}</span>}
          {item.error.kind === "model_not_found" && <OtherModel />}
          {(item.errors?.length ?? 0) > 0 && <details><summary>Detail</summary><pre>{safeText(item.errors!.join("\n"))}</pre></details>}
          {!quietEnd && <Button tiny onClick={() => actions.retry(item.turn)}><RotateCcw size={12} /> Retry</Button>}
          {replay && (
            <span className="small turn-replay">
              To run it without Terret, in the session's folder:
              <span className="hint-code"><code>{safeText(replay)}</code><CopyButton text={replay} label="Copy the command" /></span>
            </span>
          )}
        </div>
      )}
      <div className="turn-facts">
        {item.durationMs >= 50 && <span>{duration(item.durationMs)}</span>}
        {totalTokens(item.usage) > 0 && <span>{tokens(totalTokens(item.usage))} tokens</span>}
        {item.costUsd > 0 && <span>{dollars(item.costUsd)}</span>}
        {undone && <span className="tag">undone</span>}
        {changed && (
          <>
            <Button look="quiet" tiny onClick={showChanges}>Changes</Button>
            {!undone && can("undo") && session.revert?.can_undo && (
              <Button look="quiet" tiny onClick={actions.undo}><Undo2 size={12} /> Undo</Button>
            )}
          </>
        )}
      </div>
    </footer>
  );
});
