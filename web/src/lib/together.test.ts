import { expect, it } from "vitest";
import { together } from "./together";
import { useToasts } from "./toast";

it("says to how many it was done, and why not to the others", async () => {
  const done: number[] = [];
  const act = (n: number) => (n === 2 ? Promise.reject(new Error("it is over")) : Promise.resolve(done.push(n)));
  await together("Allowed", [1, 2, 3], act);
  expect(done).toEqual([1, 3]);
  expect(useToasts.getState().list.at(-1)).toMatchObject({ title: "Allowed 2 of 3", detail: "it is over", error: true });
  await together("Stopped", [1, 3], act);
  expect(useToasts.getState().list.at(-1)).toMatchObject({ title: "Stopped 2", error: false });
});
