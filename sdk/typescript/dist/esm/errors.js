/** Every error of this package. `code` says what went wrong. */
export class TerretError extends Error {
    code;
    /** The invalid option or field. */
    field;
    /** The HTTP status, if a server answered. */
    status;
    /** The same may succeed later. */
    retryable;
    exitCode;
    signal;
    stderr;
    constructor(code, message, details = {}) {
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
export function errorOf(status, body) {
    let p = {};
    try {
        p = JSON.parse(body);
    }
    catch {
        // Not one of Terret's: a proxy, or another server.
    }
    if (typeof p.kind !== 'string' || typeof p.detail !== 'string') {
        return new TerretError('connection_failed', `the server answered with status ${status}, and not as Terret does`, { status });
    }
    return new TerretError(p.kind, p.detail, {
        field: p.field, status, retryable: p.retryable, exitCode: p.exit_code, signal: p.signal, stderr: p.stderr,
    });
}
export const invalid = (field, why) => new TerretError('invalid_request', `${field}: ${why}`, { field });
export const closed = () => new TerretError('session_closed', 'the session is closed');
