import { createContext, useContext } from "react";
import type { Session } from "../api/types";
import type { Conversation } from "../model/types";

interface Shown {
  session: Session;
  conversation: Conversation;
}

export const ShownContext = createContext<Shown | null>(null);

/** The session that is shown. */
export function useShown(): Shown {
  const shown = useContext(ShownContext);
  if (!shown) throw new Error("outside a session");
  return shown;
}
