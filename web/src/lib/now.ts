import { useEffect, useState } from "react";

/** The time, once a second or as often as is said, while something runs. */
export function useNow(running: boolean, every = 1_000): number {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    if (!running) return;
    setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), every);
    return () => clearInterval(timer);
  }, [running, every]);
  return now;
}
