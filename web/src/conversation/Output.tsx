import { type CSSProperties, memo, useEffect, useRef, useState } from "react";
import type { Span } from "../lib/ansi";
import { hasAnsi, safeText, withoutAnsi } from "../lib/safe";

const shown = 20_000;

/** What a tool printed. Colours and cursor movements are played once the terminal is loaded. */
export const Output = memo(function Output({ text, live = false, fromEnd = false }: { text: string; live?: boolean; fromEnd?: boolean }) {
  const [all, setAll] = useState(false);
  const [lines, setLines] = useState<{ of: string; lines: Span[][] } | null>(null);
  const box = useRef<HTMLPreElement>(null);
  const part = all || text.length <= shown ? text : text.slice(-shown);
  const styled = hasAnsi(part);

  useEffect(() => {
    if (!styled) return;
    let gone = false;
    void import("../lib/ansi")
      .then(({ play }) => play(part))
      .then((played) => !gone && setLines({ of: part, lines: played }));
    return () => {
      gone = true;
    };
  }, [part, styled]);

  // What matters in long output is its end.
  useEffect(() => {
    if (fromEnd && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [fromEnd, lines]);

  useEffect(() => {
    if (live && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [live, part]);

  return (
    <>
      {part.length < text.length && (
        <button type="button" className="link small" onClick={() => setAll(true)}>
          Show all {Math.round(text.length / 1024)} KB
        </button>
      )}
      <pre ref={box} className="output" tabIndex={0} role="group" aria-label="Output">
        {styled && lines?.of === part
          ? lines.lines.map((line, i) => (
              <span key={i}>
                {line.map((s, j) => (
                  <span key={j} className={s.className || undefined} style={s.color ? ({ "--color": s.color } as CSSProperties) : undefined}>
                    {safeText(s.text)}
                  </span>
                ))}
                {"\n"}
              </span>
            ))
          : safeText(withoutAnsi(part).replace(/\r\n?/g, "\n"))}
      </pre>
    </>
  );
});
