import { useContext } from "react";
import { useNames } from "../api/names";
import { ShownContext } from "../conversation/context";
import { clock, dollars, tokens, totalTokens } from "../lib/format";
import { applyTheme, type Theme, useSettings } from "../lib/state";
import { modelName } from "../lib/words";
import { useConnection } from "../stream/live";

const words = { connecting: "connecting", live: "live", reconnecting: "reconnecting", "signed-out": "signed out" };

export function StatusBar() {
  const connection = useConnection();
  const shown = useContext(ShownContext);
  const theme = useSettings((s) => s.theme);
  const away = connection.state === "reconnecting";
  return (
    <footer className="status">
      <span className="row" role="status">
        <span className={`dot ${connection.state === "live" ? "live" : away ? "needs" : ""}`} aria-hidden="true" />
        {words[connection.state]}
        {away && ` since ${clock(new Date(connection.since).toISOString())}`}
      </span>
      {shown && <Facts />}
      <span className="grow" />
      <label className="row">
        Theme
        <select className="pick" value={theme} onChange={(e) => applyTheme(e.target.value as Theme)}>
          <option value="system">System</option>
          <option value="light">Light</option>
          <option value="dark">Dark</option>
          <option value="contrast">High contrast</option>
        </select>
      </label>
    </footer>
  );
}

function Facts() {
  const { nameOf } = useNames();
  const { session, conversation: c } = useContext(ShownContext)!;
  const usage = c.usage;
  const full = usage?.context_used && usage.context_max ? Math.round((100 * usage.context_used) / usage.context_max) : null;
  const used = totalTokens(usage ?? session.usage);
  const cost = usage?.cost_usd ?? session.cost_usd;
  return (
    <>
      <span>{nameOf(session)}{session.agent === "native" ? "" : ` ${c.info.version}`}</span>
      {session.agent !== "native" && (session.model || c.info.model) && <span>{modelName(session.model || c.info.model)}</span>}
      {full !== null ? <span>{full} % context</span> : usage?.context_used ? <span>{tokens(usage.context_used)} tokens in context</span> : null}
      {used > 0 && <span>{tokens(used)} tokens</span>}
      {cost > 0 && <span>{dollars(cost)}</span>}
    </>
  );
}
