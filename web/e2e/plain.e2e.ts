import { expect, it } from "vitest";
import { live, world } from "./harness";

const text = `## Findings\n\n${Array.from({ length: 30 }, (_, i) => `- finding **${i}** of the review`).join("\n")}\n\nThe last line.`;

const { server, open } = world({ script: { turns: [[{ event: { kind: "message.complete", data: { message_id: "m1", role: "assistant", blocks: [{ type: "text", text }] } } }]] } });

it("an answer can be read before what draws Markdown is loaded, and its end stays in sight when it is", async () => {
  const { context, page, watch } = await open();
  const id = await server.session({ agent: "mock" }, "review");
  let release = () => {};
  const held = new Promise<void>((r) => (release = r));
  await page.route(/RichMarkdown-.*\.js/, async (route) => { await held; await route.continue(); });
  await page.goto(`${server.url}/s/${id}`);
  await live(page);
  const said = page.locator(".said");
  await said.filter({ hasText: "The last line." }).waitFor();
  expect(await said.locator(".markdown.plain").innerText()).toContain("- finding **29** of the review");
  release();
  await said.getByText("The last line.", { exact: true }).waitFor();
  await expect.poll(() => said.locator("li").count()).toBe(30);
  await expect.poll(async () => {
    const box = (await said.getByText("The last line.", { exact: true }).boundingBox())!;
    const view = (await page.getByRole("region", { name: "Conversation" }).boundingBox())!;
    return view.y + view.height - box.y - box.height;
  }).toBeGreaterThanOrEqual(0);
  expect(watch.problems).toEqual([]);
  await context.close();
});
