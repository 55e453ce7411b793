import { useEffect, useState } from "react";
import { countdown } from "../lib/format";

/** The time that is left to answer. */
export function Countdown({ to }: { to: string }) {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, []);
  const left = Date.parse(to) - now;
  return (
    <span className={`countdown${left < 30_000 ? " soon" : ""}`} role="timer" title="Denied when the time is up">
      {countdown(left)}
    </span>
  );
}
