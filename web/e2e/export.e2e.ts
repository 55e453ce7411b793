import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { world } from "./harness";

const { server, open } = world();
const key = `sk-ant-api03-${"a1B2c3D4e5".repeat(9)}-AAAAAAAA`;

it("a session becomes one HTML file that needs nothing and holds no secret", async () => {
  const { context, page, watch } = await open();
  const id = await server.session({ policy: "auto-approve", title: "A <b>bold</b> title" }, `create a.txt containing one, then run: echo ${key} seen`);
  await page.goto(`${server.url}/s/${id}`);
  await page.locator(".turn-end").waitFor();
  await page.getByRole("button", { name: "Session actions" }).click();
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("menuitem", { name: "Export as HTML" }).click()]);
  expect(download.suggestedFilename()).toBe(`terret-${id}.html`);
  const path = await download.path();
  const html = readFileSync(path, "utf8");
  expect(html).not.toContain(key);
  expect(html).not.toMatch(/<script|<link|\bsrc="http|<b>bold/);
  const alone = await context.newPage();
  await alone.setContent(html);
  await alone.getByRole("heading", { name: "A <b>bold</b> title" }).waitFor();
  await alone.getByText("+one").waitFor();
  await alone.getByText("Bash", { exact: false }).first().click();
  await alone.locator("pre", { hasText: "seen" }).first().waitFor();
  expect(watch.problems).toEqual([]);
  await context.close();
});
