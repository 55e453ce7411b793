import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { ApiError } from "./api/http";
import { loadMarkdown } from "./conversation/Markdown";
import { installable } from "./lib/install";
import { App } from "./shell/App";
import { Boundary } from "./ui/Boundary";
import "./styles/index.css";

const client = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      refetchOnWindowFocus: false, // the stream keeps things in step
      retry: (count, cause) => count < 2 && !(cause instanceof ApiError && cause.status >= 400 && cause.status < 500),
    },
  },
});

createRoot(document.getElementById("root")!).render(
  <StrictMode>
    <Boundary what="Terret">
      <QueryClientProvider client={client}>
        <App />
      </QueryClientProvider>
    </Boundary>
  </StrictMode>,
);

// Fetched behind the first paint, so that it is mostly there when a conversation is.
loadMarkdown();
installable();
