// What a page shows after others did whatever they liked is what it shows when it is loaded anew.
//
// TERRET_TRUTH is the number of things that are done, TERRET_TRUTH_SEED repeats what each client chose.

import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { live, type Server, world } from "./harness";

const { server, open } = world();

const clients = 10;
const actions = Number(process.env.TERRET_TRUTH ?? 60);
const seed = Number(process.env.TERRET_TRUTH_SEED ?? (process.env.CI ? 1 : Date.now() % 1_000_000));

/** Numbers from 0 to 1 that a seed decides (mulberry32). */
function random(seed: number): () => number {
  let a = seed;
  return () => {
    a = (a + 0x6d2b79f5) | 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

interface Queued { turn: string }
interface Asked { id: string }

/** One of those who use the session. */
class Client {
  private readonly chance: () => number;

  constructor(private readonly server: Server, private readonly session: string, private readonly n: number) {
    this.chance = random(seed * clients + n);
  }

  private pick = <T>(of: T[]): T | undefined => of[Math.floor(this.chance() * of.length)];

  /** Others may have been faster, but nothing may fail. */
  private async send<T>(method: string, path: string, body?: unknown): Promise<T> {
    const answer = await this.server.api<T>(method, path, body);
    expect(answer.status, `${method} ${path}: ${JSON.stringify(answer.body)}`).toBeLessThan(500);
    return answer.body;
  }

  private at = (path: string) => `/v1/sessions/${this.session}${path}`;
  private queue = async () => (await this.send<{ items: Queued[] }>("GET", this.at("/queue"))).items;
  asked = async () => (await this.send<{ items: Asked[] }>("GET", `/v1/decisions?session=${this.session}&state=open`)).items;

  async act(i: number): Promise<void> {
    const what = this.chance();
    if (what < 0.4) {
      const prompt = this.pick([`say number ${this.n}.${i}`, "list files", `run: echo ${this.n}.${i} >> log.txt`, `create file-${this.n}.txt containing ${i}`]);
      await this.send("POST", this.at("/turns"), { prompt, when: "queue" });
    } else if (what < 0.65) {
      const request = this.pick(await this.asked());
      if (request) await this.send("POST", `/v1/decisions/${request.id}`, { behavior: this.pick(["allow", "allow", "deny"]) });
    } else if (what < 0.75) {
      const [one, before] = [this.pick(await this.queue()), this.pick(await this.queue())];
      if (one && before && one.turn !== before.turn) await this.send("PATCH", this.at(`/queue/${one.turn}`), { before: before.turn });
    } else if (what < 0.82) {
      const one = this.pick(await this.queue());
      if (one) await this.send("DELETE", this.at(`/queue/${one.turn}`));
    } else if (what < 0.88) {
      await this.send("POST", this.at("/queue/send"), {});
    } else if (what < 0.94) {
      await this.send("POST", this.at("/interrupt"));
    } else {
      await this.send("POST", this.at("/undo"), {});
    }
  }
}

/** What a page says about the session, by line. */
async function shown(page: Page): Promise<string[]> {
  const lines = async (name: string, of: Promise<string[]>) => (await of).flatMap((text) => text.split("\n")).map((line) => `${name}: ${line}`);
  return (await Promise.all([
    lines("conversation", page.getByRole("region", { name: "Conversation" }).allInnerTexts()),
    lines("queue", page.getByRole("list", { name: "Queued messages" }).getByRole("listitem").allInnerTexts()),
    lines("requests", page.locator("[data-request]").allInnerTexts()),
    lines("stop", page.getByRole("button", { name: "Stop" }).allInnerTexts()),
  ])).flat();
}

/** The lines that only one of two pages has, and which. */
function differ(old: string[], now: string[]): string[] {
  if (old.join("\n") === now.join("\n")) return [];
  return [...old.filter((l) => !now.includes(l)).map((l) => `old: ${l}`), ...now.filter((l) => !old.includes(l)).map((l) => `new: ${l}`), "or their order"];
}

it("a page that was there all the time shows what a fresh one shows", async () => {
  console.log(`TERRET_TRUTH_SEED=${seed} TERRET_TRUTH=${actions}`);
  const tall = { viewport: { width: 1440, height: 16_000 } }; // so that all of a conversation is in view
  const { context, page, watch } = await open(tall);
  const id = await server.session({ agent: "native", model: "demo" }, "say hello");
  await page.goto(`${server.url}/s/${id}`);
  await live(page);
  const all = Array.from({ length: clients }, (_, n) => new Client(server, id, n));
  await Promise.all(all.map(async (client, n) => {
    for (let i = n; i < actions; i += clients) await client.act(i);
  }));

  // A stop holds what is queued, so nothing begins any more.
  await expect.poll(async () => {
    await server.api("POST", `/v1/sessions/${id}/interrupt`);
    const { body } = await server.api<{ state: string }>("GET", `/v1/sessions/${id}`);
    return [body.state, (await all[0]!.asked()).length];
  }).toEqual(["idle", 0]);

  const fresh = await open(tall);
  await fresh.page.goto(`${server.url}/s/${id}`);
  await live(fresh.page);
  const queued = (await server.api<{ items: Queued[] }>("GET", `/v1/sessions/${id}/queue`)).body.items.length;
  await expect.poll(() => fresh.page.getByRole("list", { name: "Queued messages" }).getByRole("listitem").count()).toBe(queued);
  await expect.poll(async () => {
    const [old, now] = await Promise.all([shown(page), shown(fresh.page)]);
    return differ(old, now);
  }, { message: `TERRET_TRUTH_SEED=${seed}` }).toEqual([]);
  expect(watch.problems).toEqual([]);
  await fresh.context.close();
  await context.close();
});
