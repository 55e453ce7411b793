import type { ErrorCode, Problem } from './schema.js';

/** Details of an error, where there are some. */
export type TerretErrorDetails = {
  field?: string;
  status?: number;
  retryable?: boolean;
  exitCode?: number;
  signal?: string;
  stderr?: string[];
  cause?: unknown;
};

/** Every error of this package. `code` says what went wrong. */
export class TerretError extends Error {
  readonly code: ErrorCode;
  /** The invalid option or field. */
  readonly field?: string;
  /** The HTTP status, if a server answered. */
  readonly status?: number;
  /** The same may succeed later. */
  readonly retryable: boolean;
  readonly exitCode?: number;
  readonly signal?: string;
  readonly stderr?: string[];

  constructor(code: ErrorCode, message: string, details: TerretErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = 'TerretError';
    this.code = code;
    this.field = details.field;
    this.status = details.status;
    this.retryable = details.retryable ?? false;
    this.exitCode = details.exitCode;
    this.signal = details.signal;
    this.stderr = details.stderr;
  }
}

/** The error that a server's problem describes. */
export function errorOf(status: number, body: string): TerretError {
  let p: Partial<Problem> = {};
  try {
    p = JSON.parse(body) as Partial<Problem>;
  } catch {
    // Not one of Terret's: a proxy, or another server.
  }
  if (typeof p.kind !== 'string' || typeof p.detail !== 'string') {
    return new TerretError('connection_failed', `the server answered with status ${status}, and not as Terret does`, { status });
  }
  return new TerretError(p.kind, p.detail, {
    field: p.field, status, retryable: p.retryable, exitCode: p.exit_code, signal: p.signal, stderr: p.stderr,
  });
}

export const invalid = (field: string, why: string) => new TerretError('invalid_request', `${field}: ${why}`, { field });
export const closed = () => new TerretError('session_closed', 'the session is closed');
