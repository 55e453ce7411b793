// Measures the UI in a real browser: `make web-bench`, on a machine that does nothing
// else. It asserts no times; what it prints is for people to compare. Each session at
// work writes five pieces of text a second, all at the same time: 250 events a second,
// in one paragraph that never ends, which is the hardest to draw.

import type { CDPSession, Page } from "playwright-core";
import { it } from "vitest";
import { live, type Server, world } from "./harness";

const sessions = 500;
const working = 50;
const events = 50_000;
const seconds = 10;

const piece = (i: number) => ({ event: { kind: "message.delta", data: { message_id: "m1", index: 0, text: `word ${i} of an answer that goes on. ` } } });

const { server, open, browser } = world({ script: { turns: [[...Array.from({ length: 3000 }, (_, i) => [{ delay: "200ms" }, piece(i)]).flat(), { hang: true }]] } });

const say = (what: string, value: string) => process.stdout.write(`${what.padEnd(64)} ${value}\n`);

/** Seconds of a core that all processes of the browser have used. */
async function used(): Promise<number> {
  const devtools = await browser().newBrowserCDPSession();
  const { processInfo } = await devtools.send("SystemInfo.getProcessInfo");
  await devtools.detach();
  return processInfo.reduce((sum, p) => sum + p.cpuTime, 0);
}

/** What the renderer's main thread did in some seconds, and how evenly it drew. */
async function measure(page: Page, devtools: CDPSession, what: string, act?: string): Promise<void> {
  const read = async () => Object.fromEntries((await devtools.send("Performance.getMetrics")).metrics.map((m) => [m.name, m.value])) as Record<string, number>;
  const [before, usedBefore] = [await read(), await used()];
  const frames = await page.evaluate(async ({ seconds, act }) => {
    const list = act ? document.querySelector(act) : null;
    const gaps: number[] = [];
    const end = performance.now() + seconds * 1000;
    let last = performance.now();
    while (last < end) {
      const now = await new Promise<number>((done) => (list ? requestAnimationFrame(done) : setTimeout(() => done(performance.now()), 100)));
      gaps.push(now - last);
      last = now;
      if (list) list.scrollTop = (list.scrollTop + 40) % Math.max(1, list.scrollHeight - list.clientHeight);
    }
    gaps.sort((a, b) => a - b);
    return { drawn: gaps.length / seconds, slow: gaps.filter((g) => g > 34).length, p95: gaps[Math.floor(gaps.length * 0.95)] ?? 0 };
  }, { seconds, act });
  const [after, usedAfter] = [await read(), await used()];
  const spent = (name: string) => (after[name] ?? 0) - (before[name] ?? 0);
  say(`${what}: main thread`, `${(spent("TaskDuration") / seconds * 100).toFixed(1)} % of a core (scripts ${(spent("ScriptDuration") / seconds * 100).toFixed(1)} %)`);
  say(`${what}: all of the browser`, `${((usedAfter - usedBefore) / seconds * 100).toFixed(1)} % of a core`);
  say(`${what}: layouts, style recalculations, DOM nodes`, `${spent("LayoutCount")}, ${spent("RecalcStyleCount")}, ${after.Nodes}`);
  if (act) say(`${what}: frames while scrolling`, `${frames.drawn.toFixed(0)} a second, 95 % within ${frames.p95.toFixed(0)} ms, ${frames.slow} slow`);
}

/** Imports a session that has so many events: a real one, over and over. */
async function long(server: Server): Promise<string> {
  const id = await server.session({ agent: "native", policy: "auto-approve", title: "long" }, "create a.go containing package main, then run: ls, then list files");
  for (;;) {
    const { state } = (await server.api<{ state: string }>("GET", `/v1/sessions/${id}`)).body;
    if (state === "idle") break;
    await new Promise((r) => setTimeout(r, 200));
  }
  const text = await (await fetch(`${server.url}/v1/sessions/${id}/export`, { headers: { Authorization: `Bearer ${server.token()}` } })).text();
  const [head, ...lines] = text.trim().split("\n");
  const out = [head!];
  for (let round = 0; out.length <= events; round++) {
    const mark = round.toString(16).padStart(6, "0");
    for (const line of lines) {
      if (line.includes('"kind":"session.end"')) continue;
      const own = line.replace(/("(?:turn|message_id|tool_id|request_id)":"[\w-]*?)[0-9a-f]{6}"/g, `$1${mark}"`);
      out.push(own.replace(/^\{"seq":\d+/, `{"seq":${out.length}`));
    }
  }
  const answer = await fetch(`${server.url}/v1/sessions/import?cwd=${encodeURIComponent(server.project)}`, {
    method: "POST", headers: { Authorization: `Bearer ${server.token()}`, "Content-Type": "application/x-ndjson" }, body: out.join("\n") + "\n",
  });
  if (!answer.ok) throw new Error(`import: ${answer.status} ${(await answer.text()).slice(0, 500)}`);
  return ((await answer.json()) as { id: string }).id;
}

it("measures", async () => {
  for (let i = 0; i < sessions; i++) await server.session({ agent: "mock", title: `session ${i}` }, i < working ? "go" : undefined);
  const { context, page } = await open();
  let asked = 0;
  page.on("request", (r) => (asked += Number(new URL(r.url()).pathname.startsWith("/v1/"))));
  const devtools = await context.newCDPSession(page);
  await devtools.send("Performance.enable", { timeDomain: "threadTicks" }); // what others do on the machine does not count
  await page.goto(server.url);
  await live(page);
  await page.getByRole("link", { name: /session 49\b/ }).first().waitFor();
  const watched = (await server.api<{ items: { id: string; title: string }[] }>("GET", "/v1/sessions?limit=500")).body.items.find((s) => s.title === "session 1")!.id;

  asked = 0;
  await measure(page, devtools, `Home, ${sessions} sessions, ${working} at work`);
  say("Home: requests in that time", `${asked}`);
  await measure(page, devtools, "Home, scrolling the list", ".side .list");
  await page.goto(`${server.url}/s/${watched}`);
  await page.getByText("of an answer that goes on").first().waitFor();
  await measure(page, devtools, "A conversation that is being written");
  await measure(page, devtools, "A conversation that is being written and scrolled", ".conversation .scroll");

  const id = await long(server);
  await page.goto(server.url);
  await live(page);
  const took = await page.evaluate(async (path) => {
    const began = performance.now();
    history.pushState(null, "", path);
    window.dispatchEvent(new PopStateEvent("popstate"));
    while (!document.querySelector(".turn-end")) await new Promise((r) => requestAnimationFrame(r));
    return performance.now() - began;
  }, `/s/${id}`);
  say(`A session of ${events} events opens in`, `${took.toFixed(0)} ms, ${await page.evaluate(() => document.querySelectorAll("*").length)} elements`);
  await context.close();
});
