import { expect, it } from "vitest";
import { session } from "../model/testing";
import { arrange, foldedFirst, type ListBy } from "./kept";
import { pickTo } from "./picked";

const list = [session("a"), session("b", { cwd: "/q", agent: "claude" }), session("c", { cwd: "/q" }), session("d"), session("e", { open_requests: 1 })];
const kept = { pinned: ["d"], archived: ["c", "e"], labels: { a: ["later", "flaky"], b: ["flaky"] } };
const groups = (by: ListBy) => arrange(list, kept, { by, nameOf: (s) => s.agent, branchOf: (s) => (s.cwd === "/q" ? "main" : ""), parentOf: () => undefined }).groups.map((g) => `${g.name}: ${g.sessions.map((s) => s.id).join(" ")}`);

it("what is pinned or put away is apart; what waits for a person never is away", () => {
  const { pinned, archived } = arrange(list, kept, { by: "folder", nameOf: () => "", branchOf: () => "", parentOf: () => undefined });
  expect([pinned.map((s) => s.id), archived.map((s) => s.id)]).toEqual([["d"], ["c"]]);
});

it.each([
  ["folder", ["p: a e", "q: b"]],
  ["agent", ["claude: b", "native: a e"]],
  ["branch", ["main: b", "No branch: a e"]],
  ["label", ["flaky: a b", "later: a", "No label: e"]],
] as const)("grouped by %s", (by, want) => expect(groups(by)).toEqual(want));

it("what works for a race or a workflow is under it, and folded first", () => {
  const parents: Record<string, string> = { a: "r", b: "w", e: "r", d: "r" };
  const { groups, work } = arrange(list, kept, { by: "folder", nameOf: () => "", branchOf: () => "", parentOf: ({ id }) => (parents[id] ? { id: parents[id], name: `Race ${parents[id]}` } : undefined) });
  expect([groups, work.map((g) => [g.name, g.sessions.map((s) => s.id), foldedFirst(g.key)])]).toEqual([[], [["Race r", ["a", "e"], true], ["Race w", ["b"], true]]]);
  expect(foldedFirst("/work")).toBe(false);
});

it("sessions are selected one by one, and from one to another", () => {
  const order = ["a", "b", "c", "d"];
  expect(pickTo([], "", "b", false, order)).toEqual(["b"]);
  expect(pickTo(["b"], "b", "d", true, order)).toEqual(["b", "c", "d"]);
  expect(pickTo(["b", "c", "d"], "d", "a", true, order)).toEqual(["b", "c", "d", "a"]);
  expect(pickTo(["b", "c"], "c", "b", false, order)).toEqual(["c"]);
  expect(pickTo([], "gone", "c", true, order)).toEqual(["c"]);
});
