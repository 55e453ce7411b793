import { memo, useEffect, useState } from "react";
import type { Tokens } from "../lib/highlight";
import { CopyButton } from "../ui/CopyButton";

/** The tokens of a piece of code, once the highlighter is there. */
export function useTokens(code: string, language: string): Tokens | null {
  const [tokens, setTokens] = useState<{ code: string; tokens: Tokens } | null>(null);
  useEffect(() => {
    if (!language || code.length > 60_000) return;
    let gone = false;
    const timer = setTimeout(async () => {
      const { highlight } = await import("../lib/highlight");
      const tokens = await highlight(code, language).catch(() => null);
      if (!gone && tokens) setTokens({ code, tokens });
    }, 60);
    return () => {
      gone = true;
      clearTimeout(timer);
    };
  }, [code, language]);
  return tokens?.code === code ? tokens.tokens : null;
}

/** The look of a line of a diff. */
const lineClass = (line: string) =>
  /^(\+\+\+|---|diff |index )/.test(line) ? "code-line file" : line.startsWith("@@") ? "code-line hunk" : line.startsWith("+") ? "code-line plus" : line.startsWith("-") ? "code-line minus" : "code-line";

export const CodeBlock = memo(function CodeBlock({ code, language }: { code: string; language: string }) {
  const diff = /^(diff|patch)$/i.test(language);
  const tokens = useTokens(code, diff ? "" : language);
  return (
    <div className="code-block">
      <div className="code-head">
        <span className="grow cut">{language || "text"}</span>
        <CopyButton text={code} label="Copy code" />
      </div>
      <pre tabIndex={0} role="group" aria-label={`Code${language ? ` in ${language}` : ""}`}>
        <code>
          {diff
            ? code.split("\n").map((line, i) => <span key={i} className={lineClass(line)}>{line}{"\n"}</span>)
            : tokens
            ? tokens.map((line, i) => (
                <span key={i}>
                  {line.map((t, j) => (
                    <span key={j} style={t.color ? { color: t.color } : undefined}>
                      {t.text}
                    </span>
                  ))}
                  {"\n"}
                </span>
              ))
            : code}
        </code>
      </pre>
    </div>
  );
});
