import { useEffect, useState } from "react";
import { exchange, takeCode } from "../api/auth";
import { CopyButton } from "../ui/CopyButton";
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
            <p className="dim">This browser has no key for this server yet. Open the link that <code>terret serve</code> printed, or make a new one:</p>
            <p className="code-line"><code>terret token --url</code> <CopyButton text="terret token --url" /></p>
            <p className="dim small">A link works once and for ten minutes. The key it gives stays in this browser and is never sent elsewhere.</p>
          </>
        )}
      </main>
    </div>
  );
}
