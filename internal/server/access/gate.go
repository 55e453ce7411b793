package access

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"math"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/textproto"
	"strconv"
	"strings"
	"time"

	"github.com/terret-dev/terret"
)

// defaultMaxBody bounds request bodies, unless Options says otherwise.
const defaultMaxBody = 16 << 20

// policy is the Content-Security-Policy of every response, including the web UI:
// scripts, styles and data from this server only, images also from data and blob URLs,
// no framing, no forms, no inline scripts.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; " +
	"connect-src 'self'; manifest-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// headers are set on every response. Handlers may override them.
var headers = map[string]string{
	"Content-Security-Policy":      policy,
	"X-Content-Type-Options":       "nosniff",
	"X-Frame-Options":              "DENY",
	"Referrer-Policy":              "no-referrer",
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Permissions-Policy":           "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
	"Cache-Control":                "no-store",
	"Vary":                         "Origin",
}

// Options configures a Gate.
type Options struct {
	Tokens *Tokens // required
	// Hosts are names of the server besides loopback and the address that is connected
	// to: "terret.example" with any port, or "terret.example:8443".
	Hosts []string
	// Origins are origins besides the server's own whose pages may use it, such as
	// "https://terret.example" behind a proxy that terminates TLS.
	Origins []string
	// Public reports whether a request needs no token: the pages of the UI, /healthz,
	// /readyz and the sign-in. The gate does not identify the sender then, but still
	// checks Host, Origin and body. Links from other sites work only for public
	// requests. Nil: every request needs a token.
	Public func(*http.Request) bool
	// OtherBody reports whether a request may have a body that is not JSON. Nil: none
	// may.
	OtherBody func(*http.Request) bool
	// MaxBody bounds a request body, in bytes; default 16 MB. BodyLimit, if it is set
	// and returns more than zero, overrides it for one request.
	MaxBody   int64
	BodyLimit func(*http.Request) int64
	// Problem writes a refusal. Default: application/problem+json.
	Problem func(w http.ResponseWriter, r *http.Request, status int, err *terret.Error)
	// Log gets failed sign-ins. It may be nil.
	Log *slog.Logger
}

// Gate checks requests before a server sees them. It is safe for concurrent use.
type Gate struct {
	opt     Options
	hosts   map[string]bool
	origins map[string]bool
	limit   *limiter
}

// NewGate makes a gate. It rejects a host or an origin that could match nothing or
// anything.
func NewGate(o Options) (*Gate, error) {
	if o.Tokens == nil {
		return nil, terret.Errorf(terret.CodeStartupRefused, "a server needs tokens")
	}
	g := &Gate{opt: o, hosts: map[string]bool{}, origins: map[string]bool{}, limit: newLimiter()}
	for _, h := range o.Hosts {
		name, port, ok := splitHost(h)
		if !ok || strings.Contains(name, "*") || isWildcard(name) {
			return nil, terret.Invalid("hosts", "%q is not a host name; write it like terret.example or terret.example:8443", h)
		}
		if port != "" {
			name = net.JoinHostPort(name, port)
		}
		g.hosts[name] = true
	}
	for _, origin := range o.Origins {
		scheme, host, _ := strings.Cut(origin, "://")
		name, _, ok := splitHost(host)
		if !ok || scheme != "http" && scheme != "https" || strings.Contains(name, "*") || origin != strings.ToLower(origin) {
			return nil, terret.Invalid("origins", "%q is not an origin; write it like https://terret.example", origin)
		}
		g.origins[origin] = true
	}
	if g.opt.MaxBody == 0 {
		g.opt.MaxBody = defaultMaxBody
	}
	if g.opt.Problem == nil {
		g.opt.Problem = writeProblem
	}
	if g.opt.Log == nil {
		g.opt.Log = slog.New(slog.DiscardHandler)
	}
	return g, nil
}

func isWildcard(name string) bool {
	ip, err := netip.ParseAddr(name)
	return err == nil && ip.Unmap().IsUnspecified()
}

// refusal is an error with a status, if that differs from the one of its code.
type refusal struct {
	status int
	err    *terret.Error
}

func (r *refusal) Error() string { return r.err.Error() }
func (r *refusal) Unwrap() error { return r.err }

func refuse(status int, format string, args ...any) error {
	return &refusal{status, terret.Errorf(terret.CodeInvalidRequest, format, args...)}
}

// Guard checks everything except the token.
func (g *Gate) Guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range headers {
			w.Header().Set(name, value)
		}
		// A copy, since check replaces the body: the server must still see whether its own was
		// read to the end. If not, what is left of it must not become the next request.
		r = r.WithContext(context.WithValue(r.Context(), senderKey{}, sender{remoteOf(r).Addr(), w.Header(), callerOf(r)}))
		if err := g.check(w, r); err != nil {
			g.refuse(w, r, err)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (g *Gate) public(r *http.Request) bool { return g.opt.Public != nil && g.opt.Public(r) }

func (g *Gate) check(w http.ResponseWriter, r *http.Request) error {
	if err := g.checkHost(r); err != nil {
		return err
	}
	if err := g.checkOrigin(r); err != nil {
		return err
	}
	if r.Method == http.MethodTrace || r.Method == http.MethodConnect {
		return refuse(http.StatusMethodNotAllowed, "the method %s is not allowed", r.Method)
	}
	return g.checkBody(w, r)
}

type senderKey struct{}

// sender is where a request comes from, and the header of its response.
type sender struct {
	from   netip.Addr
	answer http.Header
	caller *caller
}

// FromInside reports whether the request whose context ctx is comes from an agent, also if it
// shows no token.
func FromInside(ctx context.Context) bool {
	who, _ := ctx.Value(senderKey{}).(sender)
	return who.caller.insideTree()
}

// checkBody accepts only JSON, and bounds it. A form on another page cannot send JSON.
func (g *Gate) checkBody(w http.ResponseWriter, r *http.Request) error {
	limit := g.opt.MaxBody
	if g.opt.BodyLimit != nil {
		if l := g.opt.BodyLimit(r); l > 0 {
			limit = l
		}
	}
	types := r.Header["Content-Type"]
	safe := r.Method == http.MethodGet || r.Method == http.MethodHead
	if r.ContentLength == 0 && (len(types) == 0 || safe) {
		return nil
	}
	if r.ContentLength > limit {
		return refuse(http.StatusRequestEntityTooLarge, "the body has %d bytes, but at most %d are allowed", r.ContentLength, limit)
	}
	r.Body = http.MaxBytesReader(w, r.Body, limit)
	if g.opt.OtherBody != nil && g.opt.OtherBody(r) {
		return nil
	}
	if isJSON(types) {
		r.Body = &valuesReader{ReadCloser: r.Body}
		return nil
	}
	return refuse(http.StatusUnsupportedMediaType, "the body is %q; send JSON, with `Content-Type: application/json`", strings.Join(types, ", "))
}

func isJSON(types []string) bool {
	if len(types) != 1 {
		return false
	}
	media, params, err := mime.ParseMediaType(types[0])
	charset, other := params["charset"]
	return err == nil && media == "application/json" && (!other || strings.EqualFold(charset, "utf-8"))
}

// Authenticate finds out who sends a request. It may be called again while a stream is
// served: it then refuses a revoked token. It accepts a valid token even from an
// address that has failed too often: tokens cannot be guessed, and nobody should be
// able to lock out another caller.
//
// The error is unauthorized, or rate_limited after too many wrong tokens. A request
// without a token does not count as a wrong one.
func (g *Gate) Authenticate(r *http.Request) (Identity, error) {
	secret, ok := bearer(r)
	if !ok {
		return Identity{}, errUnauthorized()
	}
	id, err := g.opt.Tokens.authenticate(r.Context(), secret)
	if err == nil {
		id.caller = callerOf(r)
		return id, nil
	}
	if kindIs(err, terret.CodeUnauthorized) {
		err = g.failed(remoteOf(r).Addr(), err)
	}
	return Identity{}, err
}

// failed counts a failure. It returns err, unless it was one too many.
func (g *Gate) failed(from netip.Addr, err error) error {
	if wait := g.limit.fail(from); wait > 0 {
		return tooMany(wait) // not logged: a stranger must not be able to fill the log
	}
	g.opt.Log.Warn("a sign-in failed", "address", from.String())
	return err
}

// bearer returns the token from the Authorization header.
func bearer(r *http.Request) (string, bool) {
	list := r.Header["Authorization"]
	if len(list) != 1 {
		return "", false
	}
	scheme, secret, ok := strings.Cut(list[0], " ")
	secret = textproto.TrimString(secret)
	return secret, ok && strings.EqualFold(scheme, "Bearer") && len(secret) <= maxSecret && isToken68(secret)
}

// SignIn makes a token for a device out of a one-use code, for the request whose
// context ctx is. A right code is taken even from an address that has failed too often:
// like a token it cannot be guessed. The answer to one wrong code too many gets a
// Retry-After header.
func (g *Gate) SignIn(ctx context.Context, code, device string) (secret string, made Token, err error) {
	secret, made, err = g.opt.Tokens.exchange(ctx, code, device)
	return secret, made, g.Refused(ctx, err)
}

// Refused counts it as a failed sign-in if err says that what the request whose context ctx is
// showed in place of a token is wrong. It returns err, unless it was one too many.
func (g *Gate) Refused(ctx context.Context, err error) error {
	who, _ := ctx.Value(senderKey{}).(sender)
	if kindIs(err, terret.CodeUnauthorized) {
		err = g.failed(who.from, err)
	}
	if seconds, ok := RetryAfter(err); ok && who.answer != nil {
		who.answer.Set("Retry-After", strconv.Itoa(seconds))
	}
	return err
}

func kindIs(err error, kind terret.ErrorCode) bool {
	return err != nil && terret.AsError(err).Code == kind
}

// limited is the wrapped error of a rate limit.
type limited struct{ wait time.Duration }

func (l *limited) Error() string { return "try again in " + l.wait.Round(time.Second).String() }

func tooMany(wait time.Duration) *terret.Error {
	e := terret.Errorf(terret.CodeRateLimited, "too many sign-ins failed; %w", &limited{max(wait, time.Second)})
	e.Retryable = true
	return e
}

// RetryAfter returns the seconds for the Retry-After header, if err is about too many
// failures.
func RetryAfter(err error) (seconds int, ok bool) {
	l, ok := errors.AsType[*limited](err)
	if !ok {
		return 0, false
	}
	return int(math.Ceil(l.wait.Seconds())), true
}

func (g *Gate) refuse(w http.ResponseWriter, r *http.Request, err error) {
	e := terret.AsError(err)
	status := e.Code.Class().HTTP
	if own, ok := errors.AsType[*refusal](err); ok {
		status = own.status
	}
	if seconds, ok := RetryAfter(err); ok {
		w.Header().Set("Retry-After", strconv.Itoa(seconds))
	}
	if status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="terret"`)
	}
	g.opt.Problem(w, r, status, e)
}

// writeProblem writes a refusal as in RFC 9457, with the error's code as its type.
func writeProblem(w http.ResponseWriter, _ *http.Request, status int, err *terret.Error) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	body, _ := json.Marshal(map[string]any{ // strings and numbers always encode
		"type": err.Code, "title": http.StatusText(status), "status": status, "detail": err.Message,
	})
	_, _ = io.WriteString(w, string(body)+"\n") // the client may be gone
}
