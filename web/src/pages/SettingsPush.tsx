// Notifications while no page is open.

import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { ApiError } from "../api/http";
import { keys } from "../api/keys";
import { getPush, testPush, turnOffPush, turnOnPush, whyNot } from "../lib/push";
import { useSettings } from "../lib/state";
import { attempt, say } from "../lib/toast";
import { Button } from "../ui/Button";

const name = "Also when this page is closed";

export function Push() {
  const on = useSettings((s) => s.push);
  const [busy, setBusy] = useState(false);
  const impossible = whyNot();
  const { error } = useQuery({ queryKey: keys.push, enabled: !impossible, queryFn: ({ signal }) => getPush(signal) });
  const why = impossible || (error instanceof ApiError && error.status > 0 ? error.message : "");
  if (why) return <div className="setting"><span><strong>{name}</strong><span className="dim small">{why}</span></span></div>;
  const change = async (to: boolean) => {
    setBusy(true);
    await attempt(to ? "It was not turned on" : "The server was not told", to ? turnOnPush : turnOffPush);
    setBusy(false);
  };
  return (
    <>
      <label className="setting">
        <span><strong>{name}</strong><span className="dim small">Your browser's maker delivers them, encrypted. They say which session needs you or is done, and no more.</span></span>
        <input type="checkbox" checked={on} disabled={busy} onChange={(e) => void change(e.target.checked)} />
      </label>
      {on && (
        <div className="setting">
          <span className="dim small">Does it work?</span>
          <Button tiny onClick={() => void attempt("The test was not sent", async () => { await testPush(); say("Sent. It shows in a moment."); })}>Send a test</Button>
        </div>
      )}
    </>
  );
}
