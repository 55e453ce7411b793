/** What a terminal showed, as a block that Markdown leaves alone. */
export function quoted(text: string): string {
  const body = text.replace(/[ \t]+$/gm, "").replace(/^\n+|\n+$/g, "");
  const longest = Math.max(2, ...[...body.matchAll(/`+/g)].map((m) => m[0].length));
  const fence = "`".repeat(longest + 1);
  return `${fence}\n${body}\n${fence}\n`;
}
