import { lazy, type ReactNode, useEffect, useLayoutEffect, useRef } from "react";
import { Group, Panel, Separator, useDefaultLayout } from "react-resizable-panels";
import { usePhone, useWide } from "../lib/media";
import { useRoute } from "../lib/router";
import { useSettings, useView } from "../lib/state";
import { takeSeen } from "../stream/ended";
import { followMarks } from "../stream/marks";
import { Lazy } from "../ui/Lazy";
import { Link } from "../ui/Link";
import { BottomBar } from "./BottomBar";
import { Home } from "./Home";
import { NeedsPage } from "./NeedsPage";
import { useNotifications } from "./notifications";
import { Overlays } from "./Overlays";
import { SessionProvider } from "./SessionProvider";
import { SessionView } from "./SessionView";
import { RightPane } from "../panes/RightPane";
import { Sidebar } from "./Sidebar";
import { StatusBar } from "./StatusBar";
import { Title } from "./Title";
import { takeMarks } from "./kept";
import { useKeys } from "./keys";
import { showRight, useRight } from "./rightPane";

const Review = lazy(() => import("../panes/Review").then((m) => ({ default: m.Review })));

const pages = {
  usage: lazy(() => import("../pages/Usage")),
  agents: lazy(() => import("../pages/Agents")),
  rules: lazy(() => import("../pages/Rules")),
  personas: lazy(() => import("../pages/Personas")),
  fleet: lazy(() => import("../pages/Fleet")),
  settings: lazy(() => import("../pages/Settings")),
  discovered: lazy(() => import("../pages/Discovered")),
  setup: lazy(() => import("../setup/Setup")),
};

const Work = lazy(() => import("../work/Work"));

export function Workspace() {
  const route = useRoute();
  const phone = usePhone();
  useKeys();
  useNotifications();
  useEffect(() => followMarks((marks) => { takeMarks(marks); takeSeen(marks.seen); }), []);
  const shell = (instead?: ReactNode) => (phone ? <PhonePanes instead={instead} /> : <DesktopPanes instead={instead} />);
  return (
    <div className="app">
      <SessionProvider id={route.page === "session" ? route.session : ""} shell={shell} />
      <Overlays />
      <Title />
    </div>
  );
}

function Centre() {
  const route = useRoute();
  const review = useView((s) => s.review);
  const session = route.page === "session" ? route.session : "";
  useEffect(() => useView.setState((v) => ({ review: !!session && v.reviewNext === session, reviewNext: "" })), [session]);
  if (session) return review ? <Lazy key={session} lines={8}><Review /></Lazy> : <SessionView key={session} />;
  if (route.page === "home") return <Home />;
  if (route.page === "missing" || route.page === "session") return <Missing />;
  if ("id" in route) return <main className="page"><Lazy lines={6}><Work page={route.page} id={route.id} /></Lazy></main>;
  const Page = pages[route.page];
  return <main className="page"><Lazy lines={6}><Page /></Lazy></main>;
}

function Missing() {
  return (
    <main className="page">
      <div className="page-inner empty">
        <h1>There is no such page</h1>
        <span className="mono">{location.pathname}</span>
        <Link to="/" className="button">Home</Link>
      </div>
    </main>
  );
}

/** What is shown in the place of a session that is not there. */
interface Instead { instead?: ReactNode }

function DesktopPanes({ instead }: Instead) {
  const route = useRoute();
  const left = useSettings((s) => s.left);
  const review = useView((s) => s.review);
  const shown = route.page === "session" ? route.session : "";
  const open = useRight() && !!shown && !instead && !review;
  const wide = useWide();
  const right = open && wide;
  const drawer = open && !wide;
  useEffect(() => useView.setState({ drawer: false }), [shown, wide, review]);
  const { defaultLayout, onLayoutChanged } = useDefaultLayout({
    id: "terret.panes", storage: localStorage, panelIds: [left && "left", "centre", right && "right"].filter((p) => p !== false),
  });
  return (
    <>
      <Group className="panes" inert={drawer} defaultLayout={defaultLayout} onLayoutChanged={onLayoutChanged}>
        {left && (
          <>
            <Panel id="left" defaultSize="260px" minSize="200px" maxSize="420px"><Sidebar /></Panel>
            <Separator className="divider" aria-label="Width of the session list" />
          </>
        )}
        <Panel id="centre" minSize="360px"><div className="pane">{instead ?? <Centre />}</div></Panel>
        {right && (
          <>
            <Separator className="divider" aria-label="Width of the right pane" />
            <Panel id="right" defaultSize="400px" minSize="260px" maxSize="60%"><RightPane key={shown} /></Panel>
          </>
        )}
      </Group>
      {drawer && <Drawer><RightPane key={shown} /></Drawer>}
      <StatusBar />
    </>
  );
}

/** The right pane over the conversation. It has the focus until it closes. */
function Drawer({ children }: { children: ReactNode }) {
  const aside = useRef<HTMLElement>(null);
  const before = useRef<Element>(null);
  useLayoutEffect(() => {
    before.current = document.activeElement;
    aside.current?.focus();
  }, []);
  // Not before what is behind it can have the focus again.
  useEffect(() => () => {
    if (document.activeElement === document.body && before.current instanceof HTMLElement) before.current.focus();
  }, []);
  return (
    <>
      <button type="button" className="drawer-veil" tabIndex={-1} aria-hidden="true" onClick={() => showRight(false)} />
      <aside ref={aside} tabIndex={-1} className="drawer" aria-label="About this session">{children}</aside>
    </>
  );
}

function PhonePanes({ instead }: Instead) {
  const route = useRoute();
  const phone = useView((s) => s.phone);
  useEffect(() => {
    useView.setState({ phone: "chat" });
  }, [route.page, route.page === "session" ? route.session : ""]);
  const pane =
    phone === "sessions" ? <PhoneMain title="Sessions"><Sidebar /></PhoneMain>
    : phone === "needs" ? <NeedsPage />
    : instead ? instead
    : phone === "side" && route.page === "session" ? <PhoneMain key={route.session} title="Changes"><RightPane /></PhoneMain>
    : <Centre />;
  return (
    <>
      <div className="pane">{pane}</div>
      <BottomBar />
    </>
  );
}

/** A side pane that has the whole screen to itself. */
function PhoneMain({ title, children }: { title: string; children: ReactNode }) {
  return (
    <main className="pane">
      <h1 className="visually-hidden">{title}</h1>
      {children}
    </main>
  );
}
