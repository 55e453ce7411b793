import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { live, openTab, world } from "./harness";

const { server, open } = world({}, () => {
  mkdirSync(join(server.project, ".claude"));
  settings("echo one");
});
const settings = (command: string) =>
  writeFileSync(join(server.project, ".claude", "settings.json"), JSON.stringify({ hooks: { Stop: [{ hooks: [{ type: "command", command }] }] } }));

const decision = async () => (await server.api<{ decision: string }>("GET", `/v1/trust?cwd=${encodeURIComponent(server.project)}`)).body.decision;

it("says what an untrusted folder would do, and lets one trust it or not, in place", async () => {
  const { context, page, watch } = await open();
  const id = await server.session({});
  await page.goto(`${server.url}/s/${id}`);
  await live(page);
  const strip = page.getByRole("region", { name: "Folder settings" });
  await strip.getByText(".claude/settings.json").waitFor();
  await strip.getByText("settings of Claude Code, with hooks and permissions").waitFor();

  // What was shown is what is trusted, and nothing else.
  settings("echo two");
  await strip.getByRole("button", { name: "Trust this folder" }).click();
  await page.getByText("Nothing was decided").first().waitFor();
  expect(await decision()).toBe("unknown");
  await strip.getByRole("button", { name: "Trust this folder" }).click();
  await strip.waitFor({ state: "detached" });
  await expect.poll(decision).toBe("trusted");

  settings("echo three");
  await page.reload();
  await strip.getByRole("button", { name: "Don’t trust" }).click();
  await strip.waitFor({ state: "detached" });
  await expect.poll(decision).toBe("refused");
  await openTab(page, "Details");
  await page.getByRole("tabpanel", { name: "Details" }).getByRole("button", { name: "Trust this folder" }).click();
  await page.getByText("You trust this folder").waitFor();
  await expect.poll(decision).toBe("trusted");
  expect(watch.problems).toEqual([]);
  await context.close();
});
