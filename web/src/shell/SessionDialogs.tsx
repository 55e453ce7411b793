import { useState } from "react";
import type { Session } from "../api/types";
import { safeName } from "../lib/safe";
import { isWorking } from "../model/lists";
import { Button } from "../ui/Button";
import { Dialog } from "../ui/Dialog";
import { useSessionActions } from "./sessionActions";

interface Props { session: Session; onClose: () => void }

export function RenameDialog({ session, onClose }: Props) {
  const actions = useSessionActions(session);
  const [title, setTitle] = useState(session.title);
  return (
    <Dialog title="Rename session" onClose={onClose}>
      <form className="column form" onSubmit={(e) => { e.preventDefault(); void actions.update({ title: title.trim() }); onClose(); }}>
        <label className="field"><span>Title</span><input className="input" autoFocus value={title} maxLength={500} onChange={(e) => setTitle(e.target.value)} /></label>
        <div className="row end"><Button look="quiet" onClick={onClose}>Cancel</Button><button type="submit" className="button primary">Rename</button></div>
      </form>
    </Dialog>
  );
}

export function DeleteDialog({ session, onClose }: Props) {
  const actions = useSessionActions(session);
  const working = isWorking(session.state);
  return (
    <Dialog title="Delete session?" description="Deletes the session and its log" onClose={onClose} foot={
      <>
        <Button look="quiet" onClick={onClose} autoFocus>Keep it</Button>
        <Button look="danger" onClick={() => { void actions.remove(working); onClose(); }}>{working ? "Stop and delete" : "Delete"}</Button>
      </>
    }>
      <p>“{safeName(session.title) || "New session"}” and its log will be gone. Files in the folder stay as they are.{working && " The turn that runs is killed."}</p>
    </Dialog>
  );
}
