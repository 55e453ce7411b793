// Where a person writes. The draft is kept as it is typed; it is cleared only once
// the server has the message.

import { useQueryClient } from "@tanstack/react-query";
import { Paperclip, Send, Square, X } from "lucide-react";
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "react";
import { prompt, runCommand } from "../api/actions";
import { keys } from "../api/keys";
import { useNames } from "../api/names";
import { useCan, useHas } from "../api/queries";
import type { Block } from "../api/types";
import { useShown } from "../conversation/context";
import { useTouch } from "../lib/media";
import { safeName } from "../lib/safe";
import { nextPolicy } from "../lib/words";
import { getDraft, noteSent, onDraft, remember, setDraft, useSettings } from "../lib/state";
import { attempt, fail } from "../lib/toast";
import { isWorking } from "../model/lists";
import { Away } from "../shell/Away";
import { useSessionActions } from "../shell/sessionActions";
import { Button } from "../ui/Button";
import { blockOf } from "./attachments";
import { Completion, useCompletion } from "./Completion";
import { Pickers, policyOf } from "./Pickers";
import { Queue } from "./Queue";
import { StopButton } from "./StopButton";

type When = "reject" | "queue" | "steer";

export function Composer() {
  const { nameOf } = useNames();
  const { session, conversation } = useShown();
  const client = useQueryClient();
  const actions = useSessionActions(session);
  const [text, setText] = useState(() => getDraft(session.id));
  const [files, setFiles] = useState<Block[]>([]);
  const [past, setPast] = useState(-1);
  const [sending, setSending] = useState(false);
  const area = useRef<HTMLTextAreaElement>(null);
  const picker = useRef<HTMLInputElement>(null);
  const busy = isWorking(conversation.state);
  const can = useCan(session.agent);
  const steer = useHas(session.agent)("steer");
  const touch = useTouch();

  const change = useCallback((next: string) => {
    setText(next);
    setDraft(session.id, next);
  }, [session.id]);

  const completion = useCompletion(session, conversation.info.commands, text, area, change);

  useLayoutEffect(() => {
    const el = area.current;
    if (!el) return;
    el.style.height = "auto";
    el.style.height = `${Math.min(el.scrollHeight, 280)}px`;
  }, [text]);

  useEffect(() => {
    if (matchMedia("(min-width: 700px)").matches) area.current?.focus();
  }, [session.id]);

  useEffect(() => onDraft(session.id, (offer, added) => {
    setText(offer);
    requestAnimationFrame(() => {
      area.current?.focus();
      if (added) area.current?.setSelectionRange(offer.length, offer.length);
      else area.current?.select();
    });
  }), [session.id]);

  const send = async (when: When) => {
    const body = text.trim();
    if ((!body && files.length === 0) || sending) return;
    setSending(true);
    const blocks: Block[] = [...(body ? [{ type: "text", text: body } as Block] : []), ...files];
    const done = await attempt("The message was not sent", async () => {
      const command = /^\/(\S+)\s*([\s\S]*)$/.exec(body);
      if (command && completion.isCommand(command[1]!) && !busy) await runCommand(session.id, command[1]!, command[2]!);
      else await prompt(session.id, blocks, when);
      return true;
    });
    if (when !== "reject") await client.invalidateQueries({ queryKey: keys.queue(session.id) });
    setSending(false);
    if (!done) return;
    if (when !== "queue") noteSent();
    if (body) remember(body);
    // What was typed meanwhile is the next message.
    const now = area.current?.value ?? "";
    change(now.startsWith(text) ? now.slice(text.length) : now);
    setFiles([]);
    setPast(-1);
  };

  const attach = async (list: Iterable<File>) => {
    if (!can("attachments")) {
      fail("Nothing was attached", new Error(`${nameOf(session)} takes no files.`));
      return;
    }
    for (const file of list) {
      try {
        const block = await blockOf(file);
        setFiles((old) => [...old, block]);
      } catch (cause) {
        fail(`${file.name} was not attached`, cause);
      }
    }
  };

  const recall = (by: number) => {
    const { history } = useSettings.getState();
    const next = Math.max(-1, Math.min(history.length - 1, past + by));
    if (next === past) return;
    setPast(next);
    change(next < 0 ? "" : history[next]!);
  };

  const onKeyDown = (e: React.KeyboardEvent<HTMLTextAreaElement>) => {
    if (e.nativeEvent.isComposing || completion.onKeyDown(e)) return;
    if (e.key === "Tab" && e.shiftKey) {
      e.preventDefault();
      void actions.update({ policy: nextPolicy(policyOf(session)) });
    } else if (e.key === "Enter" && !e.shiftKey) {
      e.preventDefault();
      void send(e.altKey ? "queue" : busy ? (steer && !e.altKey ? "steer" : "queue") : "reject");
    } else if (e.key === "ArrowUp" && (past >= 0 || text === "")) {
      e.preventDefault();
      recall(1);
    } else if (e.key === "ArrowDown" && past >= 0) {
      e.preventDefault();
      recall(-1);
    }
  };

  const empty = !text.trim() && files.length === 0;
  return (
    <div
      className="composer"
      onDragOver={(e) => e.preventDefault()}
      onDrop={(e) => {
        e.preventDefault();
        void attach(e.dataTransfer.files);
      }}
    >
      <div className="measure">
        <Queue session={session} />
        <Away />
        <Completion completion={completion} />
        <div className="composer-box">
          {files.length > 0 && (
            <ul className="attached">
              {files.map((f, i) => (
                <li key={i} className="tag">
                  {safeName(f.name ?? f.type)}
                  <button type="button" aria-label={`Remove ${safeName(f.name ?? "file")}`} onClick={() => setFiles(files.filter((_, n) => n !== i))}><X size={12} /></button>
                </li>
              ))}
            </ul>
          )}
          <textarea
            ref={area}
            rows={1}
            dir="auto"
            value={text}
            aria-label="Message"
            aria-autocomplete="list"
            aria-controls={completion.open ? "completion" : undefined}
            aria-activedescendant={completion.open ? `completion-${completion.chosen}` : undefined}
            placeholder={busy ? (steer ? `Steer ${nameOf(session)}${touch ? "" : ", or Alt-Enter to queue"}` : "Queue a message") : "Message   / commands   @ files"}
            onChange={(e) => { change(e.target.value); setPast(-1); }}
            onKeyDown={onKeyDown}
            onSelect={completion.onCaret}
            onPaste={(e) => {
              if (e.clipboardData.files.length === 0) return;
              e.preventDefault();
              void attach(e.clipboardData.files);
            }}
          />
          <div className="composer-foot">
            <input ref={picker} type="file" multiple hidden tabIndex={-1} aria-hidden="true" onChange={(e) => { void attach(e.target.files ?? []); e.target.value = ""; }} />
            {can("attachments") && <Button look="quiet" tiny label="Attach files" onClick={() => picker.current?.click()}><Paperclip size={14} /></Button>}
            <Pickers />
            <span className="grow" />
            {busy && <StopButton session={session} />}
            {busy ? (
              <>
                <Button tiny disabled={empty || sending} onClick={() => send("queue")}>Queue <kbd>{steer ? "⌥⏎" : "⏎"}</kbd></Button>
                {steer && <Button tiny look="primary" disabled={empty || sending} onClick={() => send("steer")}>Steer <kbd>⏎</kbd></Button>}
              </>
            ) : (
              <Button tiny look="primary" disabled={empty || sending} onClick={() => send("reject")}>
                {sending ? <Square size={12} className="spin" /> : <Send size={12} />} Send <kbd>⏎</kbd>
              </Button>
            )}
          </div>
        </div>
      </div>
    </div>
  );
}
