package access

import (
	"context"

	"github.com/terret-dev/terret"
)

// Scope is what a token permits. Each scope includes those before it:
//
//	view    see sessions, events, files and requests
//	prompt  also make sessions, send prompts, interrupt, undo
//	decide  also answer requests
//	admin   also rules, trust, tokens and all else
//
// Prompt does not include decide: a program that gives work to an agent is not the
// person who answers for what the agent does. Decide does include prompt: a person
// who allows a tool use may edit its input, and so can make the agent do what a prompt
// could; a token has one scope; and the phone that answers requests is also used to
// type the next prompt.
type Scope string

// The scopes, from least to most.
const (
	View   Scope = "view"
	Prompt Scope = "prompt"
	Decide Scope = "decide"
	Admin  Scope = "admin"
)

// ranks orders the scopes. Unknown scopes permit nothing.
var ranks = map[Scope]int{View: 1, Prompt: 2, Decide: 3, Admin: 4}

// ParseScope reads a scope as people write it.
func ParseScope(s string) (Scope, error) {
	if ranks[Scope(s)] == 0 {
		return "", terret.Invalid("scope", "%q is not a scope; use view, prompt, decide or admin", s)
	}
	return Scope(s), nil
}

// Includes reports whether s permits what other permits.
func (s Scope) Includes(other Scope) bool {
	return ranks[other] > 0 && ranks[s] >= ranks[other]
}

// adminName is the name of the token in $TERRET_HOME/token. No other has it.
const adminName = "admin"

// Identity is the sender of a request. The zero Identity is nobody, and may do nothing.
type Identity struct {
	Name    string `json:"name"` // the token's name
	Scope   Scope  `json:"scope"`
	Session string `json:"session,omitempty"` // the only session it may see, if not empty
	Device  bool   `json:"device,omitempty"`  // it signed in with a code

	hash   hash    // of the token
	caller *caller // the connection, if it came over one
}

// anonymous reports whether the request had no token.
func (id Identity) anonymous() bool { return id.Scope == "" }

// sees reports whether the identity may see that session. Lists are filtered by it.
func (id Identity) sees(session string) bool {
	return !id.anonymous() && (id.Session == "" || id.Session == session)
}

// May returns nil if the identity has the scope for the session, or, if session is
// empty, for what does not belong to one session. Otherwise the error is unauthorized
// (nobody) or forbidden. It does not tell existing sessions from missing ones.
//
// For decide and admin it also looks at the process at the other end of the connection,
// and refuses one that runs inside an agent's guarded tree. This is meant for honest
// agents that found a token. It is best effort: it works only on Linux, and only for
// processes of this user and network namespace that have not hidden their environment
// and all of their ancestors; if it cannot tell, it permits.
func (id Identity) May(scope Scope, session string) error {
	switch {
	case id.anonymous():
		return errUnauthorized()
	case !id.Scope.Includes(scope):
		return terret.Errorf(terret.CodeForbidden, "token %q has scope %s, but this needs %s; use a token that has it, or create one with `terret token new NAME --scope %s`",
			id.Name, id.Scope, scope, scope)
	case !id.sees(session):
		return terret.Errorf(terret.CodeForbidden, "token %q is valid for another session only; use a token for all sessions", id.Name)
	case scope.Includes(Decide) && id.caller.insideTree():
		return ErrInside("this needs scope " + string(scope))
	}
	return nil
}

// ErrInside is the error for a caller inside an agent's guarded tree.
func ErrInside(what string) *terret.Error {
	return terret.Errorf(terret.CodeForbidden, "%s, but the caller runs inside an agent that Terret started; ask a person to do it", what)
}

func errUnauthorized() *terret.Error {
	return terret.Errorf(terret.CodeUnauthorized, "no valid token; send one as `Authorization: Bearer TOKEN` (`terret token show --print` prints the admin token)")
}

type identityKey struct{}

// With returns a context with that identity.
func With(ctx context.Context, id Identity) context.Context {
	return context.WithValue(ctx, identityKey{}, id)
}

// From returns the identity of a context: nobody, unless the gate or With set one.
func From(ctx context.Context) Identity {
	id, _ := ctx.Value(identityKey{}).(Identity)
	return id
}
