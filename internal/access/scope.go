package access

import (
	"context"

	"github.com/terret-dev/terret"
)

// Scope is what a token is good for. Each scope includes those before it:
//
//	view    see sessions, events, files and requests
//	prompt  also make sessions, send prompts, interrupt, undo
//	decide  also answer requests
//	admin   also rules, trust, tokens and all else
//
// Prompt does not include decide: a program that gives work to an agent is not
// thereby the person who answers for what the agent then does. Decide does
// include prompt: whoever allows a tool use may edit its input, and so can make
// the agent do what a prompt could; a token has one scope; and a phone on which
// requests are answered is one on which the next prompt is typed.
type Scope string

// The scopes, from the least to the most.
const (
	View   Scope = "view"
	Prompt Scope = "prompt"
	Decide Scope = "decide"
	Admin  Scope = "admin"
)

// ranks orders the scopes. A scope that is not in it permits nothing.
var ranks = map[Scope]int{View: 1, Prompt: 2, Decide: 3, Admin: 4}

// ParseScope reads a scope as people write it.
func ParseScope(s string) (Scope, error) {
	if ranks[Scope(s)] == 0 {
		return "", terret.Invalid("scope", "%q is no scope; use view, prompt, decide or admin", s)
	}
	return Scope(s), nil
}

// Includes reports whether s permits what other permits.
func (s Scope) Includes(other Scope) bool {
	return ranks[other] > 0 && ranks[s] >= ranks[other]
}

// adminName is the name of the token in $TERRET_HOME/token. No other has it.
const adminName = "admin"

// Identity is whoever sent a request. The zero Identity is nobody, and may do
// nothing.
type Identity struct {
	Name    string `json:"name"` // of the token
	Scope   Scope  `json:"scope"`
	Session string `json:"session,omitempty"` // the only one it may see, if not empty
	Device  bool   `json:"device,omitempty"`  // it was signed in by a code

	hash   hash    // of the token
	caller *caller // the connection, if it came over one
}

// anonymous reports whether the request came without a token.
func (id Identity) anonymous() bool { return id.Scope == "" }

// sees reports whether the identity is about that session, or about all. Lists
// are filtered by it.
func (id Identity) sees(session string) bool {
	return !id.anonymous() && (id.Session == "" || id.Session == session)
}

// May returns nil if the identity has the scope for the session, or, with
// session empty, for what is not of one session. Else it returns an error of kind
// unauthorized (nobody) or forbidden. It says the same of sessions that exist and
// of those that do not.
//
// For decide and admin it also looks at the process at the other end of the
// connection, and refuses one that runs inside an agent's guarded tree. This is
// for honest agents that found a token. It is best effort: on Linux only, and
// only for processes of this user and network namespace that have not hidden
// their environment and all of their ancestors; where it cannot tell, it permits.
func (id Identity) May(scope Scope, session string) error {
	switch {
	case id.anonymous():
		return errUnauthorized()
	case !id.Scope.Includes(scope):
		return terret.Errorf(terret.CodeForbidden, "token %q has scope %s, and this needs %s; use a token that has it, or make one with `terret token new NAME --scope %s`",
			id.Name, id.Scope, scope, scope)
	case !id.sees(session):
		return terret.Errorf(terret.CodeForbidden, "token %q is for one session only, and this is not about it; use a token for all sessions", id.Name)
	case scope.Includes(Decide) && id.caller.insideTree():
		return ErrInside("this needs scope " + string(scope))
	}
	return nil
}

// ErrInside is the error for a caller that runs inside an agent's guarded tree.
func ErrInside(what string) *terret.Error {
	return terret.Errorf(terret.CodeForbidden, "%s, and the caller runs inside an agent that Terret started: agents do not answer for themselves; ask a person to do it", what)
}

func errUnauthorized() *terret.Error {
	return terret.Errorf(terret.CodeUnauthorized, "there is no valid token; send one as `Authorization: Bearer TOKEN` (`terret token show --print` prints the admin token)")
}

type identityKey struct{}

// With returns a context in which the identity acts.
func With(ctx context.Context, id Identity) context.Context {
	return context.WithValue(ctx, identityKey{}, id)
}

// From returns who acts in a context: nobody, unless the gate or With said so.
func From(ctx context.Context) Identity {
	id, _ := ctx.Value(identityKey{}).(Identity)
	return id
}
