// @vitest-environment happy-dom
import { afterEach, expect, it, vi } from "vitest";
import { Script } from "../model/testing";
import { lookUpAct, noteActs, useActs } from "./acts";

afterEach(() => {
  vi.unstubAllGlobals();
  useActs.setState({ sessions: {} });
});

const began = "2026-01-01T10:00:00Z";
const piece = (session: string) => new Script().add("message.delta", { message_id: "m", index: 0, text: "word" }, { session }).events;

/** A server whose session has these turns, and pieces of an answer as its last events. Says what was asked. */
function server(turns: unknown[], meanwhile = () => {}): string[] {
  const asked: string[] = [];
  vi.stubGlobal("fetch", async (path: string) => {
    asked.push(path.replace(/\?.*/, "").replace(/.*\//, ""));
    if (!path.includes("/turns")) return new Response(piece("s").map((e) => JSON.stringify(e)).join("\n"));
    meanwhile();
    return new Response(JSON.stringify({ items: turns }));
  });
  return asked;
}

it("knows since when an answer is written whose beginning is far back", async () => {
  server([{ id: "1", state: "completed", started_at: "2026-01-01T09:00:00Z" }, { id: "2", state: "running", started_at: began }, { id: "3", state: "queued" }]);
  await lookUpAct("s", 900);
  expect(useActs.getState().sessions.s).toMatchObject({ text: "writing", since: began });
});

it("also when the stream told of a piece first", async () => {
  const asked = server([{ id: "2", state: "running", started_at: began }]);
  noteActs(piece("s"));
  await lookUpAct("s", 900);
  expect(useActs.getState().sessions.s).toMatchObject({ text: "writing", since: began });
  expect(asked).toEqual(["turns"]);
  await lookUpAct("s", 900);
  expect(asked).toEqual(["turns"]);
});

it("leaves a turn alone that ends or begins meanwhile", async () => {
  const turns = [{ id: "2", state: "running", started_at: began }];
  server(turns, () => noteActs(new Script().add("turn.error", { kind: "killed", message: "" } as never, { session: "s" }).events));
  await lookUpAct("s", 900);
  expect(useActs.getState().sessions.s).toBeUndefined();
  const next = new Script().add("turn.start", { prompt: [], origin: "user" }, { session: "s" }).events;
  server(turns, () => noteActs(next));
  await lookUpAct("s", 900);
  expect(useActs.getState().sessions.s).toMatchObject({ text: "starting", since: next[0]!.time });
});
