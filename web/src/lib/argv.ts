/**
 * Splits a command line into the program and its arguments, as a shell would: spaces
 * separate, quotes and backslashes keep them. Nothing else has a meaning. It returns
 * null if a quote is not closed.
 */
export function splitCommand(line: string): string[] | null {
  const out: string[] = [];
  let word: string | null = null;
  let quote = "";
  for (let i = 0; i < line.length; i++) {
    const c = line[i]!;
    if (quote === "'" && c !== "'") word += c;
    else if (c === "\\") word = (word ?? "") + (line[++i] ?? "");
    else if (c === quote) quote = "";
    else if (quote) word += c;
    else if (c === "'" || c === '"') {
      quote = c;
      word ??= "";
    } else if (/\s/.test(c)) {
      if (word !== null) out.push(word);
      word = null;
    } else word = (word ?? "") + c;
  }
  if (quote) return null;
  if (word !== null) out.push(word);
  return out;
}
