// The races, workflows and benches for which sessions work.

import { useCallback, useMemo } from "react";
import type { Session } from "../api/types";
import { baseName } from "../lib/format";
import { useRaces, useWorkflows } from "./api";

interface Parent { id: string; name: string }

const bench: Parent = { id: "bench", name: "Benches" };

const every = 30_000; // milliseconds; the stream does not tell that others begin one

/** Which of them a session works for. */
export function useParents(): (s: Session) => Parent | undefined {
  const races = useRaces(every).data?.items;
  const runs = useWorkflows(every).data?.items;
  const parents = useMemo(() => {
    const out = new Map<string, Parent>();
    for (const r of races ?? []) for (const one of r.racers ?? []) if (one.session) out.set(one.session, { id: r.id, name: `Race: ${r.task}` });
    for (const w of runs ?? []) for (const step of w.steps ?? []) if (step.session) out.set(step.session, { id: w.id, name: `Workflow: ${w.name}` });
    return out;
  }, [races, runs]);
  return useCallback((s: Session) => parents.get(s.id) ?? (s.title.startsWith("bench: ") && /^terret-task-\d+$/.test(baseName(s.cwd)) ? bench : undefined), [parents]);
}
