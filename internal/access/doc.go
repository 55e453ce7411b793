// Package access decides who may do what over HTTP. That is its one job: it
// knows tokens, scopes and requests, and nothing of routes.
//
// # Tokens
//
// $TERRET_HOME/token holds the admin token. It is made at the first start, also
// when the server listens on loopback only, and nothing but removing the file
// while no server runs replaces it. Further tokens have a name, a [Scope], and
// maybe one session (a share link is a view token of one session); devices get
// theirs for a one-use code ([Tokens.NewCode], [Gate.SignIn]). Of these,
// tokens.json keeps SHA-256 hashes, not the tokens. Both files are for their
// owner alone. Any number of processes share them: changes are made under a file
// lock and put in place by a rename, and every [Gate.Authenticate] looks at the
// file, so that a token revoked by one process is refused by all at once.
//
// A token is sent as "Authorization: Bearer" and in no other way. There is no
// cookie: cookies ignore ports, and a page that an agent serves on another port
// would be sent it. A token in a URL is not looked at.
//
// # The gate
//
// [Gate.Handler] wraps a whole server ([Gate.Guard] and [Gate.Authenticate] are
// its two halves). For every request, static files and
// health checks included, it checks the Host header against a list of names
// (against DNS rebinding), refuses what another origin sends, takes JSON bodies
// only, bounds them, sets the security headers, and finds out who asks. Whoever
// serves a route then asks [From] for the [Identity] and that for permission:
//
//	if err := access.From(ctx).May(access.Decide, session); err != nil { ... }
//
// An agent may not answer its own request: [Identity.May] refuses decide and
// admin to a process inside a guarded tree, whatever token it has. That is best
// effort: see [Identity.May].
//
// # What does not hold
//
// A hostile process of the same user can read the admin token: there is no
// boundary between the two without a sandbox.
package access
