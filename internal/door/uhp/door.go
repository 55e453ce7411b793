package uhp

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/client"
	"github.com/terret-dev/terret/internal/door/within"
)

// Path is where the door is mounted.
const Path = "/uhp"

const (
	version       = "2026-08-11"
	versionHeader = "UHP-Version"
	maxBody       = 32 << 20 // what the server takes; a file within it may have 20 MB
)

// Door serves the protocol. Close it when the server ends.
type Door struct {
	server  http.Handler
	program string // its version
	mux     *http.ServeMux
	began   time.Time

	uploads uploads
	keys    keys

	life    context.Context // for work that outlives a request
	end     context.CancelFunc
	running sync.WaitGroup
}

// New makes a door of a server, whose handler it calls.
func New(server http.Handler, program string) *Door {
	d := &Door{server: server, program: program, mux: http.NewServeMux(), began: time.Now()}
	d.life, d.end = context.WithCancel(context.Background())
	for pattern, serve := range map[string]func(*call) error{
		"GET /v1/uhp":                                  d.discover,
		"GET /v1/harnesses":                            d.listHarnesses,
		"POST /v1/harnesses":                           d.createHarness,
		"GET /v1/harnesses/{id}":                       d.getHarness,
		"PUT /v1/harnesses/{id}":                       d.updateHarness,
		"DELETE /v1/harnesses/{id}":                    d.deleteHarness,
		"GET /v1/harnesses/{id}/models":                d.harnessModels,
		"GET /v1/harnesses/{id}/skills/{skill}/files":  d.skillFiles,
		"GET /v1/models":                               d.listModels,
		"POST /v1/responses":                           d.createResponse,
		"GET /v1/responses/{id}":                       d.getResponse,
		"DELETE /v1/responses/{id}":                    d.deleteResponse,
		"GET /v1/responses/{id}/input_items":           d.inputItems,
		"POST /v1/responses/{id}/cancel":               d.cancelResponse,
		"GET /v1/sessions":                             d.listSessions,
		"GET /v1/sessions/{id}":                        d.getSession,
		"GET /v1/sessions/{id}/turns":                  d.sessionTurns,
		"POST /v1/sessions/{id}/cancel":                d.cancelSession,
		"POST /v1/sessions/{id}/share":                 d.share,
		"GET /v1/sessions/{id}/share":                  d.shared,
		"DELETE /v1/sessions/{id}/share":               d.unshare,
		"DELETE /v1/traces/{id}":                       d.deleteSession,
		"POST /v1/files":                               d.upload,
		"GET /v1/sessions/{id}/files":                  d.listFiles,
		"GET /v1/sessions/{id}/files/archive":          d.archive,
		"GET /v1/containers/{id}/files/{file}/content": d.download,
		"GET /v1/containers/{id}/files/{file}/pdf":     d.preview,
	} {
		d.mux.HandleFunc(strings.Replace(pattern, " ", " "+Path, 1), func(w http.ResponseWriter, r *http.Request) {
			c, err := within.Client(d.server, r)
			if err == nil {
				err = serve(&call{c, w, r, r.Context()})
			}
			if err != nil && r.Context().Err() == nil {
				writeFault(w, faultOf(err))
			}
		})
	}
	return d
}

// Close ends what the door does besides answering requests, and waits for it.
func (d *Door) Close() {
	d.end()
	d.running.Wait()
}

// Public reports whether a request needs no token: the document that says what is here.
func Public(r *http.Request) bool { return r.URL.Path == Path+"/v1/uhp" && isRead(r) }

// OtherBody reports whether a request may have a body that is not JSON: an upload.
func OtherBody(r *http.Request) bool {
	return r.Method == http.MethodPost && r.URL.Path == Path+"/v1/files"
}

func isRead(r *http.Request) bool { return r.Method == http.MethodGet || r.Method == http.MethodHead }

// call is a request, with a client in the name of its sender.
type call struct {
	*client.Client

	w   http.ResponseWriter
	r   *http.Request
	ctx context.Context
}

func (c *call) answer(v any) error {
	writeJSON(c.w, http.StatusOK, v)
	return nil
}

func (c *call) id() string { return c.r.PathValue("id") }

// ServeHTTP implements http.Handler.
func (d *Door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set(versionHeader, version)
	if asked, ok := r.Header[versionHeaderKey]; ok && !slices.Equal(asked, []string{version}) {
		f := refuse(http.StatusBadRequest, "unsupported_protocol_version", "", "This server speaks version "+version+" of the protocol.")
		f.Detail = map[string]any{"supported": []string{version}}
		writeFault(w, f)
		return
	}
	if _, pattern := d.mux.Handler(r); pattern == "" {
		d.nothing(w, r)
		return
	}
	d.mux.ServeHTTP(w, r)
}

// versionHeaderKey is the header's name as package http writes it.
var versionHeaderKey = http.CanonicalHeaderKey(versionHeader)

// nothing answers a request for a path or with a method that is not there.
func (d *Door) nothing(w http.ResponseWriter, r *http.Request) {
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete} {
		other := r.Clone(r.Context())
		other.Method = method
		if _, pattern := d.mux.Handler(other); pattern != "" {
			w.Header().Add("Allow", method)
		}
	}
	if w.Header().Get("Allow") != "" {
		writeFault(w, refuse(http.StatusMethodNotAllowed, "invalid_input", "", "This path does not support "+r.Method+"."))
		return
	}
	writeFault(w, refuse(http.StatusNotFound, "terret_no_route", "", "There is nothing at this path."))
}

// discover says what is here, without a token.
func (d *Door) discover(c *call) error {
	can := map[string]bool{}
	for _, name := range []string{
		"streaming", "sessions", "cancellation", "files_input", "files_output", "session_listing", "harness_management", "session_sharing", "idempotency",
	} {
		can[name] = true
	}
	return c.answer(map[string]any{
		"object": "uhp.discovery", "protocol": "uhp", "versions": []string{version}, "default_version": version,
		"conformance_class": "full", "capabilities": can, "implementation": map[string]string{"name": "Terret", "version": d.program},
	})
}

// known returns the session of an id, or the fault if the caller does not see it: whether it
// is there is nobody else's business.
func (c *call) known(session string, missing *fault) (terret.Session, error) {
	if session == "" {
		return terret.Session{}, missing
	}
	s, err := c.Session(c.ctx, session)
	if err != nil {
		switch terret.AsError(err).Code { //nolint:exhaustive // others are told as they are
		case terret.CodeForbidden, terret.CodeSessionNotFound, terret.CodeNotFound, terret.CodeInvalidRequest:
			return s, missing
		}
	}
	return s, err
}
