// Who talks to whom, as a picture: members on a circle, a line for each pair that wrote.

import type { TeamMember, TeamMessage } from "../api/types";
import { plural } from "../lib/format";

export interface Node { name: string; x: number; y: number; member: TeamMember | undefined }
export interface Edge { from: Node; to: Node; count: number; /** The time of the newest message. */ last: string }
export interface Graph { nodes: Node[]; edges: Edge[] }

/** The graph of the messages. People who wrote and are not members are there, too. */
export function graphOf(members: readonly TeamMember[], messages: readonly TeamMessage[], width: number, height: number): Graph {
  const names = [...new Set([...members.map((m) => m.name), ...messages.flatMap((m) => [m.from, ...m.to])])].filter((n) => n !== "all" && !n.startsWith("#"));
  const nodes = names.map((name, i): Node => {
    const angle = (2 * Math.PI * i) / names.length - Math.PI / 2;
    const alone = names.length === 1;
    return {
      name, member: members.find((m) => m.name === name),
      x: width / 2 + (alone ? 0 : Math.cos(angle) * (width / 2 - 56)), y: height / 2 + (alone ? 0 : Math.sin(angle) * (height / 2 - 34)),
    };
  });
  const at = new Map(nodes.map((n) => [n.name, n]));
  const edges = new Map<string, Edge>();
  for (const m of messages) {
    for (const name of m.to) {
      const from = at.get(m.from);
      const to = at.get(name);
      if (!from || !to || from === to) continue;
      const key = `${from.name}\n${to.name}`;
      const old = edges.get(key);
      edges.set(key, { from, to, count: (old?.count ?? 0) + 1, last: m.time });
    }
  }
  return { nodes, edges: [...edges.values()] };
}

/** The graph in words. */
export function tellGraph(g: Graph): string {
  if (g.edges.length === 0) return `${plural(g.nodes.length, "member")}; nobody has written yet`;
  return g.edges.map((e) => `${e.from.name} wrote to ${e.to.name} ${e.count === 1 ? "once" : `${e.count} times`}`).join(", ");
}

/** A line that bends to its right, so that two ways between a pair stay apart. */
export function bend(e: Edge): string {
  const [dx, dy] = [e.to.x - e.from.x, e.to.y - e.from.y];
  const length = Math.hypot(dx, dy) || 1;
  const gap = 20; // room for the marks of the members
  const [x1, y1] = [e.from.x + (dx / length) * gap, e.from.y + (dy / length) * gap];
  const [x2, y2] = [e.to.x - (dx / length) * gap, e.to.y - (dy / length) * gap];
  const [cx, cy] = [(x1 + x2) / 2 - (dy / length) * 16, (y1 + y2) / 2 + (dx / length) * 16];
  return [`M${x1},${y1}`, `Q${cx},${cy}`, `${x2},${y2}`].map((p) => p.replace(/-?\d+\.\d+/g, (n) => Number(n).toFixed(1))).join(" ");
}
