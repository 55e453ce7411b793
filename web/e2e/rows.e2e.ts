import { expect, it } from "vitest";
import { openTab, world } from "./harness";

// What the design documents want seen, and no other story shows: docs/REQUIREMENTS.md
// names these tests.
const { server, open } = world({
  script: {
    commands: [{ name: "compact", description: "Make it short" }, { name: "cost", description: "What it cost" }],
    turns: [
      [
        { text: "Two plus two is four." },
        { usage: { input: 8200, output: 1900, cache_read: 0, cache_write: 0, reasoning: 0, cost_usd: 0.31, context_used: 50_000, context_max: 200_000 } },
      ],
      [{ text: "I begin" }, { crash: true }],
      [{ text: "I am back." }],
    ],
  },
});

it("tokens and cost stand in the bar and at the end of the answer; a crash gives the message field back", async () => {
  const { page, watch, context } = await open();
  const id = await server.session({ agent: "mock" }, "What is 2+2?");
  await page.goto(`${server.url}/s/${id}`);
  await page.getByText("Two plus two is four.").first().waitFor();
  const bar = page.locator("footer.status");
  await bar.getByText("10 k tokens").waitFor();
  await bar.getByText("25 % context").waitFor();
  await bar.getByText("$0.31").waitFor();
  await page.locator(".turn-end").getByText("$0.31").waitFor();

  const message = page.getByRole("textbox", { name: "Message" });
  await message.fill("go on");
  await message.press("Enter");
  await page.locator(".rows").getByRole("alert").getByText("The agent exited with code 1").waitFor();
  await expect.poll(() => message.isEnabled()).toBe(true);
  await message.fill("are you there?");
  const send = page.getByRole("button", { name: /^Send/ });
  await expect.poll(() => send.isEnabled()).toBe(true);
  await send.click();
  await page.getByText("I am back.").first().waitFor();
  expect(watch.problems).toEqual([]);
  await context.close();
});

it("commands are picked from a list by their first letters", async () => {
  const { page, watch, context } = await open();
  const id = await server.session({ agent: "mock" });
  await page.goto(`${server.url}/s/${id}`);
  const message = page.getByRole("textbox", { name: "Message" });
  await message.pressSequentially("/c");
  const list = page.getByRole("listbox");
  await list.getByRole("option", { name: /compact.*Make it short/ }).waitFor();
  await list.getByRole("option", { name: /cost.*What it cost/ }).waitFor();
  await message.pressSequentially("os");
  await expect.poll(() => list.getByRole("option").count()).toBe(1);
  await message.press("Enter");
  await expect.poll(() => message.inputValue()).toBe("/cost ");
  expect(watch.problems).toEqual([]);
  await context.close();
});

it("undo and redo are offered only where the agent's capabilities say so", async () => {
  const { page, watch, context } = await open();
  const id = await server.session({ agent: "mock" }, "What is 2+2?");
  const offered = async () => {
    await page.goto(`${server.url}/s/${id}`);
    await page.getByRole("button", { name: "Session actions" }).click();
    await page.getByRole("menuitem", { name: /Rename/ }).waitFor();
    const names = await page.getByRole("menuitem").allInnerTexts();
    await page.keyboard.press("Escape");
    return ["Undo", "Redo"].map((name) => names.some((n) => n.startsWith(name)));
  };
  expect(await offered()).toEqual([true, true]);
  for (const without of ["undo", "redo"]) {
    await page.route("**/v1/agents", async (route) => {
      const response = await route.fetch();
      const body = (await response.json()) as { items: { capabilities: Record<string, unknown> }[] };
      for (const agent of body.items) agent.capabilities[without] = { ok: false, reason: "it cannot" };
      await route.fulfill({ response, json: body });
    });
    const asked = page.waitForResponse("**/v1/agents");
    await page.goto(server.url);
    await asked;
    await expect.poll(offered).toEqual([without !== "undo", without !== "redo"]);
    await page.unroute("**/v1/agents");
  }
  expect(watch.problems).toEqual([]);
  await context.close();
});

it("a file that a tool makes appears in the file tree by itself", async () => {
  const { page, watch, context } = await open();
  const id = await server.session({ agent: "native", policy: "auto-approve" });
  await page.goto(`${server.url}/s/${id}`);
  await openTab(page, "Files");
  const tree = page.getByRole("tree", { name: "Files" });
  expect(await tree.getByRole("treeitem", { name: "made.txt" }).count()).toBe(0);
  const message = page.getByRole("textbox", { name: "Message" });
  await message.fill("create made.txt containing hi");
  await message.press("Enter");
  await page.locator(".tool", { hasText: "made.txt" }).first().waitFor();
  await tree.getByRole("treeitem", { name: "made.txt" }).waitFor();
  expect(watch.problems).toEqual([]);
  await context.close();
});
