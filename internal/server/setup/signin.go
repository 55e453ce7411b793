package setup

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"sync"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/native"
)

// SignInState is how far a sign-in is.
type SignInState string

// The states of a sign-in.
const (
	SignInWaits     SignInState = "waiting"    // for the person
	SignedIn        SignInState = "done"       // what the server gave is kept
	NotNeeded       SignInState = "not needed" // the server lets everybody in
	SignInFailed    SignInState = "failed"
	SignInCancelled SignInState = "cancelled"
)

// SignIn is a person's signing in to an MCP server.
type SignIn struct {
	Server string      `json:"server" doc:"Its address."`
	State  SignInState `json:"state" enum:"waiting,done,not needed,failed,cancelled"`
	Link   string      `json:"link,omitempty" doc:"Where the person signs in, while it waits."`
	Why    string      `json:"why,omitempty" doc:"Why it failed."`
}

// signingIn is a sign-in that runs.
type signingIn struct {
	cancel context.CancelCauseFunc
	answer chan string // the address at which the browser ended

	mu    sync.Mutex
	state SignIn
	known chan struct{} // closed when there is a link, or it is over
	once  sync.Once
	over  chan struct{}
}

func (n *signingIn) now() SignIn {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.state
}

func (n *signingIn) change(f func(*SignIn)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	f(&n.state)
	n.once.Do(func() { close(n.known) })
}

// SignIns lists where people are signed in, and the sign-in that runs or was the last; nil if
// there was none.
func (s *Setup) SignIns() ([]Kept, *SignIn, error) {
	kept, err := listed(s.o.MCPTokens)
	if err != nil {
		return nil, nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.signing == nil {
		return kept, nil, nil
	}
	now := s.signing.now()
	return kept, &now, nil
}

// BeginSignIn has a person sign in to the MCP server at an address, and returns when there is
// a link to open, or none is needed. One at a time: another one is cancelled.
//
// The browser brings the answer to an address of this machine. If it runs on another one, the
// person gives the address at which it ended to [Setup.AnswerSignIn].
func (s *Setup) BeginSignIn(ctx context.Context, server string) (SignIn, error) {
	u, err := url.Parse(server)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		return SignIn{}, terret.Invalid("server", "%.200q is not the address of a server; it looks like https://mcp.example.com/mcp", server)
	}
	config, err := json.Marshal(map[string]any{"mcpServers": map[string]any{server: map[string]string{"url": server}}})
	if err != nil {
		return SignIn{}, err
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return SignIn{}, terret.Errorf(terret.CodeStartupRefused, "the server is stopping")
	}
	if s.signing != nil {
		s.signing.cancel(errCancelled)
	}
	life, cancel := context.WithCancelCause(s.life)
	n := &signingIn{cancel: cancel, answer: make(chan string, 1), known: make(chan struct{}), over: make(chan struct{}), state: SignIn{Server: server, State: SignInWaits}}
	s.signing = n
	s.running.Go(func() { s.signIn(life, n, config) })
	s.mu.Unlock()
	select {
	case <-n.known:
	case <-ctx.Done():
		cancel(context.Cause(ctx))
		return SignIn{}, context.Cause(ctx)
	}
	if now := n.now(); now.State == SignInFailed {
		return SignIn{}, terret.Errorf(terret.CodeConnectionFailed, "%s", now.Why)
	}
	return n.now(), nil
}

func (s *Setup) signIn(ctx context.Context, n *signingIn, config terret.JSON) {
	defer close(n.over)
	defer n.cancel(nil)
	signedIn, err := native.SignIn(ctx, config, n.now().Server, s.o.MCPTokens, func(ctx context.Context, link string) (string, error) {
		n.change(func(i *SignIn) { i.Link = link })
		select {
		case ended := <-n.answer:
			return ended, nil
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	})
	n.change(func(i *SignIn) {
		i.Link = ""
		switch {
		case errors.Is(err, errCancelled) || errors.Is(context.Cause(ctx), errCancelled):
			i.State = SignInCancelled
		case err != nil:
			i.State, i.Why = SignInFailed, err.Error()
		case signedIn:
			i.State = SignedIn
		default:
			i.State = NotNeeded
		}
	})
}

// AnswerSignIn takes the address at which the person's browser ended after the sign-in, and
// returns how that came out.
func (s *Setup) AnswerSignIn(ctx context.Context, ended string) (SignIn, error) {
	n, err := s.waiting()
	if err != nil {
		return SignIn{}, err
	}
	select {
	case n.answer <- ended:
	default: // it has one already
	}
	select {
	case <-n.over:
	case <-ctx.Done():
		return SignIn{}, context.Cause(ctx)
	}
	return n.now(), nil
}

// CancelSignIn ends the sign-in that waits.
func (s *Setup) CancelSignIn(ctx context.Context) error {
	n, err := s.waiting()
	if err != nil {
		return err
	}
	n.cancel(errCancelled)
	select {
	case <-n.over:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *Setup) waiting() (*signingIn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.signing == nil || s.signing.now().State != SignInWaits {
		return nil, terret.Errorf(terret.CodeConflict, "no sign-in waits for an answer; begin one")
	}
	return s.signing, nil
}

// SignOut forgets what an MCP server gave, by the name that it is kept under.
func (s *Setup) SignOut(ctx context.Context, name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	kept, err := listed(s.o.MCPTokens)
	if err != nil {
		return err
	}
	found := false
	for _, k := range kept {
		found = found || k.Name == name
	}
	if found {
		unlock, err := s.o.MCPTokens.Lock(ctx, name) // a session that is just renewing the sign-in would bring it back
		if err != nil {
			return terret.Errorf(terret.CodeStartupRefused, "%w", err)
		}
		defer unlock()
		if found, err = s.o.MCPTokens.Remove(ctx, name); err != nil {
			return terret.Errorf(terret.CodeStartupRefused, "%w", err)
		}
	}
	if !found {
		return terret.Errorf(terret.CodeNotFound, "nobody is signed in to %.64q", name)
	}
	return nil
}
