// Browsers that are signed in, tokens of programs, and a way in for one more device.

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { call, query } from "../api/http";
import { keys } from "../api/keys";
import { useMe } from "../api/queries";
import type { List, Token } from "../api/types";
import { ago, clock } from "../lib/format";
import { safeName } from "../lib/safe";
import { attempt } from "../lib/toast";
import { Button } from "../ui/Button";
import { CopyButton } from "../ui/CopyButton";
import { Dialog } from "../ui/Dialog";
import { Skeleton } from "../ui/Lazy";

const may: Record<string, string> = { view: "look", prompt: "look and prompt", decide: "look, prompt and answer", admin: "do everything" };

const used = (when: string): string => (when === "now" ? "in use now" : `used ${when} ago`);

const useTokens = (every?: number) =>
  useQuery({ queryKey: keys.tokens, refetchInterval: every ?? false, queryFn: ({ signal }) => call<List<Token>>("/v1/tokens", { signal }) });

export function Devices() {
  const me = useMe();
  const client = useQueryClient();
  const [adding, setAdding] = useState(false);
  const { data, error, isPending } = useTokens();
  const revoke = async (name: string) => {
    if (!window.confirm(`Sign out ${safeName(name)}? Whoever uses it has to sign in again.`)) return;
    await attempt("It was not signed out", () => call<void>(`/v1/tokens${query({ name })}`, { method: "DELETE" }));
    await client.invalidateQueries({ queryKey: keys.tokens });
  };
  return (
    <section className="column" aria-label="Devices and tokens">
      <h2>Devices and tokens</h2>
      {isPending && <Skeleton lines={3} />}
      {error && <p role="alert">{error.message}</p>}
      {data?.items.length === 0 && <p className="dim">No other device is signed in. <span className="mono">terret token</span> makes a token for a program.</p>}
      <ul className="plain">
        {data?.items.map((t) => (
          <li key={t.name} className="setting">
            <span><strong>{safeName(t.name)}{t.name === me ? " (this browser)" : ""}</strong>
              <span className="dim small">{t.device ? "Device" : "Token"} · may {may[t.scope] ?? t.scope}{t.session ? " in one session" : ""} · {t.last_used_at ? used(ago(t.last_used_at)) : "never used"}</span></span>
            <Button look="quiet" tiny aria-label={`Sign out ${safeName(t.name)}`} onClick={() => revoke(t.name)}>Sign out</Button>
          </li>
        ))}
      </ul>
      <span><Button onClick={() => setAdding(true)}>Sign in another device…</Button></span>
      {adding && <AddDevice onClose={() => setAdding(false)} />}
    </section>
  );
}

interface Link { url: string; expires_at: string; qr: string[] }

const local = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

/** Shows a link that signs in one device, until it is used. */
function AddDevice({ onClose }: { onClose: () => void }) {
  const [scope, setScope] = useState("admin");
  const tokens = useTokens(2000).data?.items;
  const [before, setBefore] = useState<Set<string>>();
  useEffect(() => {
    if (tokens && !before) setBefore(new Set(tokens.map((t) => t.name)));
  }, [tokens, before]);
  const added = before && tokens?.find((t) => t.device && !before.has(t.name));
  const { data: link, error } = useQuery({
    queryKey: ["sign-in-link", scope], gcTime: 0, staleTime: Infinity, retry: false, refetchOnWindowFocus: false, refetchOnReconnect: false,
    queryFn: ({ signal }) => call<Link>("/v1/signin/links", { method: "POST", body: { origin: location.origin, scope }, signal }),
  });
  return (
    <Dialog title="Sign in another device" description="Scan the code with the device, or open the link there" onClose={onClose}
      foot={<Button look="primary" onClick={onClose}>Done</Button>}>
      {added ? <p role="status"><strong>{safeName(added.name)}</strong> is signed in.</p> : (
        <div className="column add-device">
          {local.test(location.hostname) && (
            <div className="notice boxed" role="note">
              <strong>Only this computer can open the link</strong>
              <span>Other devices cannot reach {location.hostname}. Open this page at an address that they can reach: see <span className="mono">terret serve --help</span>, --addr and --tls-cert.</span>
            </div>
          )}
          <label className="field"><span>The device may</span>
            <select className="input" value={scope} onChange={(e) => setScope(e.target.value)}>
              {["admin", "decide", "view"].map((s) => <option key={s} value={s}>{may[s]}</option>)}
            </select>
          </label>
          {error && <p role="alert" className="form-error">{error.message}</p>}
          {!link && !error && <Skeleton lines={6} />}
          {link && (
            <>
              <QR rows={link.qr} />
              <p className="dim small">Scan it, or open the link on the device. It works once, until {clock(link.expires_at)}.</p>
              <span className="link-row"><input className="input mono" readOnly aria-label="Link" value={link.url} onFocus={(e) => e.target.select()} /><CopyButton text={link.url} label="Copy link" /></span>
            </>
          )}
        </div>
      )}
    </Dialog>
  );
}

/** A QR code, with the four modules of light around it that readers want. */
function QR({ rows }: { rows: string[] }) {
  const dark = rows.flatMap((row, y) => [...row.matchAll(/1+/g)].map((run) => `M${run.index + 4} ${y + 4}h${run[0].length}v1h-${run[0].length}z`));
  const size = rows.length + 8;
  return (
    <svg className="qr" viewBox={`0 0 ${size} ${size}`} role="img" aria-label="QR code of the link" shapeRendering="crispEdges">
      <rect width={size} height={size} fill="#fff" />
      <path d={dark.join("")} fill="#000" />
    </svg>
  );
}
