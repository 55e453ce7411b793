import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { create } from "zustand";
import * as api from "../api/actions";
import { keys } from "../api/keys";
import { useShown } from "../conversation/context";
import { plural } from "../lib/format";
import { attempt, say } from "../lib/toast";
import { isWorking } from "../model/lists";
import { type Conversation, root } from "../model/types";
import { Button } from "../ui/Button";
import { useBranch } from "./branch";
import { type Change, useSplit } from "./ChangeList";

interface Draft {
  text: string;
  /** The turn in which the agent writes the message. */
  turn: string;
  /** What stood there when the agent was asked. */
  before: string;
}

/** Messages that are not committed yet, by session, so that closing the view loses none. */
const useDrafts = create<Record<string, Draft>>(() => ({}));
const empty: Draft = { text: "", turn: "", before: "" };

/** The draft once the agent has written one: it never replaces what a person typed meanwhile. */
export const drafted = (draft: Draft, text: string): Draft => ({ turn: "", before: "", text: text && draft.text === draft.before ? text : draft.text });

const request = (files: readonly Change[]) =>
  `Write a commit message for the uncommitted changes in ${files.slice(0, 20).map((c) => `\`${c.path}\``).join(", ")}${files.length > 20 ? ` and ${plural(files.length - 20, "other file")}` : ""}.\n\n` +
  "The first line says what changes, as an order, in at most 72 characters. If the reason is not plain, add an empty line and say why. " +
  "Change nothing and commit nothing. Answer with the message alone, without quotes or a code block.";

/** What the agent wrote in a turn that has ended; undefined while it runs. */
export function written(c: Conversation, turn: string): string | undefined {
  const items = (c.threads.get(root) ?? []).filter((i) => i.turn === turn);
  if (!items.some((i) => i.type === "turn-end")) return undefined;
  const last = items.findLast((i) => i.type === "text");
  const text = last?.type === "text" ? last.text.trim() : "";
  return /^```[^\n]*\n([\s\S]*?)\n?```$/.exec(text)?.[1]?.trim() ?? text;
}

/** Commits the files of a list, with a message that the agent can draft. */
export function CommitBox({ items }: { items: readonly Change[] }) {
  const { session, conversation } = useShown();
  const client = useQueryClient();
  const { kept } = useSplit(items);
  const draft = useDrafts((s) => s[session.id] ?? empty);
  const [only, setOnly] = useState(false);
  const [sending, setSending] = useState(false);
  const branch = useBranch(session.id);
  const runs = [...(branch?.hooks ?? []).filter((h) => h !== "pre-push"), ...(branch?.signs ? ["signing"] : [])];
  const [wanted, setWanted] = useState(true);
  const hooks = wanted && runs.length > 0 && branch?.trusted === true;
  const set = (change: Partial<Draft>) => useDrafts.setState((s) => ({ [session.id]: { ...empty, ...s[session.id], ...change } }));
  const chosen = only && kept.length > 0 ? kept : items;
  const busy = isWorking(session.state);

  useEffect(() => {
    const text = draft.turn ? written(conversation, draft.turn) : undefined;
    if (text === undefined) return;
    const next = drafted(draft, text);
    set(next);
    if (!text) say("The agent wrote no message", "Look at its last turn.");
    else if (next.text !== text) say("Your own message is kept", "The agent has written one, too.", { label: "Use the agent’s", run: () => set({ text }) });
  });

  const ask = () => attempt("The agent was not asked", async () => {
    const turn = await api.prompt(session.id, [{ type: "text", text: request(chosen) }], "reject");
    set({ turn: turn.id, before: draft.text });
  });
  const commit = async () => {
    setSending(true);
    const done = await attempt("Nothing was committed", () =>
      api.commit(session.id, { message: draft.text, ...(hooks ? { hooks } : {}), files: chosen.map(({ path, state }) => ({ path, state })) }));
    setSending(false);
    await client.invalidateQueries({ queryKey: keys.changes(session.id) });
    await client.invalidateQueries({ queryKey: keys.branch(session.id) });
    if (!done) return;
    set(empty);
    setOnly(false);
    say(`Committed ${plural(done.files, "file")} as ${done.commit.slice(0, 8)}`);
  };
  return (
    <form className="commit-box" aria-label="Commit" onSubmit={(e) => { e.preventDefault(); if (!busy && draft.text.trim()) void commit(); }}>
      <textarea className="input" aria-label="Commit message" placeholder="Commit message" rows={draft.text.includes("\n") ? 5 : 2} value={draft.text}
        onChange={(e) => set({ text: e.target.value })}
        onKeyDown={(e) => { if (e.key === "Enter" && (e.metaKey || e.ctrlKey)) e.currentTarget.form?.requestSubmit(); }} />
      <div className="row wrap">
        <Button disabled={busy || draft.turn !== ""} title={busy ? "The agent is busy" : "Ask the agent to write it; that is a turn of its own"} onClick={ask}>{draft.turn ? "Drafting…" : "Draft"}</Button>
        <span className="grow" />
        {kept.length > 0 && kept.length < items.length && (
          <select className="input" aria-label="What to commit" value={only ? "kept" : "all"} onChange={(e) => setOnly(e.target.value === "kept")}>
            <option value="all">All {plural(items.length, "file")}</option>
            <option value="kept">The {plural(kept.length, "file")} you kept</option>
          </select>
        )}
        <Button type="submit" look="primary" disabled={busy || sending || draft.text.trim() === ""} title={busy ? "Stop the turn first" : undefined}>
          Commit {plural(chosen.length, "file")}
        </Button>
      </div>
      {runs.length > 0 && (
        <label className="row small dim">
          <input type="checkbox" checked={hooks} disabled={!branch?.trusted} onChange={(e) => setWanted(e.target.checked)} />
          <span>Run {runs.join(", ")}{branch?.trusted ? "" : " (trust the folder first); without it no hook runs and nothing is signed"}</span>
        </label>
      )}
    </form>
  );
}
