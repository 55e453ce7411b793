package acp

import (
	"context"
	"slices"
	"sync"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/seat"
)

// WarmKey implements terret.Prewarmer. A process that waits has opened a new session in
// the folder.
func (d *Driver) WarmKey(r terret.OpenRequest) string {
	if r.Session.NativeID != "" || r.Session.OneShot || checkSettings(r.Settings) != nil {
		return ""
	}
	l := d.p.launchOf(r.Settings)
	return string(seat.Encode([]any{
		d.environ(r.Env, r.Session.Cwd, r.Trusted), r.Session.Cwd, r.Session.Model, r.Session.PermissionMode, r.Trusted, l.servers, l.dirs, l.append,
		r.Settings.Tools, r.Settings.RemovedTools, r.Settings.SystemAppend, // of which the agent warns when it starts
	}))
}

// Prewarm implements terret.Prewarmer.
func (d *Driver) Prewarm(ctx context.Context, r terret.OpenRequest) (terret.Warm, error) {
	key := d.WarmKey(r)
	if key == "" {
		return nil, terret.Errorf(terret.CodeUnsupported, "%s cannot be prewarmed for this session", d.p.title())
	}
	host := &later{}
	r.Host = host
	a := newAgent(d, r)
	a.Switching.Lock()
	defer a.Switching.Unlock()
	if _, err := a.ready(ctx, r.Settings); err != nil {
		return nil, err
	}
	return &seat.Warm[*waiting]{Prepared: &waiting{a, host}, Key: key}, nil
}

// waiting is an agent with a session that is nobody's yet.
type waiting struct {
	a    *agent
	host *later
}

// Alive implements seat.Prepared.
func (w *waiting) Alive() bool {
	p := w.a.Current()
	return p != nil && p.Alive()
}

// Memory implements seat.Prepared.
func (w *waiting) Memory() int64 {
	if p := w.a.Current(); p != nil {
		return p.Memory()
	}
	return 0
}

// Discard implements seat.Prepared.
func (w *waiting) Discard(ctx context.Context) { _ = w.a.Close(ctx) }

// give gives the agent to the session of the request.
func (w *waiting) give(ctx context.Context, r terret.OpenRequest) (*agent, error) {
	a := w.a
	if err := a.checkTrust(); err != nil { // the folder may have changed
		w.Discard(ctx)
		return nil, err
	}
	a.telling.Lock()
	a.Req.Session, a.Req.Settings, a.Req.Cursor = r.Session, r.Settings, r.Cursor
	a.telling.Unlock()
	if err := w.host.give(ctx, r.Host); err != nil {
		w.Discard(ctx)
		return nil, err
	}
	return a, nil
}

// later is the host of an agent that waits for a session. It keeps what the agent says.
type later struct {
	mu    sync.Mutex
	host  terret.Host // nil until the session begins
	early []terret.Event
}

// earlyLimit bounds what an agent may say before its session begins. One that says more
// is stopped.
const earlyLimit = 1000

func (h *later) give(ctx context.Context, host terret.Host) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	early := h.early
	h.host, h.early = host, nil
	return host.Emit(ctx, early, nil)
}

func (h *later) now() terret.Host {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.host
}

// Emit implements terret.Host.
func (h *later) Emit(ctx context.Context, events []terret.Event, cursor []byte) error {
	h.mu.Lock()
	host := h.host
	if host == nil {
		defer h.mu.Unlock()
		if len(h.early)+len(events) > earlyLimit {
			return terret.Errorf(terret.CodeConflict, "the agent says too much before its session begins")
		}
		for _, ev := range events {
			ev.Raw = slices.Clone(ev.Raw) // which is the reader's
			h.early = append(h.early, ev)
		}
		return nil
	}
	h.mu.Unlock()
	return host.Emit(ctx, events, cursor)
}

// Ask implements terret.Host.
func (h *later) Ask(ctx context.Context, q terret.Ask) (terret.Decision, error) {
	if host := h.now(); host != nil {
		return host.Ask(ctx, q)
	}
	return terret.Decision{}, terret.Errorf(terret.CodeConflict, "the session has not begun")
}

// Delivered implements terret.Host.
func (h *later) Delivered(ctx context.Context, requestID string) error {
	if host := h.now(); host != nil {
		return host.Delivered(ctx, requestID)
	}
	return nil
}
