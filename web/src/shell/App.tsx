import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useSyncExternalStore } from "react";
import { getToken, onTokenChange } from "../api/auth";
import { NamesProvider } from "../api/names";
import { goLive } from "../stream/live";
import { Toasts } from "../ui/Toasts";
import { SignIn } from "./SignIn";
import { Workspace } from "./Workspace";

export function App() {
  const token = useSyncExternalStore(onTokenChange, getToken);
  const client = useQueryClient();
  useEffect(() => (token ? goLive(client) : client.clear()), [token, client]);
  return (
    <>
      {token ? <NamesProvider><Workspace /></NamesProvider> : <SignIn />}
      <Toasts />
    </>
  );
}
