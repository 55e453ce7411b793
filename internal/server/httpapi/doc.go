// Package httpapi serves everything that an engine can do over HTTP: routes under /v1,
// described by OpenAPI 3.1 at /openapi.json, event streams that a reader can leave and
// resume without gaps or duplicates, and under /api/harness the routes of an older
// program.
//
// # What comes in
//
// Package access checks every request first: which host it was sent to, which page sent
// it, whose token it carries, and what that token may do. The log records the token's
// name as the actor; callers cannot choose another. Bodies are JSON; unknown fields and
// parameters are refused, and the error names them.
//
// # What goes out
//
// Records as in package terret, unwrapped; lists as {items, next}; errors as
// application/problem+json whose type is the error's code. Events are the bytes that
// the store holds: they are neither decoded nor encoded on the way, unless a reader
// asks for another dialect.
//
// # Life
//
// The request's context bounds a call, never a turn: closing a stream only stops
// watching. A reader that does not read is disconnected after a while and can resume
// where it was; it never holds up anybody.
//
//go:generate go run ./gen ../../../docs/openapi.json
//go:generate go run ../../../docs/gen api ../../../docs/openapi.json ../../../docs/reference/api.md
package httpapi
