import { expect, it } from "vitest";
import type { TeamMember, TeamMessage } from "../api/types";
import { bend, graphOf, tellGraph } from "./graph";

const member = (name: string) => ({ name, agent: "mock", state: "idle", mail: 0, joined_at: "" }) as TeamMember;
const message = (from: string, to: string[], time = "1") => ({ from, to, time }) as TeamMessage;

it("counts the messages of each pair, each way", () => {
  const g = graphOf([member("ann"), member("bob")], [message("ann", ["bob"]), message("ann", ["bob"], "2"), message("bob", ["ann", "eve"]), message("ann", ["#tests", "all"])], 400, 200);
  expect(g.nodes.map((n) => n.name)).toEqual(["ann", "bob", "eve"]);
  expect(g.edges.map((e) => [e.from.name, e.to.name, e.count, e.last])).toEqual([["ann", "bob", 2, "2"], ["bob", "ann", 1, "1"], ["bob", "eve", 1, "1"]]);
  expect(tellGraph(g)).toBe("ann wrote to bob 2 times, bob wrote to ann once, bob wrote to eve once");
  expect(bend(g.edges[0]!)).not.toBe(bend(g.edges[1]!));
  for (const n of g.nodes) expect(n.x > 0 && n.x < 400 && n.y > 0 && n.y < 200).toBe(true);
});

it("says that nobody has written", () => {
  expect(tellGraph(graphOf([member("ann")], [], 400, 200))).toBe("1 member; nobody has written yet");
});
