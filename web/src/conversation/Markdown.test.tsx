// @vitest-environment happy-dom
import { act } from "react";
import { createRoot } from "react-dom/client";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { RichMarkdown as Markdown } from "./RichMarkdown";

beforeAll(() => {
  (globalThis as { IS_REACT_ACT_ENVIRONMENT?: boolean }).IS_REACT_ACT_ENVIRONMENT = true;
});

const boxes: { unmount: () => void }[] = [];
afterEach(() => boxes.splice(0).forEach((b) => act(() => b.unmount())));

async function show(text: string, streaming = false): Promise<HTMLElement> {
  const box = document.createElement("div");
  const root = createRoot(box);
  boxes.push(root);
  await act(async () => root.render(<Markdown text={text} streaming={streaming} />));
  return box;
}

const hostile = [
  "<script>window.owned = 1</script>",
  "<img src=x onerror=alert(1)>",
  "<svg onload=alert(1)><script>alert(1)</script></svg>",
  "<iframe src='javascript:alert(1)'></iframe>",
  "<a href='javascript:alert(1)'>x</a>",
  "<style>*{display:none}</style>",
  "<form action=//evil.example><input name=a></form>",
  "<div style='position:fixed;inset:0'>x</div>",
  "[x](javascript:alert(1))",
  "[x](JaVaScRiPt:alert`1`)",
  "[x](data:text/html;base64,PHNjcmlwdD4=)",
  "[x](vbscript:x)",
  "[x](/v1/tokens)",
  "[x](#code=stolen)",
  "![x](https://evil.example/p.png)",
  "![x](//evil.example/p.png)",
  "![x](data:image/svg+xml;base64,PHN2Zz4=)",
  "<javascript:alert(1)>",
  "[x]: javascript:alert(1)\n\n[x]",
  "```html\n<script>alert(1)</script>\n```",
  "`<img src=x onerror=alert(1)>`",
  "a[^1]\n\n[^1]: <script>alert(1)</script> ![x](https://evil.example/p.png)",
  "| a |\n|---|\n| ![x](https://evil.example/p.png) <script>alert(1)</script> |",
  "- [ ] <img src=https://evil.example/p.png>",
];

describe.each([false, true])("hostile text, streaming %s", (streaming) => {
  it.each(hostile)("%s", async (text) => {
    const box = await show(text, streaming);
    expect(box.querySelectorAll("script, iframe, object, embed, style, form, svg:not(.lucide), link, meta, base, img, video, audio, source")).toHaveLength(0);
    for (const el of box.querySelectorAll("*")) {
      for (const { name, value } of el.attributes) {
        expect(name.startsWith("on"), `${name}=${value}`).toBe(false);
        if (name === "href") expect(value).toMatch(/^(https?:|mailto:)/);
        if (name === "src" || name === "srcset" || name === "action") throw new Error(`${name}=${value}`);
      }
    }
  });
});

it("still shows Markdown", async () => {
  const box = await show("# Title\n\nSome **bold** and `code` and [a link](https://example.org).\n\n```\nplain\nblock\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n- one\n- two");
  expect(box.querySelector("[role=heading]")?.textContent).toBe("Title");
  expect(box.querySelector("strong")?.textContent).toBe("bold");
  expect(box.querySelector("code.inline")?.textContent).toBe("code");
  expect(box.querySelector("a")?.getAttribute("rel")).toContain("noopener");
  expect(box.querySelector("pre code")?.textContent).toBe("plain\nblock");
  expect(box.querySelectorAll("td")).toHaveLength(2);
  expect(box.querySelectorAll("li")).toHaveLength(2);
});

it("shows HTML as text, and what would deceive", async () => {
  expect((await show("before <b>bold</b> after")).textContent).toContain("<b>bold</b>");
  expect((await show("abc\u202edef")).textContent).toContain("\\u202e");
  const family = "👩\u200d👧";
  const box = await show(`${family} \`${family}\`\n\n\`\`\`\n${family}\n\`\`\``);
  expect(box.querySelector("p")?.firstChild?.textContent).toBe(`${family} `);
  expect([...box.querySelectorAll("code")].map((c) => c.textContent)).toEqual(["👩\\u200d👧", "👩\\u200d👧"]);
});

it("names pictures instead of loading them", async () => {
  const box = await show("![chart](https://example.org/p.png)");
  expect(box.textContent).toContain("picture: chart (not loaded)");
});

it("lets each piece of text run in its own direction", async () => {
  const box = await show("# العنوان\n\nנ\n\n- واحد\n\n  اثنان\n\n> نص\n\n| a |\n|---|\n| ب |");
  for (const tag of ["[role=heading]", "p:not([role])", "li", "blockquote", "th", "td"]) expect(box.querySelector(tag)?.getAttribute("dir"), tag).toBe("auto");
  expect(box.querySelector("li > p[dir], blockquote > p[dir]")).toBeNull(); // or the item would have no letter to go by
});
