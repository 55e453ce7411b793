import { expect, it } from "vitest";
import { live, world } from "./harness";

// Bob asks Carl, who is the demo, and tells Paul, who is a person, what came of it.
const { server, open } = world({ script: { turns: [[{ text: "@carl list files" }], [{ text: "@paul Carl has looked." }]] } });

it("a team is made, talks, is seen talking, and is shut down", async () => {
  const { context, page, watch } = await open();
  await page.goto(`${server.url}/team`);
  await live(page);
  await page.getByText("Nobody is in the team yet").waitFor();
  const members = page.getByRole("region", { name: "Members" });
  const add = async (name: string, agent: string) => {
    await page.getByRole("button", { name: "Add a member" }).click();
    const dialog = page.getByRole("dialog", { name: "Add a member" });
    await dialog.getByLabel("Name").fill(name);
    await dialog.getByLabel("Agent").selectOption(agent);
    if (agent !== "person") await dialog.getByRole("textbox", { name: "Folder" }).fill(server.project);
    await dialog.getByRole("button", { name: "Add", exact: true }).click();
    await dialog.waitFor({ state: "detached" });
    await members.getByText(name, { exact: true }).waitFor();
  };
  await add("bob", "mock");
  await add("carl", "native");
  await add("paul", "person");

  await page.getByLabel("To", { exact: true }).selectOption("bob");
  const message = page.getByRole("textbox", { name: "Message to the team" });
  await message.fill("Have Carl look around");
  await message.press("Enter");
  // Everything below comes by itself: nothing is loaded anew.
  const log = page.getByRole("log");
  await log.getByText("Have Carl look around").waitFor();
  await log.getByText("list files", { exact: true }).first().waitFor();
  await log.getByText("Carl has looked.").waitFor();
  await expect.poll(() => message.inputValue()).toBe("");
  await page.getByRole("img", { name: /bob wrote to carl once/ }).waitFor();
  await page.getByRole("img", { name: /bob wrote to paul once/ }).waitFor();
  await page.getByText("1 message waiting").waitFor(); // Paul's

  // One member's mail, its session, and the end of it.
  await page.getByRole("button", { name: /^paul/ }).click();
  await page.getByRole("heading", { name: "Messages of paul" }).waitFor();
  await expect.poll(() => log.getByText("list files", { exact: true }).count()).toBe(0);
  await page.getByRole("button", { name: "Show all" }).click();
  await page.getByLabel("Who may write to whom").selectOption("hierarchical");
  await expect.poll(async () => (await server.api<{ topology: { kind: string } }>("GET", "/v1/team")).body.topology.kind).toBe("hierarchical");
  await members.getByRole("button", { name: "Actions for carl" }).click();
  await page.getByRole("menuitem", { name: "Open session" }).click();
  await page.waitForURL(/\/s\//);
  await page.locator(".conversation").getByText("list files").first().waitFor();
  await page.goBack();
  await members.getByRole("button", { name: "Actions for carl" }).click();
  await page.getByRole("menuitem", { name: "Shut down" }).click();
  await expect.poll(async () => (await server.api<{ items: unknown[] }>("GET", "/v1/team/agents")).body.items.length).toBe(2);
  await members.getByRole("button", { name: "Actions for carl" }).waitFor({ state: "detached" });
  expect(watch.problems).toEqual([]);
  await context.close();
});
