import { expect, it } from "vitest";
import { messageOf } from "./comments";

it("says where each comment belongs", () => {
  expect(messageOf([
    { path: "a.go", line: 3, code: "  x := 1", text: "name it ", key: "I3" }, { path: "b.go", line: 1, code: "package b", text: "why?", key: "N1" },
  ])).toBe("a.go:3\n> x := 1\nname it\n\nb.go:1\n> package b\nwhy?");
});
