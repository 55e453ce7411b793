// Lists that only the server knows in full are fetched again and again while agents work.

export const soon = 150; // milliseconds in which further reasons are gathered
export const pause = 1_000; // at least so long from the end of a fetch to the next one

export interface Calm {
  ask: () => void;
  close: () => void;
}

/** Fetches soon after somebody asked, but never twice at once, and not again before a pause. */
export function calmly(fetch: () => Promise<unknown>): Calm {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let resting = false;
  let asked = false;
  let closed = false;
  const after = (wait: number, next: () => void) => {
    if (!closed) timer = setTimeout(next, wait);
  };
  const rested = () => {
    resting = false;
    if (asked) begin();
  };
  const run = () => {
    asked = false;
    void fetch().catch(() => {}).then(() => after(pause, rested)); // whoever shows it says what went wrong
  };
  const begin = () => {
    resting = true;
    after(soon, run);
  };
  return {
    ask: () => {
      asked = true;
      if (!resting && !closed) begin();
    },
    close: () => {
      closed = true;
      clearTimeout(timer);
    },
  };
}
