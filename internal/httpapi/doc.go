// Package httpapi serves everything that an engine can do over HTTP: routes under
// /v1 that are described by OpenAPI 3.1 at /openapi.json, streams of events that a
// reader can leave and take up again without gap or duplicate, and under
// /api/harness the routes of an older program.
//
// # What comes in
//
// Every request is checked by [Access] first: which host it was sent to, which page
// sent it, whose token it carries, and what that token may do. The token's name is
// who did it, in the log; nobody can say otherwise. Bodies are JSON; fields and
// parameters that are not known are refused, and the error names them.
//
// # What goes out
//
// Records as they are in package terret, unwrapped; lists as {items, next}; errors
// as application/problem+json whose type is the error's kind. Events are the bytes
// that the store holds: they are neither decoded nor encoded on the way, unless a
// reader asks for them in another dialect.
//
// # Life
//
// The request's context bounds a call, never a turn: whoever closes a stream stops
// watching, and nothing else. A reader that does not read is cut after a time and
// can go on where it was; it never holds up anybody.
//
//go:generate go run ./gen ../../docs/openapi.json
package httpapi
