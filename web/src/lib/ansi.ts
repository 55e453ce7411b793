// Terminal output as lines of styled text. A real terminal (xterm, without a
// screen) plays the sequences, so that progress bars and cursor movements come out
// as they would look; nothing in them can reach the page.

import { type IBufferCell, Terminal } from "@xterm/headless";

export interface Span {
  text: string;
  className: string;
  /** A colour beyond the sixteen that the theme has. */
  color?: string;
}

const columns = 200;
const maxLines = 5_000;

function classOf(cell: IBufferCell): string {
  const names: string[] = [];
  if (cell.isFgPalette() && cell.getFgColor() < 16) names.push(`ansi-${cell.getFgColor() % 8}`);
  if (cell.isBold()) names.push("ansi-bold");
  if (cell.isDim()) names.push("ansi-dim");
  if (cell.isItalic()) names.push("ansi-italic");
  if (cell.isUnderline()) names.push("ansi-underline");
  if (cell.isInverse()) names.push("ansi-inverse");
  if (colorOf(cell)) names.push("ansi-color");
  return names.join(" ");
}

const hex = (n: number) => n.toString(16).padStart(2, "0");

/** The colour of a cell that is not among the sixteen of the theme. */
export function colorOf(cell: Pick<IBufferCell, "isFgPalette" | "isFgRGB" | "getFgColor">): string | undefined {
  const n = cell.getFgColor();
  if (cell.isFgRGB()) return `#${n.toString(16).padStart(6, "0")}`;
  if (!cell.isFgPalette() || n < 16) return undefined;
  if (n >= 232) return `#${hex(8 + 10 * (n - 232)).repeat(3)}`;
  const level = (v: number) => hex(v === 0 ? 0 : 55 + 40 * v);
  return `#${level(Math.floor((n - 16) / 36))}${level(Math.floor((n - 16) / 6) % 6)}${level((n - 16) % 6)}`;
}

/** Plays the output and reads the screen. */
export async function play(output: string): Promise<Span[][]> {
  const terminal = new Terminal({ cols: columns, rows: 40, scrollback: maxLines, convertEol: true, allowProposedApi: true });
  try {
    await new Promise<void>((done) => terminal.write(output, done));
    return read(terminal);
  } finally {
    terminal.dispose();
  }
}

function read(terminal: Terminal): Span[][] {
  const buffer = terminal.buffer.active;
  const lines: Span[][] = [];
  for (let y = 0; y < buffer.length; y++) {
    const line = buffer.getLine(y);
    if (!line) continue;
    const spans = line.isWrapped && lines.length > 0 ? lines.at(-1)! : [];
    if (!line.isWrapped || lines.length === 0) lines.push(spans);
    let end = line.length;
    while (end > 0 && !line.getCell(end - 1)?.getChars()) end--;
    for (let x = 0; x < end; x++) {
      const cell = line.getCell(x);
      if (!cell || cell.getWidth() === 0) continue;
      const color = colorOf(cell);
      const className = classOf(cell);
      const text = cell.getChars() || " ";
      const last = spans.at(-1);
      if (last?.className === className && last.color === color) last.text += text;
      else spans.push({ text, className, ...(color ? { color } : {}) });
    }
  }
  while (lines.length > 0 && lines.at(-1)!.length === 0) lines.pop();
  return lines;
}
