package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/client"
	"github.com/terret-dev/terret/internal/door/within"
)

// Path is where a server mounts the door.
const Path = "/mcp"

// Limits of the door. What its calls do is bounded by the server.
const (
	maxBody     = 8 << 20        // of a request; a prompt may have 4 MB
	maxCalls    = 64             // in progress at once, for one token
	maxSessions = 256            // at once; the longest unused gives way
	idleSession = 24 * time.Hour // since its last call
	longestCall = time.Hour      // a person may take long to answer ask_person
)

// withoutSessions is the first version of the protocol that has no sessions: each of its
// requests stands alone.
const withoutSessions = "2026-07-28"

// Door serves the protocol over streamable HTTP, as a server that checks tokens, Host and
// Origin itself mounts it. A call is made in the name of the request that it came with, and
// ends with that; a session belongs to the token that began it. Close it when the server ends.
type Door struct {
	mcp               *mcp.Server
	sessions, without http.Handler // for versions of the protocol with sessions, and without

	mu      sync.Mutex
	closed  bool
	calls   map[string]int // in progress, by owner
	uses    map[*mcp.ServerSession]*use
	running sync.WaitGroup
}

// use is what is known of a session.
type use struct {
	owner string
	calls int // in progress
	last  time.Time
}

// fromKey is where the context of a call has the HTTP request that it came with.
type fromKey struct{}

// NewDoor makes a door of a server, whose handler it calls.
func NewDoor(server http.Handler, version string) *Door {
	d := &Door{calls: map[string]int{}, uses: map[*mcp.ServerSession]*use{}}
	d.mcp = New(Config{Version: version, Client: func(ctx context.Context) (*client.Client, error) {
		return within.Client(server, ctx.Value(fromKey{}).(*http.Request))
	}})
	d.mcp.AddReceivingMiddleware(d.inName)
	handler := func(stateless bool) http.Handler {
		return auth.RequireBearerToken(owner, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})(
			mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return d.mcp }, &mcp.StreamableHTTPOptions{
				Stateless: stateless, SessionTimeout: idleSession, MaxRequestBodyBytes: maxBody, PropagateRequestCancellation: true,
				DisableLocalhostProtection: true, // the server knows by which names it may be called
			}))
	}
	d.sessions, d.without = handler(false), handler(true)
	return d
}

// owner identifies the sender of a request by its token, which the server has checked. The
// library refuses other senders in a session.
func owner(_ context.Context, token string, r *http.Request) (*auth.TokenInfo, error) {
	sum := sha256.Sum256([]byte(token))
	return &auth.TokenInfo{UserID: hex.EncodeToString(sum[:]), Extra: map[string]any{"from": r}}, nil
}

// ServeHTTP implements http.Handler.
func (d *Door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path != Path:
		refuse(w, http.StatusNotFound, terret.CodeNotFound, "there is nothing at this path; the server is at "+Path)
	case r.Method != http.MethodPost && r.Method != http.MethodDelete:
		w.Header().Set("Allow", "POST, DELETE") // it never has anything to say by itself
		refuse(w, http.StatusMethodNotAllowed, terret.CodeInvalidRequest, Path+" supports POST and DELETE, not "+r.Method)
	case r.Header.Get("Mcp-Protocol-Version") >= withoutSessions:
		d.without.ServeHTTP(w, r)
	default:
		d.sessions.ServeHTTP(w, r)
	}
}

// Close ends all sessions and calls, and waits for them.
func (d *Door) Close() {
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	for s := range d.mcp.Sessions() {
		_ = s.Close() // its reader is gone
	}
	d.running.Wait()
}

// inName lets a call be made in the name of the request that it came with, for as long as
// somebody waits for the answer.
func (d *Door) inName(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
		session, ok := r.GetSession().(*mcp.ServerSession)
		extra := r.GetExtra()
		if !ok || extra == nil || extra.TokenInfo == nil {
			return nil, refusal("it is not known who sent this")
		}
		from := extra.TokenInfo.Extra["from"].(*http.Request)
		done, old, err := d.begin(extra.TokenInfo.UserID, session, method == "initialize")
		if err != nil {
			return nil, err
		}
		defer done()
		if old != nil {
			_ = old.Close() // its owner may begin another
		}
		ctx, cancel := context.WithTimeout(context.WithValue(ctx, fromKey{}, from), longestCall)
		defer cancel()
		if !strings.HasPrefix(method, "notifications/") { // nobody waits for those
			defer context.AfterFunc(from.Context(), cancel)()
		}
		return next(ctx, method, r)
	}
}

// begin notes a call, until done is called, or refuses it. If it begins a session and there
// are too many, an old one is to be closed; it takes no calls from now on.
func (d *Door) begin(owner string, s *mcp.ServerSession, opens bool) (done func(), old *mcp.ServerSession, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.closed:
		return nil, nil, refusal("the server is stopping; try again when it is back")
	case d.calls[owner] >= maxCalls:
		return nil, nil, refusal(fmt.Sprintf("%d calls with this token are in progress, the maximum; wait until one has ended", maxCalls))
	}
	if opens {
		d.forget()
		if len(d.uses) >= maxSessions {
			if old = d.longestUnused(); old == nil {
				return nil, nil, refusal(fmt.Sprintf("%d sessions are in use, the maximum; close one", maxSessions))
			}
			delete(d.uses, old)
		}
		d.uses[s] = &use{owner: owner}
	}
	u := d.uses[s]
	if u == nil {
		if s.ID() != "" {
			return nil, nil, refusal("this session has ended; begin another one")
		}
		u = &use{} // it stands alone
	}
	u.calls++
	d.calls[owner]++
	d.running.Add(1)
	return func() {
		defer d.running.Done()
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.calls[owner]--; d.calls[owner] == 0 {
			delete(d.calls, owner)
		}
		u.calls--
		u.last = time.Now()
	}, old, nil
}

// forget lets go of sessions that have ended.
func (d *Door) forget() {
	ended := d.uses
	d.uses = map[*mcp.ServerSession]*use{}
	for s := range d.mcp.Sessions() {
		if u := ended[s]; u != nil {
			d.uses[s] = u
		}
	}
}

// longestUnused is the session that gives way to a new one: of those who have the most, the
// one that was not used for the longest time. It is nil if all have calls in progress.
func (d *Door) longestUnused() *mcp.ServerSession {
	held := map[string]int{}
	for _, u := range d.uses {
		held[u.owner]++
	}
	var found *mcp.ServerSession
	for s, u := range d.uses {
		if u.calls > 0 {
			continue
		}
		if best := d.uses[found]; best == nil || held[u.owner] > held[best.owner] || held[u.owner] == held[best.owner] && u.last.Before(best.last) {
			found = s
		}
	}
	return found
}

// refused is the code of JSON-RPC for errors of a server.
const refused = -32000

func refusal(message string) error { return &jsonrpc.Error{Code: refused, Message: message} }

// Refuse writes a refusal of the server as the protocol does: an error without an id.
func Refuse(w http.ResponseWriter, _ *http.Request, status int, err *terret.Error) {
	if status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="terret"`)
	}
	refuse(w, status, err.Code, err.Message)
}

func refuse(w http.ResponseWriter, status int, code terret.ErrorCode, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{ // the caller may be gone
		"jsonrpc": "2.0", "id": nil,
		"error": map[string]any{"code": refused, "message": message, "data": map[string]any{"code": code}},
	})
}
