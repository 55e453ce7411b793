import { useNames } from "../api/names";
import { stopwatch, tokens, totalTokens } from "../lib/format";
import { useNow } from "../lib/now";
import { safeText } from "../lib/safe";
import { wordsOf } from "../model/act";
import { isWorking } from "../model/lists";
import { useShown } from "./context";

/** The last line of a conversation: who does what, for how long. Its place is kept while nobody works. */
export function LiveLine() {
  const { nameOf } = useNames();
  const { session, conversation: c } = useShown();
  const state = c.state === "pending" ? session.state : c.state;
  const working = isWorking(state) || c.runningTurn !== "";
  const now = useNow(working);
  const used = c.usage ? totalTokens(c.usage) - c.usedBefore : 0;
  const asked = c.open.size > 0;
  return (
    <div className="live-line" aria-label="What the agent is doing" role="group">
      {working && (
        <div className="measure row">
          <span className={`dot ${asked ? "needs" : "busy"}`} aria-hidden="true" />
          <span className="live-who">{nameOf(session)}</span>
          <span className="cut">{safeText(wordsOf(c.act))}</span>
          {c.act.since && <span className="live-fact">{stopwatch(now - Date.parse(c.act.since))}</span>}
          {used > 0 && <span className="live-fact">{tokens(used)} tokens</span>}
          <span className="live-fact desktop-only"><kbd className="key">Esc</kbd> to stop</span>
        </div>
      )}
    </div>
  );
}
