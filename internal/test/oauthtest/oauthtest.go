// Package oauthtest is an authorization server, an MCP server that trusts it, and a browser,
// for tests.
package oauthtest

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// Authority is an authorization server and an MCP server that trusts it. Its tokens begin
// with "secret-".
type Authority struct {
	// URL is the address of the MCP server.
	URL string

	t   *testing.T
	url string

	mu        sync.Mutex
	clients   map[string][]string // the addresses that each may redirect to
	codes     map[string]url.Values
	tokens    map[string]bool // that are good
	refreshes map[string]bool
	renewed   int
}

// New runs an authority, which has a server that says a word back, until the test ends.
func New(t *testing.T) *Authority {
	t.Helper()
	a := &Authority{t: t, clients: map[string][]string{}, codes: map[string]url.Values{}, tokens: map[string]bool{}, refreshes: map[string]bool{}}
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	a.url, a.URL = server.URL, server.URL+"/mcp"
	mux.Handle("/.well-known/oauth-protected-resource/mcp", auth.ProtectedResourceMetadataHandler(&oauthex.ProtectedResourceMetadata{Resource: a.url + "/mcp", AuthorizationServers: []string{a.url}}))
	mux.HandleFunc("/.well-known/oauth-authorization-server", func(w http.ResponseWriter, _ *http.Request) {
		a.say(w, map[string]any{
			"issuer": a.url, "authorization_endpoint": a.url + "/authorize", "token_endpoint": a.url + "/token", "registration_endpoint": a.url + "/register",
			"response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"}, "grant_types_supported": []string{"authorization_code", "refresh_token"},
		})
	})
	mux.HandleFunc("/register", a.register)
	mux.HandleFunc("/authorize", a.authorize)
	mux.HandleFunc("/token", a.token)
	bird := bird()
	verify := func(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
		a.mu.Lock()
		defer a.mu.Unlock()
		if !a.tokens[token] {
			return nil, auth.ErrInvalidToken
		}
		return &auth.TokenInfo{Expiration: time.Now().Add(time.Hour)}, nil
	}
	mux.Handle("/mcp", auth.RequireBearerToken(verify, &auth.RequireBearerTokenOptions{ResourceMetadataURL: a.url + "/.well-known/oauth-protected-resource/mcp"})(
		mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return bird }, nil)))
	return a
}

func (a *Authority) say(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(v); err != nil {
		a.t.Error(err)
	}
}

func (a *Authority) register(w http.ResponseWriter, r *http.Request) {
	var in oauthex.ClientRegistrationMetadata
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		a.t.Error(err)
	}
	id := rand.Text()
	a.mu.Lock()
	a.clients[id] = in.RedirectURIs
	a.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	a.say(w, map[string]any{"client_id": id, "redirect_uris": in.RedirectURIs, "token_endpoint_auth_method": "none"})
}

// authorize is the page at which a person says yes.
func (a *Authority) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	a.mu.Lock()
	defer a.mu.Unlock()
	if !slices.Contains(a.clients[q.Get("client_id")], q.Get("redirect_uri")) || q.Get("code_challenge_method") != "S256" || q.Get("resource") != a.url+"/mcp" {
		http.Error(w, "wrong "+q.Encode(), http.StatusBadRequest)
		return
	}
	code := rand.Text()
	a.codes[code] = q
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+url.Values{"code": {code}, "state": {q.Get("state")}}.Encode(), http.StatusFound)
}

func (a *Authority) token(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch r.PostFormValue("grant_type") {
	case "authorization_code":
		q := a.codes[r.PostFormValue("code")]
		sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
		if q == nil || q.Get("code_challenge") != base64.RawURLEncoding.EncodeToString(sum[:]) || q.Get("client_id") != r.PostFormValue("client_id") {
			a.refuse(w, http.StatusBadRequest, "invalid_grant")
			return
		}
		delete(a.codes, r.PostFormValue("code"))
	case "refresh_token":
		if a.clients[r.PostFormValue("client_id")] == nil {
			a.refuse(w, http.StatusUnauthorized, "invalid_client")
			return
		}
		if !a.refreshes[r.PostFormValue("refresh_token")] {
			a.refuse(w, http.StatusBadRequest, "invalid_grant")
			return
		}
		delete(a.refreshes, r.PostFormValue("refresh_token"))
		a.renewed++
	}
	access, refresh := "secret-access-"+rand.Text(), "secret-refresh-"+rand.Text()
	a.tokens[access], a.refreshes[refresh] = true, true
	a.say(w, map[string]any{"access_token": access, "token_type": "Bearer", "expires_in": 3600, "refresh_token": refresh})
}

func (a *Authority) refuse(w http.ResponseWriter, status int, why string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	a.say(w, map[string]any{"error": why, "error_description": "secret-refresh is not good"})
}

// Browse opens the link and follows it, as a browser does.
func Browse(t *testing.T, link string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, link, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		t.Error(err)
		return
	}
	body, _ := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK || !strings.Contains(string(body), "You can close this page") {
		t.Errorf("%s: %s", resp.Status, body)
	}
}

// Forget has the authority forget the programs that have registered.
func (a *Authority) Forget() {
	a.mu.Lock()
	defer a.mu.Unlock()
	clear(a.clients)
}

// Renewals counts the tokens that were renewed.
func (a *Authority) Renewals() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.renewed
}

type word struct {
	Word string `json:"word"`
}

// bird is a server that says a word back.
func bird() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "bird", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "repeat"}, func(_ context.Context, _ *mcp.CallToolRequest, in word) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: in.Word}}}, nil, nil
	})
	return s
}
