import type { Race } from "../api/types";

/** The racer that did best: the fastest that finished, changed something and passed the check. */
export function best(race: Race): string {
  const good = race.racers.filter((r) => r.state === "finished" && r.files > 0 && r.check !== "failed");
  return good.reduce<(typeof good)[number] | undefined>((a, b) => (!a || b.duration_ms < a.duration_ms ? b : a), undefined)?.name ?? "";
}
