import axe from "axe-core";
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { live, world } from "./harness";

const { server, open } = world();

/** A session that waits for an answer. */
async function asks(title: string, prompt: string, cwd = server.project): Promise<string> {
  mkdirSync(cwd, { recursive: true });
  const id = await server.session({ title, cwd }, prompt);
  await expect.poll(async () => (await server.api<{ open_requests: number }>("GET", `/v1/sessions/${id}`)).body.open_requests).toBe(1);
  return id;
}

async function audit(page: Page): Promise<void> {
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(axe.source);
  for (const theme of ["light", "dark", "contrast"]) {
    await page.evaluate((theme) => (document.documentElement.dataset.theme = theme), theme);
    const found = await page.evaluate(async () => (await (window as unknown as { axe: typeof axe }).axe.run("html", { rules: { region: { enabled: false } } })).violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.target.join(" ")).join(" | ")}`));
    expect(found, theme).toEqual([]);
  }
}

it("many requests are lines, which open in place, with keys to move and to answer", async () => {
  const { context, page, watch } = await open({ reducedMotion: "reduce" });
  const names = ["one", "two", "three", "four"];
  const ids: string[] = [];
  for (const name of names) ids.push(await asks(name, `run: echo ${name} >> ${name}.txt`));
  await page.goto(server.url);
  await live(page);
  const needs = page.getByRole("main").getByRole("region", { name: "Needs you" });
  const focus = page.locator("[data-need]:focus");
  const card = needs.locator("[data-request]:not([inert] *)");
  await needs.locator("[data-need]").nth(3).waitFor();
  expect(await card.count()).toBe(0);
  await page.getByRole("group", { name: "At a glance" }).getByText("4 need you").waitFor();

  const opened = async (name: string) => {
    await needs.locator("[data-request]:focus").getByText(`echo ${name} >>`).waitFor();
    expect(await card.count()).toBe(1);
  };
  await page.keyboard.press("Alt+g");
  await opened("one");
  await page.keyboard.press("j");
  await opened("two");
  await page.keyboard.press("ArrowDown");
  await opened("three");
  await page.keyboard.press("k");
  await opened("two");
  await audit(page);
  await page.keyboard.press("y");
  await server.ended(ids[1]!);
  expect(readFileSync(join(server.project, "two.txt"), "utf8")).toBe("two\n");

  // The next line has the focus; the first key opens it, so that nothing is answered unseen.
  await focus.getByText("three").first().waitFor();
  await page.keyboard.press("n");
  await opened("three");
  await page.keyboard.press("n");
  await page.keyboard.type("not now");
  await page.keyboard.press("Enter");
  await server.ended(ids[2]!);

  await focus.getByText("four").first().waitFor();

  // A line is opened and closed by a click, too; and those that are left stay lines.
  await needs.getByRole("button", { name: /echo four/ }).click();
  await opened("four");
  await page.keyboard.press("Escape");
  await card.getByText("echo four").waitFor({ state: "detached" });
  await focus.getByText("four").first().waitFor();
  await page.keyboard.press("Enter");
  await needs.locator("[data-request]:focus").getByText("echo four").waitFor();
  await page.keyboard.press("Enter");
  await server.ended(ids[3]!);
  expect(watch.problems).toEqual([]);
  await context.close();
});

it("what several sessions want is one line, answered for all, each by itself", async () => {
  const { context, page, watch } = await open({ reducedMotion: "reduce" });
  const web = join(server.project, "..", "web");
  const same = "run: echo same >> log.txt";
  for (const [title, cwd] of [["a", server.project], ["b", server.project], ["c", web], ["d", web]] as const) await asks(title, same, cwd);
  await asks("e", "run: echo same >>log.txt");
  await asks("f", "run: echo other >> log.txt");
  await page.goto(server.url);
  await live(page);
  const needs = page.getByRole("main").getByRole("region", { name: "Needs you" });
  const head = needs.getByRole("button", { name: /4 sessions want/ });
  await head.getByText("api-server, web").waitFor();
  const group = needs.locator("li", { has: page.getByRole("button", { name: /4 sessions want/ }) });
  await head.click();
  await expect.poll(() => group.locator("li").count()).toBe(4);
  await audit(page);

  // One of them is not taken: said, and offered once more.
  let refused = false;
  await page.route("**/v1/decisions/*", (route) => {
    if (refused) return route.continue();
    refused = true;
    return route.fulfill({ status: 503, json: { title: "busy", detail: "the store is busy", status: 503 } });
  });
  await group.getByRole("button", { name: "Allow all 4" }).click();
  await page.getByText("Allowed 3 of 4", { exact: true }).waitFor();
  await page.getByText("the store is busy", { exact: true }).waitFor();
  await group.getByRole("button", { name: "Allow all 1" }).click();
  const lines = (dir: string) => readFileSync(join(dir, "log.txt"), "utf8");
  await expect.poll(() => lines(server.project) + lines(web)).toBe("same\n".repeat(4));
  await needs.getByText("echo other").first().waitFor(); // nobody answered that
  expect(watch.problems).toEqual([]);
  await context.close();
});

it("sessions get labels, are grouped by them, and are selected to do one thing to all", async () => {
  const { context, page, watch } = await open({ reducedMotion: "reduce" });
  const ids: string[] = [];
  for (const title of ["red", "green", "blue"]) ids.push(await server.session({ title, policy: "auto-approve" }));
  await page.reload();
  await live(page);
  const side = page.getByRole("navigation", { name: "Sessions" });
  const row = (title: string) => side.locator("[data-session]", { hasText: title });
  const bar = side.getByRole("group", { name: "Selected sessions" });
  await row("blue").click({ modifiers: ["Control"] });
  await row("red").click({ modifiers: ["Shift"] });
  await bar.getByText("3 selected").waitFor();
  expect(new URL(page.url()).pathname).toBe("/");

  await bar.getByRole("button", { name: "Label" }).click();
  const dialog = page.getByRole("dialog", { name: "Labels of 3 sessions" });
  await dialog.getByLabel("New label").fill("night  shift ");
  await page.keyboard.press("Enter");
  await dialog.getByText("night shift").waitFor();
  await audit(page);
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  const marks = async () => (await server.api<{ labels: Record<string, string[]> }>("GET", "/v1/marks")).body.labels;
  await expect.poll(marks).toEqual(Object.fromEntries(ids.map((id) => [id, ["night shift"]])));

  await row("green").focus();
  await page.keyboard.press("x");
  await bar.getByText("2 selected").waitFor();
  await audit(page);
  for (const id of [ids[0]!, ids[2]!]) await server.api("POST", `/v1/sessions/${id}/turns`, { prompt: "run: sleep 600" });
  for (const title of ["red", "blue"]) await row(title).locator(".dot.busy").waitFor();
  await bar.getByRole("button", { name: "Stop" }).click();
  await page.getByText("Stopped 2", { exact: true }).waitFor();
  for (const id of [ids[0]!, ids[2]!]) await server.ended(id);
  await bar.getByRole("button", { name: "Archive" }).click();
  await bar.waitFor({ state: "detached" });
  await side.getByRole("region", { name: "Archived" }).waitFor();

  await side.getByRole("button", { name: "Group sessions" }).click();
  await page.getByRole("menuitem", { name: "By label" }).click();
  const group = side.getByRole("region", { name: "night shift" });
  await group.locator("[data-session]", { hasText: "green" }).waitFor();
  await page.reload(); // this browser remembers it
  await group.getByText("green").waitFor();
  expect(await group.locator("[data-session]").count()).toBe(1);
  await side.getByRole("searchbox").fill("#night green");
  await expect.poll(() => side.locator("[data-session]").count()).toBe(1);
  const views = side.getByRole("button", { name: "Group sessions" });
  await views.click();
  await page.getByRole("menuitem", { name: "Save this view" }).click();
  await views.click();
  await page.getByRole("menuitem", { name: "By folder" }).click();
  await page.reload();
  await side.getByRole("region", { name: "api-server" }).waitFor();
  await views.click();
  await page.getByRole("menuitem", { name: "#night green, by label" }).click();
  await expect.poll(() => side.locator("[data-session]").count()).toBe(1);
  await group.getByText("green").waitFor();
  await views.click();
  await page.getByRole("menuitem", { name: "Forget this view" }).click();
  await side.getByRole("searchbox").fill("");
  await views.click();
  await page.getByRole("menuitem", { name: "By label" }).waitFor();
  expect(await page.getByRole("menuitem", { name: "#night green" }).count()).toBe(0);
  await page.keyboard.press("Escape");
  await side.getByRole("button", { name: "Actions for green" }).click();
  await page.getByRole("menuitem", { name: "Labels…" }).click();
  await page.getByRole("button", { name: "Take night shift away" }).click();
  await group.waitFor({ state: "detached" });
  expect(watch.problems).toEqual([]);
  await context.close();
});

it("sessions of a race are folded under it", async () => {
  const { context, page, watch } = await open();
  const repo = join(server.project, "..", "repo");
  mkdirSync(repo);
  const git = (...args: string[]) => execFileSync("git", ["-C", repo, "-c", "user.name=t", "-c", "user.email=t@t", ...args]);
  git("init", "-q", "-b", "main");
  git("commit", "-q", "--allow-empty", "-m", "one");
  await server.session({ title: "beside it", cwd: repo });
  const race = (await server.api<{ id: string }>("POST", "/v1/races", { cwd: repo, task: "list files", agents: ["native", "native"] })).body.id;
  const racers = async () => (await server.api<{ racers: { session?: string }[] }>("GET", `/v1/races/${race}`)).body.racers.filter((r) => r.session).length;
  await expect.poll(racers).toBe(2);
  await page.reload();
  await live(page);
  const side = page.getByRole("navigation", { name: "Sessions" });
  const group = side.getByRole("region", { name: "Race: list files" });
  await group.getByText("2", { exact: true }).waitFor();
  expect(await group.locator("[data-session]").count()).toBe(0);
  expect(await side.getByRole("region", { name: "repo" }).locator("[data-session]").count()).toBe(1);
  await group.getByRole("button", { name: /Race: list files/ }).first().click();
  await expect.poll(() => group.locator("[data-session]").count()).toBe(2);
  expect(watch.problems).toEqual([]);
  await context.close();
});
