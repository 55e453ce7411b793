import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { allow, openTab, world } from "./harness";

const bad = `<script>window.owned=1</script><img src="https://evil.example/a.png" onerror="window.owned=1">
<svg onload="window.owned=1"></svg>

[click me](javascript:window.owned=1) ![track](https://evil.example/b.png) [self](/v1/tokens)

<iframe src="https://evil.example"></iframe> <a href="javascript:window.owned=1">raw link</a>

\`\`\`html
<script>window.owned=1</script>
\`\`\``;

const ansi = "\u001b]0;owned\u0007\u001b]8;;javascript:window.owned=1\u0007link\u001b]8;;\u0007 \u001b[31mred\u001b[0m <img src=x onerror=window.owned=1> \u202eevil\n";
const name = `<img src=x onerror=window.owned=1>`;

const { server, open } = world({
  script: {
    turns: [[
      { text: bad },
      { think: bad },
      { tool: { name: name, class: "execute", input: { command: `${ansi}rm -rf /` }, ask: true, result: ansi, suggest: [name] } },
      { question: { id: "q", header: name, text: bad, options: [{ label: name, description: bad }] } },
      { plan: bad },
      { event: { kind: "notification", data: { text: bad, level: "warning", title: name } } },
      { event: { kind: "plan.update", data: { entries: [{ text: bad, status: "in_progress" }] } } },
      { fail: { kind: "model_error", message: bad } },
    ]],
  },
});

/** Unfolds all of the conversation. What unfolds moves the rest, so no pointer has to hit it. */
async function unfold(page: Page): Promise<void> {
  const folded = page.locator(".rows .fold[aria-expanded='false']");
  await folded.first().waitFor();
  for (let left = await folded.count(); left > 0; left = await folded.count()) {
    await folded.first().evaluate((el) => (el as HTMLElement).click());
    await expect.poll(() => folded.count()).toBeLessThan(left);
  }
}

it("nothing an agent says or names can act", async () => {
  writeFileSync(join(server.project, "\u202egnp.evil<img src=x onerror=window.owned=1>.md".replaceAll("/", "")), "<script>window.owned=1</script>");
  const { context, page, watch } = await open({ viewport: { width: 1440, height: 3000 } }); // all of it is drawn
  const id = await server.session({ agent: "mock", title: `${name}\u202e` }, bad);
  await page.goto(`${server.url}/s/${id}`);
  const request = page.locator("[data-request]");
  await request.getByRole("button", { name: allow }).click();
  await request.getByRole("radio").first().click();
  await request.getByRole("button", { name: /Approve/ }).click();
  await page.locator(".turn-error").waitFor();
  await unfold(page);
  await page.locator(".thought").getByText("click me").waitFor();
  await page.locator(".tool-body").getByText("red").first().waitFor();
  for (const tab of ["Changes", "Files", "Plan", "Timeline", "Details"]) await openTab(page, tab);
  await page.getByRole("button", { name: "Show raw events" }).click();
  await page.getByRole("tab", { name: "Files" }).click();
  await page.getByRole("treeitem").filter({ hasText: "onerror" }).click();
  await page.getByText("\\u202egnp.evil").first().waitFor();

  expect(await page.evaluate(() => (window as { owned?: number }).owned)).toBeUndefined();
  expect(await page.locator("a[href^='javascript'], iframe, .rows img, .rows script").count()).toBe(0);
  const foreign = await page.locator("a[href]").evaluateAll((all) => all.map((a) => a.getAttribute("href")!).filter((h) => h.startsWith("/v1")));
  expect(foreign).toEqual([]);
  expect(watch.problems).toEqual([]);
  await context.close();
});

it("the policy of the page forbids what slips through", async () => {
  const { context, page } = await open();
  const ran = await page.evaluate(async () => {
    const s = document.createElement("script");
    s.textContent = "window.inline = 1";
    document.body.append(s);
    const i = document.createElement("img");
    i.setAttribute("onerror", "window.inline = 1");
    const refused = new Promise((r) => i.addEventListener("error", r)); // after its own handler
    i.src = "https://evil.example/x.png";
    document.body.append(i);
    await refused;
    return (window as { inline?: number }).inline;
  });
  expect(ran).toBeUndefined();
  const response = await page.goto(server.url);
  expect(response!.headers()["content-security-policy"]).toContain("script-src 'self'");
  await context.close();
});
