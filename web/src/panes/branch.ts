// Where the branch of a session's folder stands, and its pull request.

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { call } from "../api/http";
import { keys } from "../api/keys";
import type { Branch, PullRequest } from "../api/types";

const at = (session: string, rest: string) => `/v1/sessions/${encodeURIComponent(session)}${rest}`;

/** Undefined until it is known. It is looked at anew after each turn. */
export const useBranch = (session: string): Branch | undefined =>
  useQuery({
    queryKey: keys.branch(session), retry: false, staleTime: 5_000,
    queryFn: ({ signal }) => call<Branch>(at(session, "/branch"), { signal }),
  }).data;

/** The pull request; undefined if there is none. The forge is asked when the branch was pushed. */
export const usePullRequest = (session: string, branch: Branch | undefined): PullRequest | undefined =>
  useQuery({
    queryKey: ["pull-request", session, branch?.branch], retry: false, staleTime: 60_000, refetchInterval: 120_000,
    enabled: !!branch?.program && !!branch.upstream && branch.trusted,
    queryFn: ({ signal }) => call<PullRequest>(at(session, "/pull-request"), { signal }),
  }).data;

/** Looks at everything about the branch again. */
export function useLookAgain(session: string): () => Promise<void> {
  const client = useQueryClient();
  return async () => {
    await client.invalidateQueries({ queryKey: keys.changes(session) });
    await client.invalidateQueries({ queryKey: keys.branch(session) });
    await client.invalidateQueries({ queryKey: ["pull-request", session] });
  };
}

/** How far the branch is from where it was pushed, or from its base: "↑2 ↓1". */
export function distance(b: Branch): string {
  const d = b.upstream ?? b.base;
  return d ? [d.ahead > 0 && `↑${d.ahead}`, d.behind > 0 && `↓${d.behind}`].filter(Boolean).join(" ") : "";
}

/** The checks of a pull request in three letters at most. */
export function checksOf(p: PullRequest): string {
  const count = (state: string) => p.checks.filter((c) => c.state === state).length;
  return [[count("passed"), "✓"], [count("failed"), "✕"], [count("pending"), "…"]].filter(([n]) => n).map(([n, sign]) => `${n}${sign}`).join(" ");
}
