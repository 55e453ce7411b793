import { Square, SquareCheck } from "lucide-react";
import { useId, useState } from "react";
import type { Question, Request } from "../api/types";
import { safeLink, safeText } from "../lib/safe";
import { Button } from "../ui/Button";
import { useDecide } from "./useDecide";

type Picked = Record<string, { labels: string[]; text: string }>;

/** Questions with options, several answers where allowed, and free text always. */
export function QuestionCard({ request }: { request: Request }) {
  const questions = request.data.questions ?? [];
  const { sending, answer } = useDecide(request);
  const [picked, setPicked] = useState<Picked>({});
  const [last, setLast] = useState("");
  const url = safeLink(request.data.url);

  const send = (all: Picked) => {
    const answers: Record<string, string | string[]> = {};
    for (const q of questions) {
      const p = all[q.id];
      const given = [...(p?.labels ?? []), ...(p?.text.trim() ? [p.text.trim()] : [])];
      if (given.length > 0) answers[q.id] = given.length === 1 ? given[0]! : given;
    }
    return answer({ behavior: "answer", answers });
  };
  const pick = (q: Question, label: string) => {
    const now = picked[q.id] ?? { labels: [], text: "" };
    const labels = q.multi
      ? now.labels.includes(label) ? now.labels.filter((l) => l !== label) : [...now.labels, label]
      : [label];
    const next = { ...picked, [q.id]: { labels, text: q.multi ? now.text : "" } };
    setPicked(next);
    setLast(q.id);
    // One question with one answer is answered by choosing.
    if (questions.length === 1 && !q.multi) void send(next);
  };
  const answered = (q: Question) => (picked[q.id]?.labels.length ?? 0) > 0 || !!picked[q.id]?.text.trim();
  const complete = questions.every(answered);
  // Digits answer the first question that is open; one with several answers has them until another is.
  const at = questions.findIndex((q) => (q.multi && q.id === last) || !answered(q));

  return (
    <form className="answer-form" onSubmit={(e) => { e.preventDefault(); if (complete) void send(picked); }}>
      {url && <a href={url} target="_blank" rel="noreferrer noopener">Open {new URL(url).host}</a>}
      {questions.map((q, n) => (
        <Ask key={q.id} question={q} now={n === at} picked={picked[q.id] ?? { labels: [], text: "" }} disabled={sending} onPick={(label) => pick(q, label)}
          onText={(text) => setPicked({ ...picked, [q.id]: { labels: q.multi ? (picked[q.id]?.labels ?? []) : [], text } })} />
      ))}
      <div className="answers">
        <button type="submit" className="button primary" disabled={!complete || sending}>Answer</button>
        <Button look="quiet" data-key="d" disabled={sending} onClick={() => answer({ behavior: "reject" })}>Skip <kbd>d</kbd></Button>
      </div>
    </form>
  );
}

function Ask({ question: q, now, picked, disabled, onPick, onText }: {
  question: Question; /** Whether digits answer it. */ now: boolean; picked: { labels: string[]; text: string }; disabled: boolean;
  onPick: (label: string) => void; onText: (text: string) => void;
}) {
  const id = useId();
  return (
    <fieldset className="question" disabled={disabled}>
      <legend>
        {q.header && <span className="tag">{safeText(q.header)}</span>} {safeText(q.text)}
        {q.multi && <span className="faint"> (choose any)</span>}
      </legend>
      <div className="options">
        {(q.options ?? []).map((o, i) => (
          <button key={o.label} type="button" className="option" role={q.multi ? "checkbox" : "radio"} aria-checked={picked.labels.includes(o.label)}
            data-key={now && i < 9 ? String(i + 1) : undefined} onClick={() => onPick(o.label)}>
            {now && i < 9 ? <kbd>{i + 1}</kbd> : <span className="no-key" aria-hidden="true" />}
            {q.multi && (picked.labels.includes(o.label) ? <SquareCheck size={15} aria-hidden="true" /> : <Square size={15} aria-hidden="true" />)}
            <span><strong>{safeText(o.label)}</strong>{o.description && <span className="dim"> {safeText(o.description)}</span>}</span>
          </button>
        ))}
      </div>
      <label htmlFor={id} className="visually-hidden">Another answer to: {safeText(q.text)}</label>
      <input id={id} className="input" placeholder="Another answer" value={picked.text} onChange={(e) => onText(e.target.value)} />
    </fieldset>
  );
}
