import { rmSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

/**
 * Removes a folder in which a program that is ending may still write. Node's own retries
 * do not look again at what is in it, and so never succeed then.
 */
export async function removeFolder(dir: string): Promise<void> {
  for (let left = 100; ; left--) {
    try {
      rmSync(dir, { recursive: true, force: true });
      return;
    } catch (e) {
      if (left === 0) throw e;
      await sleep(100);
    }
  }
}
