import { Check, Copy } from "lucide-react";
import { useState } from "react";
import { fail } from "../lib/toast";
import { Button } from "./Button";

export function CopyButton({ text, label = "Copy" }: { text: string; label?: string }) {
  const [done, setDone] = useState(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setDone(true);
      setTimeout(() => setDone(false), 1_500);
    } catch (cause) {
      fail("The browser did not let us copy", cause);
    }
  };
  return (
    <Button look="quiet" tiny label={done ? "Copied" : label} onClick={copy} className="copy">
      {done ? <Check size={13} /> : <Copy size={13} />}
    </Button>
  );
}
