package mcphost

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"golang.org/x/oauth2"

	"github.com/terret-dev/terret/internal/lazyregexp"
)

// Tokens keep what servers gave people for signing in, by [TokenName]. They are secrets.
type Tokens interface {
	// Get returns an empty text if there is nothing of that name.
	Get(name string) (string, error)
	// Set keeps a line of text, and reports whether it is in a keyring.
	Set(ctx context.Context, name, value string) (inRing bool, err error)
}

// locker is what Tokens of several processes also are.
type locker interface {
	// Lock keeps out whoever else locks the name, until unlock is called.
	Lock(ctx context.Context, name string) (unlock func(), err error)
}

var oddHost = lazyregexp.New(`[^a-zA-Z0-9.-]`)

// TokenName is the name of what the server at an address gave. Nothing but the address
// counts: a server that another configuration gives the same name gets no tokens of this one.
func TokenName(address string) string {
	host := "server"
	if u, err := url.Parse(address); err == nil && u.Host != "" {
		host = oddHost.ReplaceAllString(u.Host, "-")
	}
	sum := sha256.Sum256([]byte(address))
	return "mcp-" + host[:min(len(host), 40)] + "-" + hex.EncodeToString(sum[:6])
}

// errSignIn says that a person must sign in first.
var errSignIn = errors.New("a person must sign in")

// authorityPatience bounds each request to an authorization server.
const authorityPatience = 30 * time.Second

// door lets us in at a server that wants people to sign in. It implements auth.OAuthHandler:
// it uses the tokens that there are, but never asks by itself. It is safe for concurrent use.
type door struct {
	address string
	tokens  Tokens
	config  oauthConfig
	client  *http.Client
	shut    func()     // called when the server refuses us
	asking  sync.Mutex // held while a person is asked

	mu      sync.Mutex
	read    bool // the tokens
	key     *key // nil if there is none
	refusal *refusal
}

// refusal is how a server refused a request.
type refusal struct {
	method, url string
	status      int
	header      http.Header
}

var _ auth.OAuthHandler = (*door)(nil)

// TokenSource implements auth.OAuthHandler.
func (d *door) TokenSource(context.Context) (oauth2.TokenSource, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.read {
		g, err := d.load()
		if err != nil {
			return nil, err
		}
		d.read = true
		if g != nil {
			d.key = &key{d: d, grant: *g}
		}
	}
	if d.key == nil {
		return nil, nil
	}
	return d.key, nil
}

// Authorize implements auth.OAuthHandler. It keeps what the server says for signIn.
func (d *door) Authorize(_ context.Context, req *http.Request, resp *http.Response) error {
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10)) // so that the connection can be used again
	_ = resp.Body.Close()
	if resp.StatusCode == http.StatusForbidden && !strings.Contains(strings.Join(resp.Header.Values("WWW-Authenticate"), " "), "insufficient_scope") {
		return nil // to sign in again would not help
	}
	d.mu.Lock()
	d.refusal = &refusal{method: req.Method, url: req.URL.String(), status: resp.StatusCode, header: resp.Header.Clone()}
	d.mu.Unlock()
	d.shut()
	return errSignIn
}

// grant is what a server gave a person, with what it takes to renew it.
type grant struct {
	Address      string           `json:"address"`
	ClientID     string           `json:"client_id"`
	ClientSecret string           `json:"client_secret,omitempty"`
	TokenURL     string           `json:"token_url"`
	AuthStyle    oauth2.AuthStyle `json:"auth_style"`
	Scopes       []string         `json:"scopes,omitempty"`
	Token        *oauth2.Token    `json:"token"`
}

// given are the scopes of a token that was given for these.
func given(asked []string, t *oauth2.Token) []string {
	if said, ok := t.Extra("scope").(string); ok {
		return strings.Fields(said)
	}
	return asked
}

// scopes are those that a person is asked for, if the server names some. Where it wants more
// than a token allows, they include those that the token has: the new one replaces it.
func (d *door) scopes(named []string) []string {
	d.mu.Lock()
	k, more := d.key, d.refusal != nil && d.refusal.status == http.StatusForbidden
	d.mu.Unlock()
	if k == nil || !more {
		return named
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Compact(slices.Sorted(slices.Values(slices.Concat(named, k.grant.Scopes))))
}

// load reads the grant that is kept; nil if there is none, or none that can be used: then
// the server refuses us, and a person can sign in again.
func (d *door) load() (*grant, error) {
	text, err := d.tokens.Get(TokenName(d.address))
	if err != nil || text == "" {
		return nil, err
	}
	var g grant
	if json.Unmarshal([]byte(text), &g) != nil || g.Token == nil || g.Address != d.address {
		return nil, nil
	}
	return &g, nil
}

// lock keeps others, also in other processes, from changing the grant that is kept.
func (d *door) lock(ctx context.Context) (unlock func(), err error) {
	if l, ok := d.tokens.(locker); ok {
		return l.Lock(ctx, TokenName(d.address))
	}
	return func() {}, nil
}

// keep keeps a new grant. Whoever is just renewing the old one finishes first: he would
// replace the new one.
func (d *door) keep(ctx context.Context, g grant) error {
	unlock, err := d.lock(ctx)
	if err != nil {
		return fmt.Errorf("the sign-in cannot be kept: %w", err)
	}
	defer unlock()
	return d.save(ctx, g)
}

// save replaces the grant that is kept. The lock must be held.
func (d *door) save(ctx context.Context, g grant) error {
	text, err := json.Marshal(g)
	if err != nil {
		return err
	}
	if _, err := d.tokens.Set(ctx, TokenName(d.address), string(text)); err != nil {
		return fmt.Errorf("the sign-in cannot be kept: %w", err)
	}
	return nil
}

// key is the token that opens the door. It is renewed when it is too old, and kept then.
type key struct {
	d *door

	mu    sync.Mutex
	grant grant
	// spent is what renewed the grant, if the grant could not be kept: what is kept then
	// is worth nothing any more.
	spent string
}

// Token implements oauth2.TokenSource.
func (k *key) Token() (*oauth2.Token, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.grant.Token.Valid() && k.spent == "" {
		return k.grant.Token, nil
	}
	ctx, cancel := context.WithTimeout(context.WithValue(context.Background(), oauth2.HTTPClient, k.d.client), authorityPatience)
	defer cancel()
	// What renews a token can be used once: sessions and processes take turns.
	unlock, err := k.d.lock(ctx)
	switch {
	case err != nil && k.grant.Token.Valid(): // it is kept another time
		return k.grant.Token, nil
	case err != nil:
		return nil, fmt.Errorf("the sign-in cannot be renewed: %w", err)
	}
	defer unlock()
	switch g, err := k.d.load(); {
	case err != nil: // ours may still do
	case g == nil: // the person has signed out
		return nil, &oauth2.RetrieveError{ErrorCode: "invalid_grant"}
	case k.spent != "" && g.Token.RefreshToken == k.spent: // ours is newer
	case g.Token.Valid(), g.Token.RefreshToken != "": // somebody else may have renewed it
		k.grant, k.spent = *g, ""
	}
	spent := k.spent
	if !k.grant.Token.Valid() {
		spent = cmp.Or(spent, k.grant.Token.RefreshToken)
		if err := k.renew(ctx); err != nil {
			return nil, err
		}
	} else if spent == "" {
		return k.grant.Token, nil
	}
	k.spent = ""
	if err := k.d.save(ctx, k.grant); err != nil {
		k.spent = spent // the token is good all the same, and is kept as soon as that works
	}
	return k.grant.Token, nil
}

// renew replaces the token with a new one.
func (k *key) renew(ctx context.Context) error {
	c := oauth2.Config{ClientID: k.grant.ClientID, ClientSecret: k.grant.ClientSecret, Endpoint: oauth2.Endpoint{TokenURL: k.grant.TokenURL, AuthStyle: k.grant.AuthStyle}}
	t, err := c.TokenSource(ctx, k.grant.Token).Token()
	if err != nil {
		r, ok := errors.AsType[*oauth2.RetrieveError](err)
		switch {
		case k.grant.Token.RefreshToken == "", ok && final(r.Response):
			return &oauth2.RetrieveError{ErrorCode: "invalid_grant"} // the server will refuse us, and say how to sign in
		case ok:
			return &oauth2.RetrieveError{Response: r.Response, ErrorCode: r.ErrorCode} // without what it sent, which may hold secrets
		}
		return errors.New("its authorization server cannot be reached")
	}
	k.grant.Token = t
	return nil
}

// final reports whether an authorization server will not renew a token, whatever its reason:
// the client may be one that it has forgotten.
func final(r *http.Response) bool {
	return r != nil && r.StatusCode >= 400 && r.StatusCode < 500 && r.StatusCode != http.StatusRequestTimeout && r.StatusCode != http.StatusTooManyRequests
}
