// What the composer offers while a person types: / commands and @ files.

export interface Trigger { kind: "command" | "file"; word: string; from: number; to: number }

/** The word at the caret if it can be completed. Commands begin the message. */
export function triggerAt(text: string, caret: number): Trigger | null {
  const before = text.slice(0, caret);
  const command = /^\/([^\s/]*)$/.exec(before);
  if (command) return { kind: "command", word: command[1]!, from: 0, to: caret };
  const file = /(?:^|\s)@([^\s@]*)$/.exec(before);
  if (file) return { kind: "file", word: file[1]!, from: caret - file[1]!.length - 1, to: caret };
  return null;
}

/** Puts the choice in the place of the word; returns the text and where the caret goes. */
export function insert(text: string, at: Trigger, choice: string): { text: string; caret: number } {
  const put = `${at.kind === "command" ? "/" : "@"}${choice} `;
  const rest = text.slice(at.to).replace(/^ /, "");
  return { text: text.slice(0, at.from) + put + rest, caret: at.from + put.length };
}

/**
 * How well a word fits a name: the letters must occur in order. Beginnings of
 * parts, runs, and the last part of a path count more. Zero means not at all.
 */
export function fuzzy(word: string, name: string): number {
  if (!word) return 1;
  const needle = word.toLowerCase();
  const hay = name.toLowerCase();
  const base = hay.lastIndexOf("/") + 1;
  let score = 0;
  let from = 0;
  let last = -2;
  for (const c of needle) {
    const at = hay.indexOf(c, from);
    if (at < 0) return 0;
    score += 1;
    if (at === last + 1) score += 3;
    if (at === 0 || /[/._\- ]/.test(hay[at - 1]!)) score += 4;
    if (at >= base) score += 1;
    last = at;
    from = at + 1;
  }
  if (hay.slice(base).startsWith(needle)) score += 8;
  return score / (1 + name.length / 200);
}

export function best<T>(word: string, all: readonly T[], name: (t: T) => string, limit = 8): T[] {
  return all
    .map((t) => ({ t, score: fuzzy(word, name(t)) }))
    .filter((x) => x.score > 0)
    .sort((a, b) => b.score - a.score || (word ? name(a.t).length - name(b.t).length : 0))
    .slice(0, limit)
    .map((x) => x.t);
}
