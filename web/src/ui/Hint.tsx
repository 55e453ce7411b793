import { safeText } from "../lib/safe";
import { CopyButton } from "./CopyButton";

/** A sentence in which `commands` can be copied. */
export function Hint({ text }: { text: string }) {
  return (
    <>
      {text.split("`").map((part, i) =>
        i % 2 === 0 ? (
          safeText(part)
        ) : (
          <span key={i} className="hint-code">
            <code>{safeText(part)}</code>
            <CopyButton text={part} label={`Copy ${part}`} />
          </span>
        ),
      )}
    </>
  );
}
