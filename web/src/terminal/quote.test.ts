import { expect, it } from "vitest";
import { quoted } from "./quote";

it("quotes what a terminal showed so that nothing in it ends the block", () => {
  expect(quoted("\n$ go test   \nFAIL\n\n")).toBe("```\n$ go test\nFAIL\n```\n");
  expect(quoted("a\n```\nb")).toBe("````\na\n```\nb\n````\n");
});
