import { expect, it } from "vitest";
import type { Finding } from "../api/types";
import { lineOf, promptOf, worst } from "./findings";

const diff = `diff --git a/a.go b/a.go
--- a/a.go
+++ b/a.go
@@ -1,2 +1,2 @@
 package a
-var x = 1
+var x = 1 / zero
diff --git a/b.go b/b.go
--- a/b.go
+++ b/b.go
@@ -2 +2 @@
+other
`;
const finding = { severity: "high", category: "bug", file: "a.go", line: 2, message: "divides by zero", suggestion: "check it", verified: true } as Finding;

it("finds the line of the new file", () => {
  expect(lineOf(diff, "a.go", 2)).toBe("var x = 1 / zero");
  expect(lineOf(diff, "b.go", 2)).toBe("other");
  expect(lineOf(diff, "a.go", 9)).toBe("");
});

it("makes a prompt of a finding", () => {
  expect(promptOf(finding, diff)).toBe("A review found this. Check whether it is right, and fix it if so.\n\na.go:2\n> var x = 1 / zero\nhigh, bug: divides by zero\n\nSuggestion: check it");
  expect(promptOf({ severity: "low", category: "style", message: "meh", verified: false }, diff)).toBe("A review found this. Check whether it is right, and fix it if so.\n\nlow, style: meh");
});

it("puts the worst first", () => {
  expect([finding, { ...finding, severity: "critical" }, { ...finding, severity: "info" }].sort(worst).map((f) => f.severity)).toEqual(["critical", "high", "info"]);
});
