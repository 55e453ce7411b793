//go:build unix

package mcphost

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/server/keys"
	"github.com/terret-dev/terret/internal/test/oauthtest"
)

// guest is a session that uses the server of an authority.
func guest(t *testing.T, a *oauthtest.Authority, store Tokens, log io.Writer, ask func(context.Context, terret.QuestionRequest) (terret.Decision, error)) *Servers {
	t.Helper()
	s, err := New(terret.JSON(`{"mcpServers": {"bird": {"url": "`+a.URL+`"}}}`), Options{Log: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})), Tokens: store, Ask: ask})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	s.Refresh(t.Context())
	return s
}

// TestSignIn signs in once; then the tokens are there for the next session, and are renewed.
func TestSignIn(t *testing.T) {
	t.Parallel()
	a, store, log := oauthtest.New(t), keys.OpenMCP(t.TempDir()).With(nil), &bytes.Buffer{}
	var link string
	s := guest(t, a, store, log, func(ctx context.Context, q terret.QuestionRequest) (terret.Decision, error) {
		link = q.URL
		oauthtest.Browse(t, q.URL)
		<-ctx.Done() // the question is withdrawn
		return terret.Decision{}, ctx.Err()
	})
	if got := s.States()[0]; got.Status != NeedsAuth || !strings.Contains(got.Error, "terret mcp login") {
		t.Fatalf("%+v", got)
	}
	if got := names(s); !slices.Equal(got, []string{"mcp__bird__sign_in"}) {
		t.Fatalf("%q", got)
	}
	before := s.Generation()
	if r := use(t, s, "mcp__bird__sign_in", ""); r.IsError || !strings.Contains(r.Text, "has signed in") {
		t.Fatalf("%+v", r)
	}
	if got := s.States()[0]; got.Status != "connected" || s.Generation() == before || !slices.Equal(names(s), []string{"mcp__bird__repeat"}) {
		t.Errorf("%+v %q", got, names(s))
	}
	if r := use(t, s, "mcp__bird__repeat", "ahoy"); r.Text != "ahoy" {
		t.Errorf("%+v", r)
	}
	if q, err := url.Parse(link); err != nil || q.Query().Get("code_challenge") == "" {
		t.Errorf("%s, %v", link, err)
	}

	kept, err := store.Get(TokenName(a.URL))
	if err != nil || !strings.Contains(kept, "secret-access-") || !strings.Contains(kept, "secret-refresh-") {
		t.Errorf("%q, %v", kept, err)
	}
	if next := guest(t, a, store, log, nil); next.States()[0].Status != "connected" {
		t.Errorf("%+v", next.States())
	}

	age(t, a, store, kept)
	if next := guest(t, a, store, log, nil); next.States()[0].Status != "connected" || a.Renewals() != 1 {
		t.Errorf("%+v after %d renewals", next.States(), a.Renewals())
	}
	if now, err := store.Get(TokenName(a.URL)); err != nil || now == kept || strings.Contains(now, tokenIn(t, kept)) {
		t.Errorf("the renewed token is not kept: %v", err)
	}

	// The first refresh token was used: with it, nothing is renewed.
	age(t, a, store, kept)
	if next := guest(t, a, store, log, nil); next.States()[0].Status != NeedsAuth {
		t.Errorf("%+v", next.States())
	}
	if strings.Contains(log.String(), "secret-") {
		t.Errorf("a token is in the log: %s", log)
	}
}

// tokenIn is the access token of what was kept.
func tokenIn(t *testing.T, kept string) string {
	t.Helper()
	var g grant
	if err := json.Unmarshal([]byte(kept), &g); err != nil {
		t.Fatal(err)
	}
	return g.Token.AccessToken
}

// age makes the tokens that were kept too old.
func age(t *testing.T, a *oauthtest.Authority, store *keys.Store, kept string) {
	t.Helper()
	var g grant
	if err := json.Unmarshal([]byte(kept), &g); err != nil {
		t.Fatal(err)
	}
	g.Token.Expiry = time.Now().Add(-time.Hour)
	text, err := json.Marshal(g)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Set(t.Context(), TokenName(a.URL), string(text)); err != nil {
		t.Fatal(err)
	}
}

// TestSignInOtherwise are the ways in which it goes wrong, or by hand.
func TestSignInOtherwise(t *testing.T) {
	t.Parallel()
	a, store := oauthtest.New(t), keys.OpenMCP(t.TempDir()).With(nil)
	s := guest(t, a, store, io.Discard, nil)
	if got := names(s); len(got) > 0 {
		t.Errorf("nobody can be asked, but there is %q", got)
	}
	ended := func(link string) string { // where the browser ends, if it cannot open that page
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, link, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		return resp.Header.Get("Location")
	}
	for want, show := range map[string]Show{
		"I will not": func(context.Context, string) (string, error) { return "", errors.New("I will not") },
		"is not the address": func(context.Context, string) (string, error) {
			return "http://127.0.0.1:1/callback?code=x&state=y", nil
		},
		"was refused: too bad": func(_ context.Context, link string) (string, error) {
			u, err := url.Parse(link)
			return "http://x/?error=too+bad&state=" + u.Query().Get("state"), err
		},
		"gave no token: invalid_grant": func(_ context.Context, link string) (string, error) {
			u, err := url.Parse(ended(link))
			q := u.Query()
			q.Set("code", "another")
			return "http://x/?" + q.Encode(), err
		},
	} {
		if err := s.SignIn(t.Context(), "bird", show); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		} else if strings.Contains(err.Error(), "secret") && !strings.Contains(want, "secret") {
			t.Errorf("it shows what the authority sent: %v", err)
		}
		if got := s.States()[0].Status; got != NeedsAuth {
			t.Errorf("%s after %q", got, want)
		}
	}
	// Somebody else's answer does not count; that of the person does, though he has to paste it.
	err := s.SignIn(t.Context(), "bird", func(_ context.Context, link string) (string, error) {
		u, err := url.Parse(link)
		if err != nil {
			return "", err
		}
		redirect := u.Query().Get("redirect_uri")
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, redirect+"?code=evil&state=evil", http.NoBody)
		if err != nil {
			return "", err
		}
		resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
		if err != nil || resp.StatusCode != http.StatusBadRequest {
			return "", fmt.Errorf("%+v, %w", resp, err)
		}
		_ = resp.Body.Close()
		return ended(link), nil
	})
	if err != nil || s.States()[0].Status != "connected" {
		t.Fatalf("%v, %+v", err, s.States())
	}
	if err := s.SignIn(t.Context(), "bird", nil); err == nil || !strings.Contains(err.Error(), "does not ask anybody") {
		t.Error(err)
	}
	// Nor if the one who signs in is only a moment faster.
	if err := s.all["bird"].door.signIn(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "does not ask anybody") {
		t.Error(err)
	}
}

// TestSignInAgain is that a person can sign in again where what is kept is of no more use.
func TestSignInAgain(t *testing.T) {
	t.Parallel()
	a, store := oauthtest.New(t), keys.OpenMCP(t.TempDir()).With(nil)
	signIn := func(s *Servers) {
		t.Helper()
		if got := s.States()[0]; got.Status != NeedsAuth {
			t.Fatalf("%+v", got)
		}
		err := s.SignIn(t.Context(), "bird", func(ctx context.Context, link string) (string, error) {
			oauthtest.Browse(t, link)
			<-ctx.Done()
			return "", ctx.Err()
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := store.Set(t.Context(), TokenName(a.URL), `{"token": `); err != nil {
		t.Fatal(err)
	}
	signIn(guest(t, a, store, io.Discard, nil))
	kept, err := store.Get(TokenName(a.URL))
	if err != nil {
		t.Fatal(err)
	}
	age(t, a, store, kept)
	a.Forget()
	signIn(guest(t, a, store, io.Discard, nil))
}

// TestRenewTogether has many sessions renew the same sign-in at once: what renews it can be
// used only once, so one of them does, and the others use what that one got.
func TestRenewTogether(t *testing.T) {
	t.Parallel()
	a, store := oauthtest.New(t), keys.OpenMCP(t.TempDir()).With(nil)
	s := guest(t, a, store, io.Discard, func(ctx context.Context, q terret.QuestionRequest) (terret.Decision, error) {
		oauthtest.Browse(t, q.URL)
		<-ctx.Done()
		return terret.Decision{}, ctx.Err()
	})
	if r := use(t, s, "mcp__bird__sign_in", ""); r.IsError {
		t.Fatalf("%+v", r)
	}
	kept, err := store.Get(TokenName(a.URL))
	if err != nil {
		t.Fatal(err)
	}
	age(t, a, store, kept)
	var group sync.WaitGroup
	for range 8 {
		d := &door{address: a.URL, tokens: store, client: http.DefaultClient}
		source, err := d.TokenSource(t.Context())
		if err != nil || source == nil {
			t.Fatal(source, err)
		}
		group.Go(func() {
			if token, err := source.Token(); err != nil || !token.Valid() {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if n := a.Renewals(); n != 1 {
		t.Errorf("it was renewed %d times", n)
	}
}

// TestSignInIsKeptAlone has a person sign in: what is kept then would be replaced by whoever
// is just renewing the old sign-in, so nobody else may.
func TestSignInIsKeptAlone(t *testing.T) {
	t.Parallel()
	a, store := oauthtest.New(t), &lone{Store: keys.OpenMCP(t.TempDir()).With(nil), t: t}
	s := guest(t, a, store, io.Discard, func(ctx context.Context, q terret.QuestionRequest) (terret.Decision, error) {
		oauthtest.Browse(t, q.URL)
		<-ctx.Done()
		return terret.Decision{}, ctx.Err()
	})
	if r := use(t, s, "mcp__bird__sign_in", ""); r.IsError {
		t.Fatalf("%+v", r)
	}
	if store.kept.Load() != 1 {
		t.Errorf("%d were kept", store.kept.Load())
	}
}

// lone is a store that complains if something is kept without the lock.
type lone struct {
	*keys.Store
	t          *testing.T
	held, kept atomic.Int32
}

func (l *lone) Lock(ctx context.Context, name string) (func(), error) {
	unlock, err := l.Store.Lock(ctx, name)
	if err != nil {
		return nil, err
	}
	l.held.Add(1)
	return func() { l.held.Add(-1); unlock() }, nil
}

func (l *lone) Set(ctx context.Context, name, value string) (bool, error) {
	if l.kept.Add(1); l.held.Load() != 1 {
		l.t.Error("it is kept without the lock")
	}
	return l.Store.Set(ctx, name, value)
}

// full is a store that takes nothing for a while.
type full struct {
	*keys.Store
	is bool
}

func (f *full) Set(ctx context.Context, name, value string) (bool, error) {
	if f.is {
		return false, errors.New("no space left on device")
	}
	return f.Store.Set(ctx, name, value)
}

// TestRenewalNotKept renews a sign-in that cannot be kept. It is good all the same, is used
// when it must be renewed again, and is kept as soon as that works.
func TestRenewalNotKept(t *testing.T) {
	t.Parallel()
	a, store := oauthtest.New(t), &full{Store: keys.OpenMCP(t.TempDir()).With(nil)}
	s := guest(t, a, store, io.Discard, func(ctx context.Context, q terret.QuestionRequest) (terret.Decision, error) {
		oauthtest.Browse(t, q.URL)
		<-ctx.Done()
		return terret.Decision{}, ctx.Err()
	})
	if r := use(t, s, "mcp__bird__sign_in", ""); r.IsError {
		t.Fatalf("%+v", r)
	}
	kept, err := store.Get(TokenName(a.URL))
	if err != nil {
		t.Fatal(err)
	}
	age(t, a, store.Store, kept)
	store.is = true
	k := &key{d: &door{address: a.URL, tokens: store, client: http.DefaultClient}}
	g, err := k.d.load()
	if err != nil {
		t.Fatal(err)
	}
	k.grant = *g
	for range 3 {
		token, err := k.Token()
		if err != nil || !token.Valid() {
			t.Fatal(err)
		}
		k.grant.Token.Expiry = time.Now().Add(-time.Hour)
	}
	store.is = false
	k.grant.Token.Expiry = time.Now().Add(time.Hour)
	if _, err := k.Token(); err != nil {
		t.Fatal(err)
	}
	if g, err = k.d.load(); err != nil || g.Token.AccessToken != k.grant.Token.AccessToken {
		t.Errorf("the renewed sign-in is not kept: %v", err)
	}
	if n := a.Renewals(); n != 3 {
		t.Errorf("it was renewed %d times", n)
	}
}

// TestSignedOut signs out while a session has an old token: that one does not sign in again.
func TestSignedOut(t *testing.T) {
	t.Parallel()
	a, store := oauthtest.New(t), keys.OpenMCP(t.TempDir()).With(nil)
	s := guest(t, a, store, io.Discard, func(ctx context.Context, q terret.QuestionRequest) (terret.Decision, error) {
		oauthtest.Browse(t, q.URL)
		<-ctx.Done()
		return terret.Decision{}, ctx.Err()
	})
	if r := use(t, s, "mcp__bird__sign_in", ""); r.IsError {
		t.Fatalf("%+v", r)
	}
	kept, err := store.Get(TokenName(a.URL))
	if err != nil {
		t.Fatal(err)
	}
	age(t, a, store, kept)
	d := &door{address: a.URL, tokens: store, client: http.DefaultClient}
	source, err := d.TokenSource(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Remove(t.Context(), TokenName(a.URL)); err != nil {
		t.Fatal(err)
	}
	if token, err := source.Token(); err == nil {
		t.Errorf("it still gives %v", token.Type())
	}
	if again, err := store.Get(TokenName(a.URL)); err != nil || again != "" {
		t.Errorf("the sign-in is back: %v", err)
	}
}

// TestMoreScopes is that a person who is asked for more than a token allows is asked for what
// it allows, too, also by another session. Where no token is good, it is as the server says.
func TestMoreScopes(t *testing.T) {
	t.Parallel()
	a, store := oauthtest.New(t), keys.OpenMCP(t.TempDir()).With(nil)
	asked := func(d *door, status int, challenge string) string { // the scopes, which have no order
		t.Helper()
		if _, err := d.TokenSource(t.Context()); err != nil {
			t.Fatal(err)
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, a.URL, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp := &http.Response{StatusCode: status, Header: http.Header{"Www-Authenticate": {"Bearer " + challenge}}, Body: http.NoBody}
		if err := d.Authorize(t.Context(), req, resp); !errors.Is(err, errSignIn) {
			t.Fatal(err)
		}
		var scope string
		err = d.signIn(t.Context(), func(ctx context.Context, link string) (string, error) {
			if u, err := url.Parse(link); err == nil {
				scope = strings.Join(slices.Sorted(slices.Values(strings.Fields(u.Query().Get("scope")))), " ")
			}
			oauthtest.Browse(t, link)
			<-ctx.Done()
			return "", ctx.Err()
		})
		if err != nil {
			t.Fatal(err)
		}
		return scope
	}
	one := func() *door {
		return &door{address: a.URL, tokens: store, client: http.DefaultClient, shut: func() {}}
	}
	d := one()
	if got := asked(d, http.StatusUnauthorized, `scope="read"`); got != "read" {
		t.Errorf("first it asks for %q", got)
	}
	if got := asked(d, http.StatusForbidden, `error="insufficient_scope", scope="write read"`); got != "read write" {
		t.Errorf("for more it asks for %q", got)
	}
	if got := asked(one(), http.StatusForbidden, `error="insufficient_scope", scope="delete"`); got != "delete read write" {
		t.Errorf("another session asks for %q", got)
	}
	if got := asked(one(), http.StatusUnauthorized, `scope="read"`); got != "read" {
		t.Errorf("without a good token it asks for %q", got)
	}
}

// TestRefusedFirst is a server of which only the first request says that a person must sign in.
func TestRefusedFirst(t *testing.T) {
	t.Parallel()
	refused := false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if refused {
			http.Error(w, "I do not know that", http.StatusBadRequest)
			return
		}
		refused = true
		http.Error(w, "who are you?", http.StatusUnauthorized)
	}))
	t.Cleanup(server.Close)
	s := guest(t, &oauthtest.Authority{URL: server.URL}, keys.OpenMCP(t.TempDir()).With(nil), io.Discard, nil)
	if got := s.problemOf("bird"); got != signInFirst {
		t.Errorf("it says %q", got)
	}
}
