import { expect, it } from "vitest";
import { live, world } from "./harness";

const say = (id: string, text: string) => ({ event: { kind: "message.complete", data: { message_id: id, role: "assistant", blocks: [{ type: "text", text }] } } });
const long = Array.from({ length: 60 }, (_, i) => say(`m${i}`, i === 7 ? "The marmalade is in the **third** cupboard." : `Paragraph ${i} of a long answer.\n\nMore of it.\n\nAnd more.`));

const { server, open } = world({ script: { turns: [long] } });

it("words that were said lead to their message, from the list and from the palette", async () => {
  const { context, page, watch } = await open();
  const id = await server.session({ agent: "mock", title: "kitchen" }, "where is it?");
  await server.session({ agent: "mock", title: "cellar" });
  await server.ended(id);
  await page.goto(server.url);
  await live(page);
  const side = page.getByRole("navigation", { name: "Sessions" });
  const field = side.getByRole("searchbox");
  await field.fill("CUPBOARD marma");
  const hits = side.getByRole("region", { name: "Messages found" });
  await hits.getByText("kitchen").waitFor();
  await expect.poll(() => hits.locator("mark").allInnerTexts()).toEqual(["marma", "cupboard"]);
  await hits.getByText("kitchen").click();
  await page.waitForURL(`**/s/${id}`);
  const there = page.locator(".virtual-row.hit", { hasText: "marmalade is in the third cupboard" });
  await there.waitFor();
  await expect.poll(async () => {
    const box = (await there.boundingBox())!;
    const view = (await page.getByRole("region", { name: "Conversation" }).boundingBox())!;
    return box.y >= view.y && box.y + box.height <= view.y + view.height;
  }).toBe(true);
  await field.fill("");
  await hits.waitFor({ state: "detached" });

  await page.goto(server.url);
  await live(page);
  await page.keyboard.press("Control+k");
  await page.getByRole("dialog").getByRole("combobox").fill("third cupb");
  const option = page.getByRole("option", { name: /marmalade is in the/ });
  await option.waitFor();
  await option.click();
  await page.waitForURL(`**/s/${id}`);
  await there.waitFor();

  await server.api("DELETE", `/v1/sessions/${id}`);
  await page.goto(server.url);
  await field.fill("marmalade");
  await side.getByText("No sessions match").waitFor();
  await expect.poll(() => hits.count()).toBe(0);
  expect(watch.problems).toEqual([]);
  await context.close();
});

it("Find marks each match and brings the next one into view", async () => {
  const { context, page, watch } = await open();
  const id = await server.session({ agent: "mock", title: "pantry" }, "what is there?");
  await server.ended(id);
  await page.goto(`${server.url}/s/${id}`);
  await live(page);
  await page.getByText("Paragraph 59").waitFor();
  await page.keyboard.press("Control+f");
  await page.keyboard.type("more");
  await page.getByText("1 of 118").waitFor();
  const current = () => page.evaluate(() => {
    const [range] = [...(CSS.highlights.get("found-now") ?? [])] as Range[];
    if (!range) return "";
    const [at, view] = [range.getBoundingClientRect(), document.querySelector(".scroll")!.getBoundingClientRect()];
    const nth = [...(CSS.highlights.get("found") ?? [])].indexOf(range);
    return at.top >= view.top && at.bottom <= view.bottom ? `${nth} ${range.startContainer.textContent}` : "";
  });
  await expect.poll(current).toBe("0 More of it.");
  await page.keyboard.press("Enter");
  await expect.poll(current).toBe("1 And more.");
  await page.keyboard.press("Shift+Enter");
  await page.keyboard.press("Shift+Enter");
  await page.getByText("118 of 118").waitFor();
  await expect.poll(current).toMatch(/And more\.$/);
  await page.keyboard.press("Escape");
  expect(await page.evaluate(() => CSS.highlights.size)).toBe(0);
  expect(watch.problems).toEqual([]);
  await context.close();
});
