import { useSyncExternalStore } from "react";

/** Whether a media query matches now. */
export function useMedia(query: string): boolean {
  return useSyncExternalStore(
    (listener) => {
      const media = matchMedia(query);
      media.addEventListener("change", listener);
      return () => media.removeEventListener("change", listener);
    },
    () => matchMedia(query).matches,
  );
}

const wide = "(min-width: 1200px)";

/** Whether the right pane has room beside the conversation; otherwise it lies over it. */
export const useWide = () => useMedia(wide);
export const isWide = () => matchMedia(wide).matches;

export const usePhone = () => useMedia("(max-width: 699px)");

/** Whether there may be no keyboard, so that nobody should be told of keys. */
export const useTouch = () => useMedia("(pointer: coarse)");
