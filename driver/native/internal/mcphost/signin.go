package mcphost

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/brief"
)

const signInPatience = 15 * time.Minute

// Show shows a person the link at which he signs in. It returns when he says that he will
// not (then with an error), when ctx ends, or with the address at which his browser ended,
// if that could not be opened.
type Show func(ctx context.Context, link string) (ended string, err error)

// SignIn has a person sign in to a server whose state says that it wants that, and connects
// to it.
func (s *Servers) SignIn(ctx context.Context, server string, show Show) error {
	r := s.all[server]
	if r == nil || r.door == nil || !r.door.refused() {
		return fmt.Errorf("the MCP server %s does not ask anybody to sign in", server)
	}
	if !r.door.asking.TryLock() {
		return fmt.Errorf("a person has already been asked to sign in to the MCP server %s", server)
	}
	defer r.door.asking.Unlock()
	ctx, cancel := context.WithTimeoutCause(ctx, signInPatience, fmt.Errorf("nobody signed in within %s", signInPatience))
	defer cancel()
	if err := r.door.signIn(ctx, show); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return fmt.Errorf("the MCP server %s: %w", server, err)
	}
	s.drop(server)
	s.refresh(ctx, server)
	if why := s.problemOf(server); why != "" {
		return fmt.Errorf("the MCP server %s: %s", server, why)
	}
	return nil
}

// drop closes the connection to a server, so that the next refresh makes a new one.
func (s *Servers) drop(server string) {
	if session := s.sessionOf(server); session != nil {
		s.mu.Lock()
		s.all[server].session = nil
		s.mu.Unlock()
		_ = session.Close() // whatever it says, it is not used any more
	}
}

// refused reports whether the server wants a person to sign in.
func (d *door) refused() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.refusal != nil
}

// signIn has a person sign in: the server's metadata say where, the answer comes to an
// address of this machine, and what the server gives is kept.
func (d *door) signIn(ctx context.Context, show Show) error {
	d.mu.Lock()
	refusal := d.refusal
	d.mu.Unlock()
	if refusal == nil { // somebody has just signed in
		return errors.New("it does not ask anybody to sign in any more")
	}
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", d.config.CallbackPort))
	if err != nil {
		return fmt.Errorf("nothing can listen for the answer of the browser: %w", err)
	}
	redirect := fmt.Sprintf("http://127.0.0.1:%d/callback", l.Addr().(*net.TCPAddr).Port)
	var got *key
	c := &auth.AuthorizationCodeHandlerConfig{
		RedirectURL: redirect, RequestRefreshToken: true, AcceptUnadvertisedIss: true, Client: d.client, ScopeFilter: d.scopes,
		AuthorizationCodeFetcher: func(ctx context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
			return await(ctx, l, args.URL, show)
		},
		NewTokenSource: func(ctx context.Context, c *oauth2.Config, t *oauth2.Token) (oauth2.TokenSource, error) {
			got = &key{d: d, grant: grant{Address: d.address, ClientID: c.ClientID, ClientSecret: c.ClientSecret, TokenURL: c.Endpoint.TokenURL, AuthStyle: c.Endpoint.AuthStyle, Scopes: given(c.Scopes, t), Token: t}}
			return got, d.keep(ctx, got.grant)
		},
		DynamicClientRegistrationConfig: &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{
			ClientName: "Terret", RedirectURIs: []string{redirect}, TokenEndpointAuthMethod: "none",
			GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"},
		}},
	}
	if d.config.ClientID != "" {
		c.PreregisteredClient = &oauthex.ClientCredentials{ClientID: d.config.ClientID}
	}
	h, err := auth.NewAuthorizationCodeHandler(c)
	if err == nil {
		var req *http.Request
		if req, err = http.NewRequestWithContext(ctx, refusal.method, refusal.url, http.NoBody); err == nil {
			err = h.Authorize(ctx, req, &http.Response{StatusCode: refusal.status, Header: refusal.header, Body: http.NoBody})
		}
	}
	_ = l.Close() // it may be closed already
	if err != nil {
		return tidied(err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.key, d.read, d.refusal = got, true, nil
	return nil
}

// tidied is an error of the sign-in without what the authorization server sent, which may
// hold secrets.
func tidied(err error) error {
	if r, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		return fmt.Errorf("its authorization server gave no token: %s", brief.Line(r.ErrorCode))
	}
	return err
}

// await shows the link, and waits for what the browser brings: to the listener, which it
// closes, or in what the person pastes.
func await(ctx context.Context, l net.Listener, link string, show Show) (*auth.AuthorizationResult, error) {
	u, err := url.Parse(link)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return nil, errors.New("its authorization server has no address that a person could open")
	}
	state := u.Query().Get("state")
	came := make(chan url.Values, 1)
	server := &http.Server{ReadHeaderTimeout: authorityPatience, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		q := r.URL.Query()
		if r.Method != http.MethodGet || r.URL.Path != "/callback" || q.Get("state") != state {
			http.Error(w, "this is not what Terret waits for", http.StatusBadRequest)
			return
		}
		select {
		case came <- q:
		default: // it has come before
		}
		_, _ = fmt.Fprintln(w, "Terret has heard from you. You can close this page.")
	})}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(l) // it ends by Close
	}()
	asking, stop := context.WithCancel(ctx)
	type pasted struct {
		text string
		err  error
	}
	said := make(chan pasted, 1)
	go func() {
		text, err := show(asking, link)
		said <- pasted{text, err}
	}()
	var values url.Values
	select {
	case values = <-came:
		stop()
		<-said
		err = nil
	case p := <-said:
		values, err = readAddress(p.text, state)
		if p.err != nil {
			err = p.err
		}
	}
	stop()
	shutting, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	_ = server.Shutdown(shutting) // so that the browser gets its answer
	cancel()
	_ = server.Close()
	<-served
	if err != nil {
		return nil, err
	}
	return result(values)
}

// readAddress reads the address at which a browser ended.
func readAddress(text, state string) (url.Values, error) {
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil || u.Query().Get("state") != state {
		return nil, errors.New("that is not the address at which the browser ended after the sign-in")
	}
	return u.Query(), nil
}

func result(q url.Values) (*auth.AuthorizationResult, error) {
	if why := q.Get("error"); why != "" || q.Get("code") == "" {
		return nil, fmt.Errorf("the sign-in was refused: %s", brief.Line(strings.TrimSpace(why+" "+q.Get("error_description"))))
	}
	return &auth.AuthorizationResult{Code: q.Get("code"), State: q.Get("state"), Iss: q.Get("iss")}, nil
}

// decline is the answer of a person who will not sign in.
const decline = "Do not sign in"

// showing asks by the session's questions.
func (s *Servers) showing(server string) Show {
	return func(ctx context.Context, link string) (string, error) {
		const id = "sign_in"
		d, err := s.o.Ask(ctx, terret.QuestionRequest{URL: link, Questions: []terret.Question{{
			ID: id, Header: brief.Line(server), Options: []terret.Option{{Label: decline}},
			Text: "The MCP server " + brief.Line(server) + " wants you to sign in. Open the link; this goes on when you have.\n" +
				"If your browser ends at a page of 127.0.0.1 that it cannot open, answer with the address of that page.",
		}}})
		switch {
		case err != nil:
			return "", err
		case d.Behavior != terret.BehaviorAnswer, strings.Join(d.Answers[id], "") == decline:
			return "", errors.New("the person does not sign in")
		}
		return strings.Join(d.Answers[id], ""), nil
	}
}
