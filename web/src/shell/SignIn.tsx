import { useEffect, useState } from "react";
import { exchange, setToken, takeCode, tooMany, wasRefused } from "../api/auth";
import { Brand } from "./Brand";

// The code works once, so it is taken once, also when React mounts twice.
let code: string | null | undefined;

/** Shown to a browser that has no token: it gets one with a link from the terminal. */
export function SignIn() {
  const [error, setError] = useState("");
  const [busy, setBusy] = useState(() => new URLSearchParams(location.hash.slice(1)).has("code"));
  useEffect(() => {
    const follow = () => {
      code = takeCode() ?? code;
      if (!code) return;
      const once = code;
      code = null;
      setBusy(true);
      exchange(once)
        .catch((cause: unknown) => setError(cause instanceof Error ? cause.message : String(cause)))
        .finally(() => setBusy(false));
    };
    follow();
    window.addEventListener("hashchange", follow);
    return () => window.removeEventListener("hashchange", follow);
  }, []);
  return (
    <div className="sign-in">
      <main>
        <Brand />
        <h1>{busy ? "Signing in" : "Sign in from your terminal"}</h1>
        {error && <p className="form-error" role="alert">{error}</p>}
        {!busy && (
          <>
            <p className="dim">{wasRefused() ? "The server no longer accepts this browser's token." : "This browser has no token for this server yet."} Run <code>terret open</code> where the server runs, or open the link that <code>terret serve</code> printed. On another device, scan the code that Settings shows under “Sign in another device”. A link works once, for ten minutes.</p>
            <WithToken onError={setError} />
            <p className="dim small">The token stays in this browser and is sent to this server only.</p>
          </>
        )}
      </main>
    </div>
  );
}

/** For those who have made a token in the terminal. */
function WithToken({ onError }: { onError: (error: string) => void }) {
  const [token, setText] = useState("");
  const use = async () => {
    const answer = await fetch("/v1/me", { headers: { Authorization: `Bearer ${token.trim()}` }, credentials: "omit" }).catch(() => null);
    if (answer?.ok) setToken(token.trim());
    else onError(!answer ? "The server cannot be reached." : answer.status === 429 ? tooMany : "The server does not know this token.");
  };
  return (
    <form className="column sign-in-form" onSubmit={(e) => { e.preventDefault(); void use(); }}>
      <label className="field"><span>Or paste a token, such as one that terret token new made</span>
        <input className="input mono" type="password" autoComplete="off" value={token} onChange={(e) => setText(e.target.value)} required />
      </label>
      <span><button type="submit" className="button primary" disabled={!/^[\x21-\x7e]+$/.test(token.trim())}>Sign in</button></span>
    </form>
  );
}
