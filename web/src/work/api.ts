// What the pages about several agents read and do.

import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { ApiError, call, query } from "../api/http";
import { keys } from "../api/keys";
import type { List, Race, ReviewReport, Session, Team, TeamMember, TeamMessage, WorkflowRun } from "../api/types";

const id = encodeURIComponent;
const post = <T>(path: string, body: unknown = {}) => call<T>(path, { method: "POST", body });

export const useTeam = () => useQuery({ queryKey: keys.team, queryFn: ({ signal }) => call<Team>("/v1/team", { signal }) });

export const useMembers = () =>
  useQuery({ queryKey: [...keys.team, "agents"], queryFn: ({ signal }) => call<List<TeamMember>>("/v1/team/agents", { signal }) });

export interface Mail { items: TeamMessage[]; /** Whether there are older ones. */ more: boolean }

/** The messages among that many of the newest entries of the team's log. */
export const useMail = (back: number) =>
  useQuery({
    queryKey: [...keys.team, "mail", back], placeholderData: keepPreviousData,
    queryFn: async ({ signal }): Promise<Mail> => {
      const { session } = await call<Team>("/v1/team", { signal });
      const last = await call<Session>(`/v1/sessions/${id(session)}`, { signal }).then((s) => s.last_seq, (cause) => {
        if (cause instanceof ApiError && cause.status === 404) return 0; // nobody has written yet
        throw cause;
      });
      const items: TeamMessage[] = [];
      const first = Math.max(0, last - back);
      for (let after: string | undefined = String(first); after !== undefined && last > 0;) {
        const page: List<TeamMessage> = await call(`/v1/team/messages${query({ after: after === "0" ? undefined : after, limit: 1000 })}`, { signal });
        items.push(...page.items);
        after = page.next || undefined;
      }
      return { items, more: first > 0 };
    },
  });

export interface NewMember { name: string; agent: string; cwd?: string; instructions?: string; topics?: string[]; reports_to?: string }

export const spawn = (member: NewMember) => post<TeamMember>("/v1/team/agents", member);
export const shutDown = (name: string) => call<void>(`/v1/team/agents/${id(name)}`, { method: "DELETE" });
export const sendMail = (to: string[], text: string) => post<TeamMessage>("/v1/team/messages", { to, text });
export const readMail = (message: string) => post<void>(`/v1/team/messages/${id(message)}/read`);
export const setTopology = (kind: string) => call<Team>("/v1/team/topology", { method: "PUT", body: { kind } });

/** Work is looked at again after a while, in case it was cut off, which nobody tells. */
const lookAgain = (state: string | undefined) => (state === "running" ? 5_000 : false);

export const useWorkflows = (every?: number) =>
  useQuery({ queryKey: [...keys.work, "workflows"], refetchInterval: every ?? false, queryFn: ({ signal }) => call<List<WorkflowRun>>("/v1/workflows", { signal }) });
export const useWorkflow = (run: string) =>
  useQuery<WorkflowRun>({
    queryKey: [...keys.work, "workflows", run], retry: false, refetchInterval: (q) => lookAgain(q.state.data?.state),
    queryFn: ({ signal }) => call<WorkflowRun>(`/v1/workflows/${id(run)}`, { signal }),
  });
export const startWorkflow = (body: { workflow: string; cwd: string; input?: string }) => post<WorkflowRun>("/v1/workflows", body);
export const resumeWorkflow = (run: string, decision?: "retry" | "skip" | "stop") =>
  post<WorkflowRun>(`/v1/workflows/${id(run)}/resume`, decision ? { decision } : {});

export const useReviews = () =>
  useQuery({ queryKey: [...keys.work, "reviews"], queryFn: ({ signal }) => call<List<ReviewReport>>("/v1/reviews", { signal }) });
export const useReview = (review: string) =>
  useQuery<ReviewReport>({
    queryKey: [...keys.work, "reviews", review], retry: false, refetchInterval: (q) => lookAgain(q.state.data?.state),
    queryFn: ({ signal }) => call<ReviewReport>(`/v1/reviews/${id(review)}?diff=1`, { signal }),
  });
export interface NewReview { cwd: string; template: string; diff?: string; agents?: string[]; input?: string }
export const startReview = (body: NewReview) => post<ReviewReport>("/v1/reviews", body);
export const resumeReview = (review: string) => post<ReviewReport>(`/v1/reviews/${id(review)}/resume`);

export const useRaces = (every?: number) =>
  useQuery({ queryKey: [...keys.work, "races"], refetchInterval: every ?? false, queryFn: ({ signal }) => call<List<Race>>("/v1/races", { signal }) });
export const useRace = (race: string) =>
  useQuery<Race>({
    queryKey: [...keys.work, "races", race], retry: false, refetchInterval: (q) => lookAgain(q.state.data?.state),
    queryFn: ({ signal }) => call<Race>(`/v1/races/${id(race)}?diff=1`, { signal }),
  });
export const startRace = (body: { cwd: string; task: string; agents: string[]; check?: string }) => post<Race>("/v1/races", body);
export const resumeRace = (race: string) => post<Race>(`/v1/races/${id(race)}/resume`);
export const keepRacer = (race: string, racer: string, how: "merge" | "patch") => post<Race>(`/v1/races/${id(race)}/keep`, { racer, how });
export const dropRace = (race: string) => post<Race>(`/v1/races/${id(race)}/drop`);
