import { useState } from "react";
import { decide } from "../api/actions";
import { ApiError } from "../api/http";
import type { Answer, Request } from "../api/types";
import { attempt, say } from "../lib/toast";

/** Answers a request. The card changes when the decision comes back in the stream. */
export function useDecide(request: Request): { sending: boolean; answer: (answer: Answer) => Promise<void> } {
  const [sending, setSending] = useState(false);
  const answer = async (what: Answer) => {
    if (sending) return;
    setSending(true);
    const sent = await attempt("The answer was not taken", async () => {
      try {
        await decide(request, what);
      } catch (cause) {
        if (!(cause instanceof ApiError) || cause.status !== 409) throw cause;
        say("Answered elsewhere", cause.message);
      }
      return true;
    });
    if (!sent) setSending(false);
  };
  return { sending, answer };
}
