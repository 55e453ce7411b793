import axe from "axe-core";
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Page } from "playwright-core";
import { describe, expect, it, vi } from "vitest";
import { live, openTab, world } from "./harness";

const finding = { severity: "high", category: "bug", file: "a.txt", line: 1, message: "This is wrong.", suggestion: "Do it right." };
const script = { overseen: true, turns: [[{ text: JSON.stringify({ verdict: "FAIL", findings: [finding, { ...finding, severity: "low", line: 9 }] }) }]] };
const { server, open, browser } = world({ script }, prepare);
let done = "";
let run = "";
let report = "";
let race = "";
let edits = "";
const repo = join(dirname(server.project), "repo");
const git = (...args: string[]) => execFileSync("git", ["-C", repo, "-c", "user.name=t", "-c", "user.email=t@t", ...args]);

async function prepare(): Promise<void> {
  done = await server.session({ policy: "auto-approve" }, "create a.go containing package main, then run: ls, then list files");
  await server.session({}, "ask me");
  mkdirSync(repo);
  writeFileSync(join(repo, "a.txt"), "one\n");
  git("init", "-q", "-b", "main");
  git("add", ".");
  git("commit", "-qm", "one");
  const made = async (path: string, body: unknown) => (await server.api<{ id: string }>("POST", path, body)).body.id;
  race = await made("/v1/races", { cwd: repo, task: "create b.txt containing hi", agents: ["native", "native"], check: "test -f b.txt" });
  await vi.waitUntil(async () => (await server.api<{ state: string }>("GET", `/v1/races/${race}`)).body.state === "finished", { timeout: 60_000 });
  writeFileSync(join(repo, "a.txt"), "two\n");
  report = await made("/v1/reviews", { cwd: repo, agents: ["mock"] });
  run = await made("/v1/workflows", { cwd: repo, workflow: "steps: [{id: look, agent: native, prompt: list files}, {id: check, agent: native, prompt: list files, check: 'false', on_failure: ask}]" });
  for (const [name, agent] of [["carl", "native"], ["paul", "person"]]) await server.api("POST", "/v1/team/agents", { name, agent, cwd: repo });
  await server.api("POST", "/v1/team/messages", { to: ["carl"], text: "list files" });
  await server.api("PUT", "/v1/rules", { items: [{ effect: "allow", pattern: "Bash(git status *)" }, { effect: "deny", pattern: "Bash(curl *)" }] });
  writeFileSync(join(repo, "c.txt"), "new\n");
  edits = await server.session({ cwd: repo, title: "two files to commit" });
}

const everything: axe.RunOptions = {
  runOnly: { type: "tag", values: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"] },
  rules: { region: { enabled: false } }, // the bars between the panes are in no landmark
};
const colours: axe.RunOptions = { runOnly: { type: "rule", values: ["color-contrast", "link-in-text-block"] } };

async function audit(page: Page, what: string, of: string, options: axe.RunOptions): Promise<void> {
  const found = await page.evaluate(async ({ of, options }) => {
    const { violations } = await (window as unknown as { axe: typeof axe }).axe.run([...document.querySelectorAll(of)], { ...options, resultTypes: ["violations"] });
    return violations.map((v) => `${v.impact} ${v.id}: ${v.nodes.slice(0, 3).map((n) => `${n.target.join(" ")} ${n.failureSummary?.split("\n")[1] ?? ""}`).join(" | ")}`);
  }, { of, options });
  expect(found, what).toEqual([]);
}

/** Every rule in the light theme; in the others only colours differ, and not those of the frame that all screens share. */
async function check(page: Page, what: string, own = "main, aside, [role=dialog], [role=tabpanel]"): Promise<void> {
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(axe.source);
  for (const theme of ["light", "dark", "contrast"]) {
    await page.evaluate((theme) => (document.documentElement.dataset.theme = theme), theme);
    if (theme === "light") await audit(page, what, "html", everything);
    else await audit(page, `${theme} ${what}`, own, colours);
  }
}

describe("axe finds nothing", () => {
  it.each([["desktop", 1440, 900], ["phone", 390, 844]])("%s", async (size, width, height) => {
    const waiting = await server.session({}, "run: rm -rf .cache"); // its own, since requests run out
    const { context, page } = await open({ viewport: { width, height }, reducedMotion: "reduce" });
    if (size === "desktop") await live(page);
    const panes = page.getByRole("navigation", { name: "Panes" });
    const node = { name: "a", worker: "w", host: "a.example", pid: 1, labels: ["gpu"], max: 9, started_at: new Date().toISOString(), seen_at: "2020-01-01T00:00:00Z", sessions: 8, owned: 1, working: 1 };
    await page.route("**/v1/fleet", (route) => route.fulfill({ json: { node: "a", database_ms: 2, nodes: [node, { ...node, name: "b", worker: "x", version: "v1", draining: true }, { ...node, name: "c", worker: "y" }] } }));
    const visit = async (path: string, ready: () => Promise<unknown>, own?: string) => {
      await page.evaluate((path) => {
        history.pushState(null, "", path);
        window.dispatchEvent(new PopStateEvent("popstate"));
      }, path);
      await ready();
      await check(page, `${size} ${path}`, own);
    };
    await visit("/", () => page.getByRole("heading", { name: "Needs you" }).last().waitFor(), "html");
    await visit("/usage", () => page.locator("canvas").waitFor());
    await visit("/agents", () => page.getByRole("heading", { name: "What each can do" }).waitFor());
    await visit("/rules", () => page.getByText("Bash(git status *)").first().waitFor());
    await visit("/fleet", () => page.getByRole("list", { name: "Nodes" }).waitFor());
    await visit("/settings", () => page.getByRole("heading", { name: "Settings" }).waitFor());
    await visit("/setup", async () => {
      await page.getByRole("textbox", { name: "Configuration file" }).waitFor();
      await page.getByRole("button", { name: /^Install .*…$|^Models of/ }).first().waitFor();
    });
    const old = { agent: "claude", native_id: "n", cwd: "/w/api", title: "an old session", updated_at: new Date().toISOString(), size: 5000 };
    await page.route("**/v1/discovered", (route) => route.fulfill({ json: { items: [old, { ...old, native_id: "o", session: run }] } }));
    await visit("/discovered", () => page.getByText("an old session").first().waitFor());
    await visit("/personas", () => page.getByText("No personas in this folder").waitFor());
    await visit("/team", () => page.getByRole("img", { name: /wrote to/ }).waitFor());
    await page.getByRole("button", { name: "Add a member" }).click();
    await page.getByRole("dialog", { name: "Add a member" }).waitFor();
    await check(page, `${size} add a member`);
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    for (const [path, ready] of [["/workflows", "Runs"], ["/reviews", "Reviews"], ["/races", "Races"]] as const) await visit(path, () => page.getByRole("list", { name: ready }).waitFor());
    await visit(`/workflows/${run}`, () => page.getByText("A step failed. What now?").waitFor());
    await visit(`/reviews/${report}`, () => page.getByRole("group", { name: "Diff of a.txt" }).getByText("This is wrong.").waitFor());
    await visit(`/races/${race}`, () => page.getByRole("group", { name: "Diff of b.txt" }).waitFor());
    await visit(`/s/${waiting}`, () => page.locator("[data-request]").waitFor());
    await visit(`/s/${edits}`, () => page.getByRole("heading", { name: "two files to commit" }).waitFor());
    if (size === "phone") await panes.getByRole("button", { name: "Changes" }).click();
    else await openTab(page, "Changes");
    const commit = page.getByRole("form", { name: "Commit" });
    await commit.getByRole("textbox").fill("Say two"); // a button that is off may be pale
    await page.getByRole("tabpanel").getByRole("button", { name: "Keep a.txt" }).click();
    await commit.getByRole("combobox", { name: "What to commit" }).waitFor();
    await check(page, `${size} commit`);
    if (size === "phone") await panes.getByRole("button", { name: "Chat" }).click();
    await visit(`/s/${done}`, () => page.locator(".turn-end").waitFor());
    if (size === "phone") {
      for (const pane of ["Sessions", "Needs you", "Changes"]) {
        await panes.getByRole("button", { name: pane }).click();
        await check(page, `${size} ${pane}`, "html");
      }
    } else {
      for (const tab of ["Changes", "Files", "Plan", "Timeline", "Details"]) {
        await openTab(page, tab);
        await check(page, `${size} ${tab}`, tab === "Changes" ? "html" : undefined);
      }
      await page.keyboard.press("Alt+c");
      await page.getByRole("main", { name: "Changes" }).locator(".diff").first().waitFor();
      await check(page, `${size} review`);
      await page.keyboard.press("Alt+c");
      await page.locator(".title").click();
      for (const name of ["Hand over", "Move to another node"]) {
        await page.getByRole("button", { name: "Session actions" }).click();
        await page.getByRole("menuitem", { name: `${name}…` }).click();
        await page.getByRole("dialog", { name }).waitFor();
        await check(page, `${size} ${name}`);
        await page.keyboard.press("Escape");
        await page.getByRole("dialog").waitFor({ state: "detached" });
      }
      for (const [key, dialog] of [["Alt+n", "New session"], ["Alt+/", "Keyboard"], ["Control+k", "Commands"]] as const) {
        await page.keyboard.press(key);
        await page.getByRole("dialog", { name: dialog }).waitFor();
        await check(page, `${size} ${dialog}`);
        await page.keyboard.press("Escape");
        await page.getByRole("dialog").waitFor({ state: "detached" });
      }
    }
    await context.close();
  });
});

it("the page to sign in", async () => {
  const context = await browser().newContext();
  const page = await context.newPage();
  await page.goto(server.url);
  await page.getByRole("heading", { name: "Sign in from your terminal" }).waitFor();
  await check(page, "sign in");
  await context.close();
});
