// Calls to the API: one fetch with the device token, problems as ApiError.

import { getToken, signedOut } from "./auth";

/** A problem that the server reported, or that kept us from reaching it. */
export class ApiError extends Error {
  constructor(
    readonly kind: string,
    message: string,
    readonly status: number,
    /** The field of the request that it is about, if it is about one. */
    readonly field = "",
  ) {
    super(message);
    this.name = "ApiError";
  }
}

async function problem(response: Response): Promise<ApiError> {
  let kind = "internal";
  let field = "";
  let message = `The server answered ${response.status} ${response.statusText}.`;
  try {
    const body = (await response.json()) as { type?: string; detail?: string; title?: string; field?: string };
    kind = body.type ?? kind;
    field = body.field ?? field;
    message = body.detail ?? body.title ?? message;
  } catch {
    // Not a problem document: the status line says enough.
  }
  return new ApiError(kind, message, response.status, field);
}

export interface CallOptions {
  method?: string;
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

/** Sends a request and returns the raw response; throws ApiError unless it is 2xx. */
export async function send(path: string, options: CallOptions = {}): Promise<Response> {
  const headers: Record<string, string> = { Accept: "application/json", ...options.headers };
  const token = getToken();
  if (token) headers.Authorization = `Bearer ${token}`;
  const init: RequestInit = { method: options.method ?? "GET", headers, credentials: "omit", cache: "no-store" };
  if (options.body !== undefined) {
    headers["Content-Type"] = "application/json";
    init.body = JSON.stringify(options.body);
  }
  if (options.signal) init.signal = options.signal;
  let response: Response;
  try {
    response = await fetch(path, init);
  } catch (cause) {
    if (options.signal?.aborted) throw cause;
    throw new ApiError("connection_failed", "The server cannot be reached. Is terret serve running?", 0);
  }
  if (response.status === 401) signedOut();
  if (!response.ok) throw await problem(response);
  return response;
}

/** Sends a request and returns the decoded JSON, or undefined where there is no body. */
export async function call<T>(path: string, options?: CallOptions): Promise<T> {
  const response = await send(path, options);
  const text = await response.text();
  return (text ? JSON.parse(text) : undefined) as T;
}

export function query(params: Record<string, string | number | undefined>): string {
  const out = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    if (value !== undefined && value !== "") out.set(name, String(value));
  }
  const text = out.toString();
  return text ? `?${text}` : "";
}
