import { expect, it } from "vitest";
import { live, world } from "./harness";

const piece = (text: string) => ({ event: { kind: "message.delta", data: { message_id: "m1", index: 0, text } } });

// An answer that is written and written: the text so far must show, whoever comes late.
const { server, open } = world({
  script: {
    turns: [[
      piece("The first half. "),
      { event: { kind: "notification", data: { text: "something else in mid-message", level: "info" } } },
      piece("The second half. "),
      ...Array.from({ length: 40 }, (_, i) => [{ delay: "100ms" }, piece(`word ${i} `)]).flat(),
      { hang: true },
    ]],
  },
});

it("shows an answer from its beginning to somebody who comes in its middle", async () => {
  const { context, page, watch } = await open();
  let asked = 0;
  page.on("request", (r) => { if (/\/v1\/sessions\/[^/]+\/events/.test(r.url())) asked++; });
  const id = await server.session({ agent: "mock" }, "write");
  await expect.poll(async () => (await server.api<{ last_seq: number }>("GET", `/v1/sessions/${id}`)).body.last_seq).toBeGreaterThan(12);
  await page.goto(`${server.url}/s/${id}`);
  await live(page);
  await page.locator(".said", { hasText: "The first half. The second half. word 0 word 1" }).waitFor();
  await page.locator(".said", { hasText: "word 39" }).waitFor();
  expect(asked).toBeLessThanOrEqual(4); // once when it opens and once when the stream does, in two parts each
  await page.reload();
  await page.locator(".said", { hasText: "The first half. The second half. word 0 word 1 word 2 word 3 " }).waitFor();
  expect(watch.problems).toEqual([]);
  await context.close();
});
