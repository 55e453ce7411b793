// What was said in any session, by its words.

import { useDeferredValue } from "react";
import { useNames } from "../api/names";
import { useFoundMessages, useSessions } from "../api/queries";
import type { Found } from "../api/types";
import { ago } from "../lib/format";
import { useNow } from "../lib/now";
import { go, sessionPath } from "../lib/router";
import { safeName, safeProse } from "../lib/safe";
import { useView } from "../lib/state";
import { Link } from "../ui/Link";

const seek = (f: Found) =>
  useView.setState({ phone: "chat", drawer: false, jump: { message: { session: f.session, turn: f.turn ?? "", messageId: f.message_id ?? "", mine: f.role === "user" } } });

/** Opens the session of a message, at that message. */
export function showMessage(f: Found): void {
  seek(f);
  go(sessionPath(f.session));
}

/** The text around the words, which stand out. */
export function Around({ found, words }: { found: Found; words: string }) {
  const wanted = words.toLowerCase().match(/[\p{L}\p{N}\p{M}]+/gu) ?? [];
  const parts = safeProse(found.text).replaceAll(/`{3,}\S*/g, " ").split(/([\p{L}\p{N}\p{M}]+)/u);
  return (
    <span className="around">
      {parts.map((part, i) => {
        const word = i % 2 === 1 ? wanted.find((w) => part.toLowerCase().startsWith(w)) : undefined;
        return word ? <span key={i}><mark>{part.slice(0, word.length)}</mark>{part.slice(word.length)}</span> : part;
      })}
    </span>
  );
}

export function Messages({ words }: { words: string }) {
  const { agentName } = useNames();
  const sought = useDeferredValue(words.trim());
  const found = useFoundMessages(sought, 30);
  const sessions = useSessions().data?.items ?? [];
  const now = useNow(found.length > 0, 30_000);
  if (found.length === 0) return null;
  return (
    <section aria-label="Messages found">
      <h2>Messages</h2>
      <ul className="plain">
        {found.map((f) => (
          <li key={`${f.session}-${f.seq}`}>
            <Link to={sessionPath(f.session)} className="session message-hit" onClick={() => seek(f)}>
              <span className="cut">{safeName(f.title) || "New session"}</span>
              <span className="faint small">{f.role === "user" ? "You" : agentName(f.agent, sessions.find((s) => s.id === f.session)?.model ?? "")} · {ago(f.time, now)}</span>
              <span className="under"><Around found={f} words={sought} /></span>
            </Link>
          </li>
        ))}
      </ul>
    </section>
  );
}
