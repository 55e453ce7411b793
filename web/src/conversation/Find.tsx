import { ArrowDown, ArrowUp, X } from "lucide-react";
import { useView } from "../lib/state";
import { Button } from "../ui/Button";

interface Props {
  words: string;
  onWords: (words: string) => void;
  count: number;
  hit: number;
  onHit: (hit: number) => void;
}

/** Finds words in the whole conversation, also in what is not drawn. */
export function Find({ words, onWords, count, hit, onHit }: Props) {
  const close = () => useView.setState({ finding: false });
  const step = (by: number) => count > 0 && onHit((hit + by + count) % count);
  return (
    <div className="find" role="search">
      <input
        className="input"
        autoFocus
        aria-label="Find in conversation"
        placeholder="Find in conversation"
        value={words}
        onChange={(e) => onWords(e.target.value)}
        onKeyDown={(e) => {
          if (e.key === "Enter") step(e.shiftKey ? -1 : 1);
          if (e.key === "Escape") close();
        }}
      />
      <span className="small dim" aria-live="polite">{words ? (count > 0 ? `${hit + 1} of ${count}` : "nothing") : ""}</span>
      <Button look="quiet" tiny label="Previous" onClick={() => step(-1)}><ArrowUp size={14} /></Button>
      <Button look="quiet" tiny label="Next" onClick={() => step(1)}><ArrowDown size={14} /></Button>
      <Button look="quiet" tiny label="Close" onClick={close}><X size={14} /></Button>
    </div>
  );
}
