import { type KeyboardEvent, type RefObject, useEffect, useMemo, useRef, useState } from "react";
import { useCommands, useFileNames } from "../api/queries";
import type { Command, Session } from "../api/types";
import { safeName } from "../lib/safe";
import { best, insert, type Trigger, triggerAt } from "./complete";

const none: readonly Command[] = [];

/** The commands that either list has, in their order, with what one of them says about each. */
export function together(known: readonly Command[], asked: readonly Command[]): readonly Command[] {
  if (known.length === 0 || asked.length === 0) return known.length > 0 ? known : asked;
  const bare = (c: Command) => c.name.replace(/^\//, "");
  const about = new Map(asked.map((c) => [bare(c), c]));
  const names = new Set(known.map(bare));
  return [...known.map((c) => ({ ...about.get(bare(c)), ...c })), ...asked.filter((c) => !names.has(bare(c)))];
}

interface Choice { value: string; label: string; hint: string }

export interface CompletionState {
  open: boolean;
  choices: Choice[];
  chosen: number;
  pick: (choice: Choice) => void;
  onKeyDown: (e: KeyboardEvent) => boolean;
  onCaret: () => void;
  isCommand: (name: string) => boolean;
}

/** Offers / commands and @ files for the word at the caret. */
export function useCompletion(
  session: Session,
  known: readonly Command[],
  text: string,
  area: RefObject<HTMLTextAreaElement | null>,
  change: (text: string) => void,
): CompletionState {
  const [caret, setCaret] = useState(0);
  const [chosen, setChosen] = useState(0);
  const [closedFor, setClosedFor] = useState<string | null>(null);
  const trigger: Trigger | null = useMemo(() => triggerAt(text, Math.min(caret, text.length)), [text, caret]);
  // What an agent tells when it begins may be names alone; asked for them, it says what they do.
  const asked = useCommands(session.id, trigger?.kind === "command" && !known.some((c) => c.description)).data?.items;
  const commands = useMemo(() => together(known, asked ?? none), [known, asked]);
  const files = useFileNames(session.id, trigger?.kind === "file" ? trigger.word : null);

  const choices = useMemo<Choice[]>(() => {
    if (!trigger) return [];
    if (trigger.kind === "command") {
      return best(trigger.word, commands, (c) => c.name, commands.length).map((c) => ({ value: c.name.replace(/^\//, ""), label: `/${c.name.replace(/^\//, "")}`, hint: c.description ?? c.hint ?? "" }));
    }
    return best(trigger.word, files, (f) => f).map((f) => ({ value: f, label: f, hint: "" }));
  }, [trigger, commands, files]);

  const word = trigger ? `${trigger.kind}:${trigger.word}` : "";
  useEffect(() => setChosen(0), [word]);
  const open = choices.length > 0 && closedFor !== word;

  const pick = (choice: Choice) => {
    if (!trigger) return;
    const next = insert(text, trigger, choice.value);
    change(next.text);
    setCaret(next.caret);
    requestAnimationFrame(() => {
      area.current?.focus();
      area.current?.setSelectionRange(next.caret, next.caret);
    });
  };

  const onKeyDown = (e: KeyboardEvent): boolean => {
    if (!open) return false;
    if (e.key === "ArrowDown" || e.key === "ArrowUp") {
      setChosen((chosen + (e.key === "ArrowDown" ? 1 : choices.length - 1)) % choices.length);
    } else if (e.key === "Tab" || (e.key === "Enter" && !e.shiftKey)) {
      // A command that is written out whole is sent, not completed.
      if (e.key === "Enter" && trigger?.word === choices[chosen]?.value) return false;
      pick(choices[chosen] ?? choices[0]!);
    } else if (e.key === "Escape") {
      setClosedFor(word);
    } else {
      return false;
    }
    e.preventDefault();
    return true;
  };

  const onCaret = () => setCaret(area.current?.selectionStart ?? 0);
  const isCommand = (name: string) => commands.some((c) => c.name.replace(/^\//, "") === name);
  return { open, choices, chosen, pick, onKeyDown, onCaret, isCommand };
}

export function Completion({ completion }: { completion: CompletionState }) {
  const { open, choices, chosen, pick } = completion;
  const list = useRef<HTMLUListElement>(null);
  useEffect(() => {
    void list.current?.children[chosen]?.scrollIntoView({ block: "nearest" }); // a promise in newer browsers, which is no clean-up
  }, [chosen, open]);
  if (!open) return null;
  return (
    <ul ref={list} className="completion" id="completion" role="listbox" aria-label="Completions">
      {choices.map((c, i) => (
        <li key={c.value} id={`completion-${i}`} role="option" aria-selected={i === chosen} onPointerDown={(e) => { e.preventDefault(); pick(c); }}>
          <span className="mono cut">{safeName(c.label)}</span>
          <span className="faint cut grow">{safeName(c.hint)}</span>
        </li>
      ))}
    </ul>
  );
}
