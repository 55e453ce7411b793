import { Square } from "lucide-react";
import { useRef, useState } from "react";
import type { Session } from "../api/types";
import { useSessionActions } from "../shell/sessionActions";
import { Button } from "../ui/Button";

export const holdToKill = 900; // milliseconds

/** Stops the turn; held down, it kills the agent. */
export function StopButton({ session }: { session: Session }) {
  const actions = useSessionActions(session);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const killed = useRef(false);
  const [held, setHeld] = useState(false);
  const down = () => {
    killed.current = false;
    setHeld(true);
    timer.current = setTimeout(() => {
      killed.current = true;
      setHeld(false);
      void actions.kill();
    }, holdToKill);
  };
  const up = () => {
    clearTimeout(timer.current);
    setHeld(false);
  };
  return (
    <Button
      tiny
      look="danger"
      className={held ? "held" : ""}
      title="Stop the turn (Esc). Hold to kill the agent."
      onPointerDown={down}
      onPointerUp={up}
      onPointerLeave={up}
      onClick={() => !killed.current && actions.interrupt()}
    >
      <Square size={12} /> Stop
    </Button>
  );
}
