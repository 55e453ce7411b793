import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { calmly, pause, soon } from "./calm";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it("fetches soon, and then not more often than once in a pause, however often it is asked", async () => {
  const fetch = vi.fn(async () => {});
  const calm = calmly(fetch);
  calm.ask();
  calm.ask();
  await vi.advanceTimersByTimeAsync(soon);
  expect(fetch).toHaveBeenCalledTimes(1);
  const every = 50;
  for (let t = 0; t < 10 * (pause + soon); t += every) {
    calm.ask();
    await vi.advanceTimersByTimeAsync(every);
  }
  expect(fetch).toHaveBeenCalledTimes(11);
  calm.ask();
  // What was asked last is not forgotten, and nothing is fetched that nobody asked for.
  await vi.advanceTimersByTimeAsync(10 * pause);
  expect(fetch).toHaveBeenCalledTimes(12);
});

it("lets a slow fetch end before the next one, and goes on after one that failed", async () => {
  const ends: ((failed?: Error) => void)[] = [];
  const fetch = vi.fn(() => new Promise<void>((done, failed) => ends.push((e) => (e ? failed(e) : done()))));
  const calm = calmly(fetch);
  calm.ask();
  await vi.advanceTimersByTimeAsync(soon);
  calm.ask();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(fetch).toHaveBeenCalledTimes(1);
  ends[0]!(new Error("no answer"));
  await vi.advanceTimersByTimeAsync(pause + soon);
  expect(fetch).toHaveBeenCalledTimes(2);
});

it("fetches nothing once it is closed", async () => {
  const fetch = vi.fn(async () => {});
  const [early, late] = [calmly(fetch), calmly(fetch)];
  early.ask();
  early.close();
  late.ask();
  await vi.advanceTimersByTimeAsync(soon);
  expect(fetch).toHaveBeenCalledTimes(1);
  late.ask();
  late.close();
  late.ask();
  await vi.advanceTimersByTimeAsync(10 * pause);
  expect(fetch).toHaveBeenCalledTimes(1);
});
