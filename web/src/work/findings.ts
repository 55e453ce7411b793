// Findings of a review: their order, and what to tell an agent about one.

import type { Finding } from "../api/types";

const order = ["critical", "high", "medium", "low", "info"];

/** The worst first. */
export const worst = (a: Finding, b: Finding) => order.indexOf(a.severity) - order.indexOf(b.severity);

/** A line of the new file, from a diff of git. */
export function lineOf(diff: string, file: string, line: number): string {
  let path = "";
  let at = 0;
  for (const text of diff.split("\n")) {
    if (text.startsWith("diff --git ")) [path, at] = ["", 0];
    else if (at === 0 && text.startsWith("+++ ")) path = text.slice(4).replace(/^"?b\//, "").replace(/"$/, "");
    else if (text.startsWith("@@")) at = Number(/\+(\d+)/.exec(text)?.[1] ?? 0);
    else if (at > 0 && (text.startsWith("+") || text.startsWith(" "))) {
      if (path === file && at === line) return text.slice(1);
      at++;
    }
  }
  return "";
}

/** The prompt that has an agent deal with a finding. */
export function promptOf(f: Finding, diff: string): string {
  const place = f.file ? (f.line ? `${f.file}:${f.line}` : f.file) : "";
  const code = f.file && f.line ? lineOf(diff, f.file, f.line).trim().slice(0, 200) : "";
  return [
    "A review found this. Check whether it is right, and fix it if so.",
    [place, code && `> ${code}`, `${f.severity}, ${f.category}: ${f.message}`].filter(Boolean).join("\n"),
    f.suggestion && `Suggestion: ${f.suggestion}`,
  ].filter(Boolean).join("\n\n");
}
