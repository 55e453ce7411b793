import type { ErrorCode } from './schema.js';
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
export declare class TerretError extends Error {
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
    constructor(code: ErrorCode, message: string, details?: TerretErrorDetails);
}
/** The error that a server's problem describes. */
export declare function errorOf(status: number, body: string): TerretError;
export declare const invalid: (field: string, why: string) => TerretError;
export declare const closed: () => TerretError;
