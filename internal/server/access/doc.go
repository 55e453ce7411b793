// Package access decides who may do what over HTTP. It knows tokens, scopes and
// requests, but no routes.
//
// # Tokens
//
// $TERRET_HOME/token holds the admin token. It is made at the first start, even if the
// server listens only on loopback; to replace it, remove the file while no server runs.
// Other tokens have a name, a [Scope], and perhaps one session (a share link is a view
// token for one session); devices get theirs in exchange for a one-time code
// ([Tokens.NewCode], [Gate.SignIn]). tokens.json keeps SHA-256 hashes of these, not the
// tokens. Both files are readable only by their owner. Any number of processes share
// them: changes are made under a file lock and put in place by a rename, and every
// [Gate.Authenticate] checks the file, so that a token revoked by one process is
// refused by all at once.
//
// The nodes of a fleet share the list in their database instead ([OpenShared]); each has
// an admin token of its own.
//
// A token is sent as "Authorization: Bearer" and in no other way. There is no cookie:
// cookies ignore ports, so they would be sent to a page that an agent serves on another
// port. Tokens in URLs are ignored.
//
// # The gate
//
// [Gate.Handler] wraps a whole server ([Gate.Guard] and [Gate.Authenticate] are its two
// halves). For every request, including static files and health checks, it checks the
// Host header against a list of names (against DNS rebinding), refuses requests from
// other origins, accepts only JSON bodies, bounds them, sets the security headers, and
// finds out who asks. The handler of a route then asks [From] for the [Identity], and
// the identity for permission:
//
//	if err := access.From(ctx).May(access.Decide, session); err != nil { ... }
//
// An agent may not answer its own requests: [Identity.May] refuses decide and admin to
// a process inside a guarded tree, whatever token it has. That is best effort: see
// [Identity.May].
//
// # Limits
//
// A hostile process of the same user can read the admin token: without a sandbox there
// is no boundary between the two.
package access
