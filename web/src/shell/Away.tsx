import { useConnection } from "../stream/live";

/** Says above a message field that the server is away. */
export function Away() {
  const away = useConnection((s) => s.state === "reconnecting");
  return <div role="status">{away && <p className="away">Not connected. Trying again…</p>}</div>;
}
