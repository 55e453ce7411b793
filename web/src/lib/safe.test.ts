import { describe, expect, it } from "vitest";
import { pictureSource, safeLink, safeName, safeProse, safeText, withoutAnsi } from "./safe";

describe("safeLink", () => {
  it.each([
    ["https://example.org/a", "https://example.org/a"],
    ["mailto:a@example.org", "mailto:a@example.org"],
    ["javascript:alert(1)", undefined],
    ["JaVaScRiPt:alert(1)", undefined],
    ["java\nscript:alert(1)", undefined],
    ["\u0001javascript:alert(1)", undefined],
    ["data:text/html,<script>", undefined],
    ["vbscript:x", undefined],
    ["file:///etc/passwd", undefined],
    ["blob:https://example.org/x", undefined],
    ["/v1/sessions", undefined],
    ["#code=x", undefined],
    ["", undefined],
  ])("%j is %j", (url, want) => expect(safeLink(url)).toBe(want));
});

it("shows what would deceive", () => {
  expect(safeName("a\u202etxt.exe")).toBe("a\\u202etxt.exe");
  expect(safeName("a\nb\tc\u001b[31m")).toBe("a␊b␉c␛[31m");
  expect(safeText("a\nb\u200b")).toBe("a\nb\\u200b");
  expect(safeText("grün 日本 🙂")).toBe("grün 日本 🙂");
});

it.each([
  "👩‍👩‍👧‍👦 🏳️‍🌈 👩🏽‍⚕️", // emoji in one
  "می‌خواهم PDF‌ها ۱۰‌ها", // Persian
  "र्‍य क्‍ষ র‍্যাব", // Indic, with a joiner before and after the virama
  "ന്‍ പാല്‍.", // Malayalam, at the end of a word
])("leaves %s in prose as it is, and shows it in names", (text) => {
  expect(safeProse(text)).toBe(text);
  expect(safeName(text)).toMatch(/\\u200[cd]/);
});

it("shows in prose what would deceive", () => {
  expect(safeProse("pass\u200dword a\u200cb")).toBe("pass\\u200dword a\\u200cb");
  expect(safeProse("\u200dمی\u200c\u200cخ \u200c")).toBe("\\u200dمی\\u200c\\u200cخ \\u200c");
  expect(safeProse("می\u202e\u200b\u200f\u2066\ufeff\u001b")).toBe("می\\u202e\\u200b\\u200f\\u2066\\ufeff␛");
});

it("takes terminal sequences out", () => {
  expect(withoutAnsi("\u001b[31mred\u001b[0m \u001b]8;;http://x\u0007link\u001b]8;;\u0007 \u001b]0;title\u001b\\!")).toBe("red link !");
});

it("shows only pictures that cannot act", () => {
  expect(pictureSource("image/png", "AAAA")).toBe("data:image/png;base64,AAAA");
  expect(pictureSource("image/svg+xml", "AAAA")).toBeUndefined();
  expect(pictureSource("image/png", '"><script>')).toBeUndefined();
  expect(pictureSource("text/html", "AAAA")).toBeUndefined();
});
