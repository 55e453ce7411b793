import { expect, it } from "vitest";
import { parse, pathOf } from "./Diff";

it("a path outside the folder keeps its slash", () => {
  const file = parse("--- a/etc/hosts\n+++ b/etc/hosts\n@@ -1 +1 @@\n-a\n+b\n")![0]!;
  expect(pathOf(file, ["/etc/hosts"])).toBe("/etc/hosts");
  expect(pathOf(file, ["/work/etc/hosts"])).toBe("etc/hosts");
});
