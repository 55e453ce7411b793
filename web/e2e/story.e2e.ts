import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { allow, live, Watch, world } from "./harness";

const { server, open, browser } = world();

it("signs in once with the link, and says so when it is used again", async () => {
  const link = server.signIn;
  const first = await browser().newContext();
  const watch = new Watch(first, () => server.url);
  const page = await first.newPage();
  await page.goto(link);
  await page.getByText(/Try one of these/).waitFor();
  expect(page.url()).not.toContain("code");
  expect(await first.cookies()).toEqual([]);
  expect(watch.problems).toEqual([]);

  const second = await browser().newContext();
  const late = await second.newPage();
  await late.goto(link);
  await late.getByRole("alert").filter({ hasText: "used before or is too old" }).waitFor();
  await first.close();
  await second.close();
});

it("a new session, a permission, a diff, undo and redo", async () => {
  const { page, watch, context } = await open();
  await page.getByRole("button", { name: /New session/ }).first().click();
  await page.getByLabel("First message").fill("create hello.go containing package main, then run: echo done");
  await page.getByRole("button", { name: "Start" }).click();

  const request = page.locator("[data-request]");
  await request.getByRole("heading", { name: /^(Create|Edit) / }).waitFor();
  await request.getByText("package main").waitFor();
  const file = join(server.project, "../hello.go");
  expect(existsSync(file)).toBe(false);
  await expect.poll(() => page.title()).toBe("(1) Terret");
  await request.getByRole("button", { name: allow }).click();

  await request.getByRole("heading", { name: /^Run / }).waitFor();
  expect(readFileSync(file, "utf8")).toBe("package main\n");
  await request.getByRole("button", { name: "More answers" }).click();
  await page.getByRole("menuitem", { name: /Always allow/ }).click();
  await request.getByLabel(/Always allow/).fill("Bash(echo *)");
  await request.getByRole("button", { name: "Save rule and allow" }).click();

  await page.locator(".turn-end").getByText("tokens").waitFor();
  await page.getByText("You allowed it always").waitFor();
  await expect.poll(() => page.title()).toBe("Terret");

  await page.locator(".turn-end").getByRole("button", { name: "Changes" }).click();
  await page.getByRole("tabpanel").getByRole("cell", { name: "package main" }).waitFor();
  await page.getByRole("tabpanel").getByRole("button", { name: "Undo" }).click();
  await page.locator(".turn-end").getByText("undone").waitFor();
  expect(existsSync(file)).toBe(false);
  await page.getByRole("tabpanel").getByRole("button", { name: "Redo" }).click();
  await page.locator(".turn-end").getByText("undone").waitFor({ state: "detached" });
  expect(existsSync(file)).toBe(true);

  await page.getByRole("link", { name: "Rules" }).click();
  await page.getByRole("cell", { name: "Bash(echo *)", exact: true }).waitFor();
  expect(watch.problems).toEqual([]);
  await context.close();
});

it("questions and plans are answered in place", async () => {
  const { page, watch, context } = await open();
  const id = await server.session({}, "ask me");
  await page.goto(`${server.url}/s/${id}`);
  await page.getByRole("radio", { name: /blue/ }).click();
  await page.getByText("answered").waitFor();
  const message = page.getByRole("textbox", { name: "Message" });
  await message.fill("make a plan");
  await message.press("Enter");
  await page.getByText("Change what must change").first().waitFor();
  await page.getByRole("button", { name: /Request changes/ }).click();
  await page.getByLabel("What should be different?").fill("tests first");
  await page.getByRole("button", { name: "Request changes", exact: true }).click();
  await page.getByText("asked for changes").waitFor();
  await page.getByText("tests first").first().waitFor();
  expect(watch.problems).toEqual([]);
  await context.close();
});

it("keeps the draft, and shows why a turn failed", async () => {
  const { page, context } = await open();
  const id = await server.session({}, "fail");
  await page.goto(`${server.url}/s/${id}`);
  await page.getByRole("alert").getByText("the demo model fails").waitFor();
  const message = page.getByRole("textbox", { name: "Message" });
  await message.fill("half a thought");
  await page.reload();
  await live(page);
  await expect.poll(() => message.inputValue()).toBe("half a thought");
  await context.close();
});
