import "@xterm/xterm/css/xterm.css";
import { FitAddon } from "@xterm/addon-fit";
import { Terminal as Xterm } from "@xterm/xterm";
import { useEffect, useRef } from "react";
import type { Terminal } from "../api/types";
import { useSettings } from "../lib/state";
import { fail } from "../lib/toast";
import { changeTerminal, follow, Typist } from "./api";
import { themeOf } from "./colours";
import { quietly, rowsIn, whileQuiet } from "./quiet";

interface Props {
  terminal: Terminal;
  /** Whether the person may type, and gives it its size. */
  types: boolean;
  onState: (t: Terminal) => void;
  onSelect: (text: string) => void;
}

const scrollback = 5_000;
/** How long a size must stay before the server is told. */
const settle = 100;

/** What a terminal shows. It stays in step with the server until it is taken off the page. */
export default function Screen({ terminal, types, onState, onSelect }: Props) {
  const place = useRef<HTMLDivElement>(null);
  const call = useRef({ onState, onSelect });
  call.current = { onState, onSelect };
  const term = useRef<Xterm>(null);
  const theme = useSettings((s) => s.theme);

  useEffect(() => {
    const el = place.current!;
    const stop = new AbortController();
    const quiet = quietly(document);
    const x = new Xterm({
      documentOverride: quiet, disableStdin: !types, scrollback, fontFamily: getComputedStyle(el).fontFamily,
      fontSize: 13, lineHeight: 1.15, theme: themeOf(el), minimumContrastRatio: 4.5, macOptionIsMeta: true,
    });
    term.current = x;
    const fit = new FitAddon();
    x.loadAddon(fit);
    whileQuiet(document, () => x.open(el));
    rowsIn(x, quiet);
    x.textarea?.setAttribute("aria-label", "Terminal");
    x.attachCustomKeyEventHandler((e) => !(e.ctrlKey && e.code === "Backquote"));
    x.onSelectionChange(() => call.current.onSelect(x.getSelection()));

    // What it shows again must not be answered again, and only who types answers.
    let replayUntil = -1;
    let replaying = true;
    const typist = new Typist(terminal, (cause) => fail("It was not typed", cause));
    x.onData((data) => {
      if (types && !replaying && x.textarea === document.activeElement) typist.type(data);
    });

    let timer = 0;
    let size = "";
    const fitNow = () => {
      const wanted = fit.proposeDimensions();
      if (!types || !wanted || !(wanted.cols > 1) || el.clientHeight === 0) return;
      clearTimeout(timer);
      timer = window.setTimeout(() => {
        if (wanted.cols !== x.cols || wanted.rows !== x.rows) x.resize(wanted.cols, wanted.rows);
        if (size === `${wanted.cols}x${wanted.rows}`) return;
        size = `${wanted.cols}x${wanted.rows}`;
        changeTerminal(terminal, { columns: wanted.cols, rows: wanted.rows }).catch(() => { size = ""; }); // it has ended
      }, settle);
    };
    const observer = new ResizeObserver(fitNow);
    observer.observe(el);
    x.textarea?.addEventListener("focus", fitNow);
    if (types) x.focus();

    void follow(terminal, {
      onState: (t) => {
        if (replayUntil < 0) {
          replayUntil = t.written;
          replaying = replayUntil > 0;
        } else {
          size = `${t.columns}x${t.rows}`; // perhaps somebody else's
          if (x.cols !== t.columns || x.rows !== t.rows) x.resize(t.columns, t.rows);
        }
        if (!types && (x.cols !== t.columns || x.rows !== t.rows)) x.resize(t.columns, t.rows);
        call.current.onState(t);
      },
      onMissed: () => x.reset(),
      onOutput: (bytes, next) => new Promise((done) => {
        if (stop.signal.aborted) return done();
        x.write(bytes, () => {
          if (next >= replayUntil) replaying = false;
          done();
        });
      }),
    }, stop.signal);
    return () => {
      stop.abort();
      clearTimeout(timer);
      observer.disconnect();
      x.dispose();
      term.current = null;
    };
    // The terminal's id says which it is; the rest of it changes.
  }, [terminal.id, types]);

  useEffect(() => {
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const change = () => { if (term.current && place.current) term.current.options.theme = themeOf(place.current); };
    change();
    dark.addEventListener("change", change);
    return () => dark.removeEventListener("change", change);
  }, [theme]);

  return <div className="terminal-screen" ref={place} />;
}
