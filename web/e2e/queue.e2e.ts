import { expect, it } from "vitest";
import { live, world } from "./harness";

const { server, open } = world();

it("a queued message shows at once, and can be changed, moved and dropped", async () => {
  const { context, page, watch } = await open();
  const id = await server.session({ policy: "auto-approve" }, "run: sleep 600");
  await page.goto(`${server.url}/s/${id}`);
  await live(page);
  await page.locator(".tool .dot.busy").first().waitFor();
  const message = page.getByRole("textbox", { name: "Message", exact: true });
  const queue = page.getByRole("list", { name: "Queued messages" });
  const lines = queue.getByRole("listitem");
  for (const words of ["list files", "say hello"]) {
    await message.fill(words);
    await message.press("Alt+Enter");
    await queue.getByText(words).waitFor();
  }
  expect(await lines.first().innerText()).toMatch(/Next:\s*list files/);

  await lines.nth(1).getByRole("button", { name: "Move up" }).click();
  await lines.first().getByText("say hello").waitFor();
  await lines.first().getByRole("button", { name: "Edit" }).click();
  await queue.getByRole("textbox").fill("say hello twice");
  await queue.getByRole("textbox").press("Enter");
  await lines.first().getByText("say hello twice").waitFor();
  await lines.first().getByRole("button", { name: "Drop" }).click();
  await queue.getByText("say hello").waitFor({ state: "detached" });
  await expect.poll(() => lines.count()).toBe(1);

  // Somebody else's message shows too.
  expect((await server.api("POST", `/v1/sessions/${id}/turns`, { prompt: "from afar", when: "queue" })).status).toBe(202);
  await queue.getByText("from afar").waitFor();
  expect(watch.problems).toEqual([]);
  await context.close();
});

it("a stop holds what is queued, here and in every other window, until it is sent or put back", async () => {
  const { context, page, watch } = await open();
  const id = await server.session({ policy: "auto-approve" }, "run: sleep 600");
  await page.goto(`${server.url}/s/${id}`);
  await live(page);
  await page.locator(".tool .dot.busy").first().waitFor();
  const queue = page.getByRole("list", { name: "Queued messages" });
  for (const prompt of ["say hello", "list files"]) {
    expect((await server.api("POST", `/v1/sessions/${id}/turns`, { prompt, when: "queue" })).status).toBe(202);
    await queue.getByText(prompt).waitFor();
  }
  await page.getByRole("button", { name: "Stop" }).click();
  const held = queue.locator(".held");
  await expect.poll(() => held.count()).toBe(2);
  await page.getByText("You stopped it").waitFor();
  await held.nth(1).getByRole("button", { name: "Edit" }).click();
  await expect.poll(() => held.count()).toBe(1);
  expect(await page.getByRole("textbox", { name: "Message", exact: true }).inputValue()).toBe("list files");
  await held.first().getByRole("button", { name: "Send" }).click();
  await queue.waitFor({ state: "detached" });
  const { body } = await server.api("GET", `/v1/sessions/${id}/turns`);
  expect((body as { items: unknown[] }).items).toHaveLength(2);
  expect(watch.problems).toEqual([]);
  await context.close();
});

it("a running agent can be steered before all the agents' programs have said who they are", async () => {
  const { context, page, watch } = await open();
  const id = await server.session({ policy: "auto-approve" }, "run: sleep 600");
  await page.route(/\/v1\/agents$/, () => {}); // which takes seconds where a dozen are installed
  await page.goto(`${server.url}/s/${id}`);
  await page.getByRole("button", { name: "Steer" }).waitFor();
  expect(watch.problems).toEqual([]);
  await context.close();
});
