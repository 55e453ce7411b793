// What agents are called: the titles that the server gives them.

import { createContext, type ReactNode, useContext, useMemo } from "react";
import { namesBy, type Names } from "../lib/words";
import { useAgentsInStep, useKnownAgents } from "./queries";

const Context = createContext<Names>(namesBy([]));

/** Gives all below it the names. The list is read and kept in step once for all of them. */
export function NamesProvider({ children }: { children: ReactNode }) {
  const agents = useKnownAgents();
  useAgentsInStep();
  return <Context value={useMemo(() => namesBy(agents), [agents])}>{children}</Context>;
}

export const useNames = (): Names => useContext(Context);
