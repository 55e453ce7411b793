// Being told elsewhere: channels are added, tried, changed and removed in the settings.

import { createServer, type Server as Http } from "node:http";
import { mkdirSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import axe from "axe-core";
import type { Page } from "playwright-core";
import { afterAll, expect, it } from "vitest";
import { world } from "./harness";

const patience = { timeout: 20_000 };
const shots = process.env.SHOTS; // a folder for pictures of what was looked at
if (shots) mkdirSync(shots, { recursive: true });

interface Got { path: string; signed: boolean; body: { event?: string; topic?: string; message?: string; text?: string; url?: string; click?: string } }

let receiver: Http | undefined;
let address = "";
let got: Got[] = [];

const { server, open } = world({}, prepare);

/** A webhook, and an ntfy server; what is below /gone is not there any more. */
async function prepare(): Promise<void> {
  receiver?.close();
  got = [];
  receiver = createServer((request, response) => {
    let text = "";
    request.on("data", (d) => (text += d));
    request.on("end", () => {
      got.push({ path: request.url ?? "", signed: "terret-signature" in request.headers, body: JSON.parse(text) as Got["body"] });
      response.writeHead(request.url?.startsWith("/gone") ? 410 : 204).end();
    });
  });
  await new Promise<void>((done) => receiver!.listen(0, "127.0.0.1", done));
  address = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;
}
afterAll(() => void receiver?.close());

interface State { base_url?: string; channels: { id: string; secret?: string; events?: string[]; quiet?: unknown; answers?: boolean; private?: boolean; disabled?: boolean }[]; lost: unknown[] }
const state = async () => (await server.api<State>("GET", "/v1/notify")).body;

/** Looks for what screen readers and people who see little would stumble over, and takes a picture. */
async function check(page: Page, what: string): Promise<void> {
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(axe.source);
  const width = page.viewportSize()!.width;
  expect(await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth), what).toBeLessThanOrEqual(0);
  for (const theme of ["light", "dark"]) {
    await page.evaluate((theme) => (document.documentElement.dataset.theme = theme), theme);
    const found = await page.evaluate(async () => {
      const { violations } = await (window as unknown as { axe: typeof axe }).axe.run(document, { runOnly: { type: "tag", values: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"] }, rules: { region: { enabled: false } } });
      return violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.target.join(" ")).join(", ")}`);
    });
    expect(found, `${what} in ${theme} at ${width}`).toEqual([]);
    if (!shots) continue;
    if ((await page.getByRole("dialog").count()) === 0) await page.getByRole("region", { name: "Told elsewhere" }).evaluate((e) => e.scrollIntoView());
    await page.screenshot({ path: join(shots, `notify-${what}-${theme}-${width}.png`) });
  }
}

it("a channel is added, tried, changed and removed, and what was not delivered says why", async () => {
  const { context, page, watch } = await open({ viewport: { width: 1440, height: 900 }, reducedMotion: "reduce" });
  await page.goto(`${server.url}/settings`);
  const region = page.getByRole("region", { name: "Told elsewhere" });
  await region.getByText("Nobody is told elsewhere.").waitFor();

  // A webhook, with a secret that goes in and does not come out.
  await region.getByRole("button", { name: "Add a channel…" }).click();
  const dialog = page.getByRole("dialog", { name: "Add a channel" });
  const add = dialog.getByRole("button", { name: "Add", exact: true });
  await dialog.getByRole("combobox", { name: "Kind" }).selectOption("webhook");
  await dialog.getByRole("textbox", { name: "Name" }).fill("ci");
  await dialog.getByRole("textbox", { name: "Address" }).fill(`${address}/hook`);
  expect(await add.isDisabled()).toBe(true);
  await dialog.getByLabel("Secret, which signs the messages").fill("canary-123");
  await check(page, "add");
  await add.click();
  await dialog.getByRole("alert").getByText("Its url must be https and on the public internet").waitFor();
  await dialog.getByRole("checkbox", { name: /^The address is inside/ }).check();
  await add.click();
  await dialog.waitFor({ state: "detached" });
  const ci = region.getByRole("listitem", { name: "ci" });
  await ci.getByText("Whatever happens").waitFor();
  await ci.getByRole("button", { name: "Test ci" }).click();
  await ci.getByRole("status").getByText("It has taken the test.").waitFor();
  expect(got.map((g) => [g.path, g.signed, g.body.event])).toEqual([["/hook", true, "test"]]);

  // Links lead where people reach the server.
  const base = region.getByRole("form", { name: "Where links lead" });
  await base.getByRole("textbox").fill("terret.example");
  await base.getByRole("button", { name: "Save" }).click();
  await base.getByRole("alert").getByText("is not an origin").waitFor();
  await base.getByRole("textbox").fill("https://terret.example");
  await base.getByRole("button", { name: "Save" }).click();
  await expect.poll(async () => (await state()).base_url, patience).toBe("https://terret.example");

  // A topic of ntfy, with hours, moments and answers; it does not take what it is told.
  await region.getByRole("button", { name: "Add a channel…" }).click();
  await dialog.getByRole("textbox", { name: "Name" }).fill("ci");
  await dialog.getByText("There already is a channel with this name.").waitFor();
  await dialog.getByRole("textbox", { name: "Name" }).fill("phone");
  await dialog.getByRole("textbox", { name: "Address" }).fill(`${address}/gone/topic`);
  for (const moment of ["Something needs you", "The money is spent"]) await dialog.getByRole("checkbox", { name: moment }).uncheck();
  await dialog.getByRole("checkbox", { name: /^Its readers may answer/ }).check();
  await dialog.getByRole("checkbox", { name: /^The address is inside/ }).check();
  await add.click();
  const phone = region.getByRole("listitem", { name: "phone" });
  await phone.getByText("When a turn is over, or a turn has failed · its readers may answer").waitFor();
  await phone.getByRole("button", { name: "Test phone" }).click();
  await phone.getByRole("alert").getByText("The notification was not sent: it answered 410 Gone").waitFor();

  // The end of a turn: one is told, the other is given up.
  await server.ended(await server.session({}, "list files"));
  await expect.poll(() => got.filter((g) => g.path === "/hook" && g.body.event === "done").map((g) => new URL(g.body.url!).origin), patience).toEqual(["https://terret.example"]);
  await expect.poll(async () => (await state()).lost.length, patience).toBe(1);
  await page.reload();
  await region.getByRole("list", { name: "Given up" }).getByText("tried 1 time: it answered 410 Gone").waitFor();
  expect(await page.content()).not.toContain("canary-123");

  // Editing keeps what is not touched, its secret included.
  await phone.getByRole("button", { name: "Edit phone" }).click();
  const edit = page.getByRole("dialog", { name: "Edit phone" });
  await edit.getByRole("checkbox", { name: /^Quiet hours/ }).check();
  await edit.getByLabel("From").fill("23:00");
  await edit.getByLabel("To", { exact: true }).fill("06:30");
  await edit.getByRole("textbox", { name: /^Time zone/ }).fill("UTC");
  await check(page, "edit");
  await edit.getByRole("button", { name: "Save" }).click();
  await phone.getByText("quiet from 23:00 to 06:30 (UTC)").waitFor();
  await check(page, "list");
  await ci.getByRole("button", { name: "Edit ci" }).click();
  const other = page.getByRole("dialog", { name: "Edit ci" });
  await other.getByRole("textbox", { name: "Address" }).fill(`${address}/other`);
  await other.getByRole("note").getByText("write it again").waitFor();
  expect(await other.getByRole("button", { name: "Save" }).isDisabled()).toBe(true);
  await other.getByRole("textbox", { name: "Address" }).fill(`${address}/hook`);
  await other.getByRole("checkbox", { name: "A turn is over" }).uncheck();
  await other.getByRole("button", { name: "Save" }).click();
  await other.waitFor({ state: "detached" });
  await ci.getByRole("button", { name: "Test ci" }).click();
  await ci.getByRole("status").waitFor();
  expect(got.filter((g) => g.body.event === "test").every((g) => g.signed)).toBe(true);
  const now = await state();
  expect(now.channels).toEqual([
    expect.objectContaining({ id: "ci", secret: "(kept)", events: ["needs", "failed", "budget"], private: true }),
    expect.objectContaining({ id: "phone", events: ["done", "failed"], answers: true, quiet: { from: "23:00", to: "06:30", zone: "UTC" } }),
  ]);
  expect(now.base_url).toBe("https://terret.example");

  page.removeAllListeners("dialog"); // the watch dismisses what nobody expects
  page.on("dialog", (d) => void d.accept());
  await phone.getByRole("button", { name: "Remove phone" }).click();
  await phone.waitFor({ state: "detached" });
  expect((await state()).channels.map((c) => c.id)).toEqual(["ci"]);
  expect(watch.problems.filter((p) => !/40\d|50\d/.test(p))).toEqual([]);
  await context.close();
});

it("it fits a phone", async () => {
  const channel = { kind: "ntfy", url: `${address}/gone/a-topic-with-a-name-that-nobody-guesses-0123456789`, private: true, answers: true, events: ["done"] };
  const put = await server.api("PUT", "/v1/notify", { channels: [{ ...channel, id: "small" }, { ...channel, id: "a-name-that-is-rather-long", quiet: { from: "22:00", to: "07:00", zone: "UTC" } }] });
  expect(put.status).toBe(200);
  const { lost } = await state();
  await server.ended(await server.session({}, "list files"));
  await expect.poll(async () => (await state()).lost.length, patience).toBeGreaterThan(lost.length);
  const { context, page, watch } = await open({ viewport: { width: 390, height: 844 }, reducedMotion: "reduce" });
  await page.goto(`${server.url}/settings`);
  const region = page.getByRole("region", { name: "Told elsewhere" });
  await region.getByRole("list", { name: "Given up" }).waitFor();
  await check(page, "phone");
  await region.getByRole("button", { name: "Edit a-name-that-is-rather-long" }).click();
  await page.getByRole("dialog").getByLabel("From").waitFor();
  await check(page, "phone-edit");
  expect(watch.problems).toEqual([]);
  await context.close();
});

it("whoever may not do everything does not see it", async () => {
  const { status, body } = await server.api<{ token: string }>("POST", "/v1/tokens", { name: "looks", scope: "view" });
  expect(status).toBe(201);
  const answer = await fetch(`${server.url}/v1/notify`, { headers: { Authorization: `Bearer ${body.token}` } });
  expect(answer.status).toBe(403);
  const { context, page } = await open();
  await page.route("**/v1/me", (route) => route.fulfill({ json: { name: "looks", scope: "decide" } }));
  await page.goto(`${server.url}/settings`);
  await page.getByRole("heading", { name: "Limits of new sessions" }).waitFor();
  expect(await page.getByRole("region", { name: "Told elsewhere" }).count()).toBe(0);
  await context.close();
});
