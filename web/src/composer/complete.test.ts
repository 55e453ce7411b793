import { expect, it } from "vitest";
import { best, fuzzy, insert, triggerAt } from "./complete";

it.each([
  ["/", 1, { kind: "command", word: "", from: 0, to: 1 }],
  ["/com", 4, { kind: "command", word: "com", from: 0, to: 4 }],
  ["see @src/a", 10, { kind: "file", word: "src/a", from: 4, to: 10 }],
  ["@", 1, { kind: "file", word: "", from: 0, to: 1 }],
  ["a /com", 6, null],
  ["me@example", 10, null],
  ["/com now", 8, null],
  ["/usr/bin", 8, null],
])("in %j at %i", (text, caret, want) => expect(triggerAt(text, caret)).toEqual(want));

it("puts the choice in its place", () => {
  expect(insert("see @sr and", triggerAt("see @sr and", 7)!, "src/a.go")).toEqual({ text: "see @src/a.go and", caret: 14 });
  expect(insert("/co", triggerAt("/co", 3)!, "compact")).toEqual({ text: "/compact ", caret: 9 });
});

it("finds files by their letters, best first", () => {
  const files = ["web/src/main.tsx", "internal/domain/name.go", "main.go", "docs/remain.md"];
  expect(best("main", files, (f) => f)[0]).toBe("main.go");
  expect(best("wsm", files, (f) => f)).toEqual(["web/src/main.tsx"]);
  expect(fuzzy("xyz", "main.go")).toBe(0);
});
