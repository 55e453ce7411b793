import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { live, world } from "./harness";

const { server, open } = world();

it("one page has the theme, the editor, what new sessions begin with, and who is signed in", async () => {
  const { context, page, watch } = await open();
  expect((await server.api("POST", "/v1/tokens", { name: "build robot", scope: "view" })).status).toBe(201);
  await page.goto(server.url);
  await live(page);
  await page.getByRole("navigation", { name: "Sessions" }).getByRole("link", { name: "Settings" }).click();
  const main = page.getByRole("main");
  await main.getByRole("combobox", { name: "Theme" }).selectOption("Dark");
  await expect.poll(() => page.locator("html").getAttribute("data-theme")).toBe("dark");
  await main.getByRole("combobox", { name: /^Editor/ }).selectOption("Zed");
  await main.getByRole("combobox", { name: /^Mode/ }).selectOption("Plan");
  await page.reload();
  await expect.poll(() => main.getByRole("combobox", { name: "Theme" }).inputValue()).toBe("dark");
  await expect.poll(() => main.getByRole("combobox", { name: /^Editor/ }).inputValue()).toBe("zed://file{path}");
  const devices = main.getByRole("region", { name: "Devices and tokens" });
  await devices.getByText("may look · never used").waitFor();
  page.removeAllListeners("dialog"); // the watch dismisses what nobody expects
  page.on("dialog", (d) => void d.accept());
  await devices.getByRole("button", { name: "Sign out build robot" }).click();
  await devices.getByText("build robot").waitFor({ state: "detached" });
  expect((await server.api<{ items: { name: string }[] }>("GET", "/v1/tokens")).body.items.map((t) => t.name)).not.toContain("build robot");
  await page.goto(server.url);
  await expect.poll(() => main.getByRole("combobox", { name: "Mode" }).inputValue()).toBe("plan");
  expect(watch.problems).toEqual([]);
  await context.close();
});

it("a folder that was trusted is listed, and forgotten", async () => {
  const folder = join(server.project, "trusted");
  mkdirSync(folder);
  writeFileSync(join(folder, ".mcp.json"), "{}");
  const { hash } = (await server.api<{ hash: string }>("GET", `/v1/trust?cwd=${encodeURIComponent(folder)}`)).body;
  expect((await server.api("POST", "/v1/trust", { cwd: folder, hash, trusted: true })).status).toBe(200);
  const { context, page, watch } = await open();
  await page.goto(`${server.url}/settings`);
  const region = page.getByRole("region", { name: "Trusted folders" });
  await region.getByText(folder).waitFor();
  await region.getByText("Trusted · decided just now by admin").waitFor();
  await region.getByRole("button", { name: `Forget ${folder}` }).click();
  await region.getByText("You have not decided about any folder").waitFor();
  expect((await server.api<{ decision: string }>("GET", `/v1/trust?cwd=${encodeURIComponent(folder)}`)).body.decision).toBe("unknown");
  expect(watch.problems).toEqual([]);
  await context.close();
});

it("new sessions get the limits", async () => {
  const { context, page, watch } = await open();
  await page.goto(`${server.url}/settings`);
  const main = page.getByRole("main");
  await main.getByRole("spinbutton", { name: /^Cost/ }).fill("3");
  await main.getByRole("spinbutton", { name: /^Steps/ }).fill("20");
  await main.getByRole("combobox", { name: /^Waiting/ }).selectOption("One hour");
  await page.goto(server.url);
  await live(page);
  await main.getByRole("textbox", { name: "What should the agent do?" }).fill("list files");
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/s\//);
  const id = new URL(page.url()).pathname.slice("/s/".length);
  const { options } = (await server.api<{ options: Record<string, unknown> }>("GET", `/v1/sessions/${id}`)).body;
  expect(options).toMatchObject({ max_cost_usd: 3, max_turns: 20 });
  expect(JSON.stringify(options)).toMatch(/"permission":3600/);
  expect(watch.problems).toEqual([]);
  await context.close();
});

it("another device signs in with a link that works once, and never sends its code anywhere else", async () => {
  const { context, page, watch } = await open();
  await page.goto(`${server.url}/settings`);
  await page.getByRole("button", { name: "Sign in another device…" }).click();
  const dialog = page.getByRole("dialog", { name: "Sign in another device" });
  await dialog.getByRole("note").getByText("Only this computer can open the link").waitFor();
  await dialog.getByRole("combobox", { name: "The device may" }).selectOption("look, prompt and answer");
  await dialog.getByRole("img", { name: "QR code of the link" }).waitFor();
  const link = await dialog.getByRole("textbox", { name: "Link" }).inputValue();
  expect(link).toContain(`${server.url}/#code=`);
  const code = link.slice(link.indexOf("=") + 1);

  const phone = await context.browser()!.newContext({ viewport: { width: 390, height: 844 } });
  const seen: string[] = [];
  phone.on("request", (r) => seen.push(`${r.url()} ${r.headers().referer ?? ""}`));
  const there = await phone.newPage();
  await there.goto(link);
  await there.getByRole("navigation", { name: "Panes" }).waitFor();
  expect(there.url()).not.toContain("code");
  expect(seen.filter((s) => s.includes(code) && !s.startsWith(link))).toEqual([]); // the fragment stays in the browser
  await dialog.getByRole("status").getByText(/(Chrome|Firefox) on Linux.* is signed in/).waitFor();
  const tokens = (await server.api<{ items: { name: string; scope: string }[] }>("GET", "/v1/tokens")).body.items;
  expect(tokens.find((t) => /^(Chrome|Firefox) on Linux$/.test(t.name))?.scope).toBe("decide");

  const again = await (await context.browser()!.newContext()).newPage();
  await again.goto(link);
  await again.getByRole("alert").getByText("This sign-in link was used before or is too old. Run terret open").waitFor();
  await again.context().close();
  await phone.close();
  expect(watch.problems).toEqual([]);
  await context.close();
});
