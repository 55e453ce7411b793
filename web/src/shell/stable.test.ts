import { expect, it } from "vitest";
import { hold } from "./stable";

const key = (s: string) => s;

it("moves nothing while the list is held", () => {
  const first = hold([], ["a", "b", "c"], key, false);
  expect(first).toEqual({ lines: [{ item: "a", gone: false }, { item: "b", gone: false }, { item: "c", gone: false }], fresh: 0 });
  const held = hold(first.lines, ["new", "c", "a"], key, true);
  expect(held).toEqual({ lines: [{ item: "a", gone: false }, { item: "b", gone: true }, { item: "c", gone: false }], fresh: 1 });
  expect(hold(held.lines, ["new", "c", "a"], key, false).lines.map((l) => l.item)).toEqual(["new", "c", "a"]);
});
