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
  expect(await page.locator("html").getAttribute("data-theme")).toBe("dark");
  await main.getByRole("combobox", { name: /^Editor/ }).selectOption("Zed");
  await main.getByRole("combobox", { name: /^Mode/ }).selectOption("Plan");
  await page.reload();
  expect(await main.getByRole("combobox", { name: "Theme" }).inputValue()).toBe("dark");
  expect(await main.getByRole("combobox", { name: /^Editor/ }).inputValue()).toBe("zed://file{path}");
  const devices = main.getByRole("region", { name: "Devices and tokens" });
  await devices.getByText("may look · never used").waitFor();
  page.removeAllListeners("dialog"); // the watch dismisses what nobody expects
  page.on("dialog", (d) => void d.accept());
  await devices.getByRole("button", { name: "Sign out build robot" }).click();
  await devices.getByText("build robot").waitFor({ state: "detached" });
  expect((await server.api<{ items: { name: string }[] }>("GET", "/v1/tokens")).body.items.map((t) => t.name)).not.toContain("build robot");
  await page.goto(server.url);
  expect(await main.getByRole("combobox", { name: "Mode" }).inputValue()).toBe("plan");
  expect(watch.problems).toEqual([]);
  await context.close();
});
