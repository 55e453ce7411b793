// One thing that a person does to several at once.

import { fail, say } from "./toast";

/** Does it to each by itself, and says to how many, and why not to the others: "Allowed 3 of 4". */
export async function together<T>(did: string, items: readonly T[], act: (item: T) => Promise<unknown>): Promise<void> {
  const results = await Promise.allSettled(items.map(async (item) => act(item)));
  const failed = results.flatMap((r) => (r.status === "rejected" ? [r.reason as unknown] : []));
  if (failed.length > 0) fail(`${did} ${items.length - failed.length} of ${items.length}`, failed[0]);
  else if (items.length > 0) say(`${did} ${items.length}`);
}
