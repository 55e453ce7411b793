// Stands in for react-remove-scroll, see vite.config.ts. The page never scrolls as a
// whole; the real module would only inject a <style>, which the content security
// policy forbids.
import { Slot } from "radix-ui";
import type { ReactNode } from "react";

export function RemoveScroll({ as: As, children }: { as?: typeof Slot.Root; children?: ReactNode }) {
  return As ? <As>{children}</As> : <>{children}</>;
}
