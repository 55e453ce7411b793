package hooks

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/files"
)

// Sessions is what a Server needs of the engine.
type Sessions interface {
	Create(ctx context.Context, s terret.Session) (terret.Session, error)
	Open(ctx context.Context, id string) error
}

// Driver has the sessions of one agent that run in terminals.
type Driver interface {
	Name() string
	Report(ctx context.Context, session string, input []byte) ([]byte, error)
}

// Server answers hooks.
type Server struct {
	Sessions Sessions
	Drivers  map[string]Driver // by the agent's name
	Log      *slog.Logger

	making sync.Mutex // one session at a time is made
}

// Listen opens the socket of that home. It is nil if another server has it already. The
// returned function closes it.
func Listen(ctx context.Context, home string) (net.Listener, func(), error) {
	lock, err := files.TryOpenLocked(Socket(home) + ".lock")
	if lock == nil || err != nil {
		return nil, nil, err
	}
	_, _ = os.Remove(Socket(home)), os.Remove(awayFile(home)) // of a server that was killed, or did not answer
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "unix", Socket(home))
	if err == nil {
		err = os.Chmod(Socket(home), 0o600)
	}
	if err != nil {
		return nil, nil, errors.Join(err, lock.Close())
	}
	return l, func() { _, _ = l.Close(), lock.Close() }, nil
}

// most bounds how many hooks are answered at once.
const most = 1000

// Serve answers hooks until the context ends. Then nobody waits any more, and the agents go
// on as if Terret were not there.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	places := make(chan struct{}, most)
	mux := http.NewServeMux()
	mux.HandleFunc("POST /{agent}/{event}", func(w http.ResponseWriter, r *http.Request) {
		select {
		case places <- struct{}{}:
			defer func() { <-places }()
			s.answer(w, r)
		default:
			http.Error(w, "too many hooks at once", http.StatusServiceUnavailable)
		}
	})
	server := &http.Server{
		Handler:           mux,
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ReadHeaderTimeout: patience, ReadTimeout: patience, MaxHeaderBytes: 16 << 10,
		ErrorLog: slog.NewLogLogger(s.Log.Handler(), slog.LevelDebug),
	}
	stopped := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(stopped)
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		if server.Shutdown(grace) != nil {
			_ = server.Close()
		}
	})
	err := server.Serve(l)
	if !stop() {
		<-stopped
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

func (s *Server) answer(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxInput))
	var out []byte
	if err == nil {
		w.WriteHeader(http.StatusProcessing) // it is taken: the hook waits for as long as it may
		out, err = s.report(r, body)
	}
	if err != nil {
		if r.Context().Err() == nil {
			s.Log.Debug("a hook was not understood", "path", r.URL.Path, "error", err)
		}
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	_, _ = w.Write(out)
}

// report finds the session that a hook belongs to, or makes one, and passes the input on.
func (s *Server) report(r *http.Request, body []byte) ([]byte, error) {
	name, event := r.PathValue("agent"), r.PathValue("event")
	d := s.Drivers[name]
	if d == nil {
		return nil, terret.Invalid("agent", "there are no hooks of %q", name)
	}
	var in struct {
		SessionID string `json:"session_id"`
		Cwd       string `json:"cwd"`
		Event     string `json:"hook_event_name"`
	}
	if err := json.Unmarshal(body, &in); err != nil || in.SessionID == "" || len(in.SessionID) > 200 {
		return nil, terret.Invalid("input", "the input of a hook is a JSON object with a session_id")
	}
	if cmp.Or(in.Event, event) != event {
		return nil, terret.Invalid("event", "the hook was called as %s, but its input is one of %s", event, in.Event)
	}
	ctx := r.Context()
	id := terret.DerivedID("", d.Name(), in.SessionID)
	if err := s.open(ctx, id, terret.Session{ID: id, Agent: d.Name(), NativeID: terret.NullString(in.SessionID), Cwd: in.Cwd}, event); err != nil {
		return nil, err
	}
	return d.Report(ctx, id, body)
}

// open opens the session, or makes it. A session that was deleted while its terminal is
// still open begins anew.
func (s *Server) open(ctx context.Context, id string, fresh terret.Session, event string) error {
	s.making.Lock()
	defer s.making.Unlock()
	err := s.Sessions.Open(ctx, id)
	if !errors.Is(err, terret.ErrSessionNotFound) {
		return err
	}
	if event == "SessionEnd" {
		return nil // nothing is known of it, so nothing is lost
	}
	if _, err := s.Sessions.Create(ctx, fresh); err != nil {
		return err
	}
	return s.Sessions.Open(ctx, id)
}
