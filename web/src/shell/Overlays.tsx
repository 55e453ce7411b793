import { lazy, Suspense } from "react";
import { useSession } from "../api/queries";
import { useRoute } from "../lib/router";
import { useView } from "../lib/state";
import { DeleteDialog, RenameDialog } from "./SessionDialogs";

const Palette = lazy(() => import("./Palette"));
const NewSessionDialog = lazy(() => import("./NewSessionDialog"));
const HandOverDialog = lazy(() => import("./HandOverDialog"));
const MoveDialog = lazy(() => import("./MoveDialog"));
const Shortcuts = lazy(() => import("./Shortcuts"));

export function Overlays() {
  const overlay = useView((s) => s.overlay);
  const route = useRoute();
  const session = useSession(route.page === "session" ? route.session : null);
  const close = () => useView.setState({ overlay: null });
  return (
    <Suspense fallback={null}>
      {overlay === "palette" && <Palette session={session} onClose={close} />}
      {overlay === "new-session" && <NewSessionDialog onClose={close} />}
      {overlay === "shortcuts" && <Shortcuts onClose={close} />}
      {overlay === "rename" && session && <RenameDialog session={session} onClose={close} />}
      {overlay === "handoff" && session && <HandOverDialog session={session} onClose={close} />}
      {overlay === "move" && session && <MoveDialog session={session} onClose={close} />}
      {overlay === "delete" && session && <DeleteDialog session={session} onClose={close} />}
    </Suspense>
  );
}
