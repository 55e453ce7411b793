package assemble

import (
	"context"
	"errors"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/native"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/internal/redact"
	"github.com/terret-dev/terret/store/sqlite"
)

// Replay runs a recorded session again, in the folder, with today's personas, settings and
// code and the answers of then. Nothing of it is kept. What differs is in r afterwards.
func (h *Harness) Replay(ctx context.Context, s terret.Session, dir string, r *native.Replay) (err error) {
	o := h.options
	r.Secrets = redact.FromEnv(o.Env)
	own := driversOf(o, o.Config.Agents)
	driver := native.New(native.Config{
		ProductName: own.ProductName, Getenv: func(string) string { return "" }, Env: own.Agents[native.Name].Env, Providers: own.Providers, Prices: own.Prices,
		UserDir: own.UserDir, SandboxHelper: own.SandboxHelper, Home: own.Home, Replay: r, Backoff: func(int, time.Duration) time.Duration { return 0 },
	})
	store, err := sqlite.Open(ctx, sqlite.Memory, sqlite.Options{Log: o.Log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	cfg := h.engineConfig()
	cfg.Store, cfg.Drivers, cfg.Lookup, cfg.Recorder, cfg.Home, cfg.Unattended = store, []terret.Driver{driver}, nil, nil, "", true
	cfg.Undo, cfg.Pool = engine.UndoLimits{Off: true}, engine.Pool{}
	e, err := engine.New(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close(context.WithoutCancel(ctx))) }()
	again := terret.Session{Agent: native.Name, Model: s.Model, Cwd: dir, Persona: s.Persona, Mode: s.Mode, Policy: s.Policy, PermissionMode: s.PermissionMode, Options: s.Options}
	again.Options.Record, again.Options.Worktree, again.Options.MaxCostUSD = false, false, 0
	if r.RealTools && s.Policy != terret.PolicyPlan {
		again.Policy = terret.PolicyAutoApprove // in a copy of the folder
	}
	if again, err = e.Create(ctx, again); err != nil {
		return err
	}
	for _, p := range r.Prompts() {
		turn, err := e.Prompt(ctx, engine.PromptRequest{Session: again.ID, Prompt: p, By: "replay"})
		if err != nil {
			return err
		}
		if err := ended(ctx, e, again.ID, turn.ID); err != nil {
			return err
		}
	}
	return nil
}

// ended waits for the end of a turn. It is no error if the turn fails: it may have failed
// then, too.
func ended(ctx context.Context, e *engine.Engine, session, turn string) error {
	for entry, err := range e.Events(ctx, engine.EventQuery{Session: session, Follow: true}) {
		if err != nil {
			return err
		}
		ev, err := entry.Decode()
		if err != nil {
			return err
		}
		if ev.Turn == turn && (ev.Kind() == terret.KindTurnComplete || ev.Kind() == terret.KindTurnError) {
			return nil
		}
	}
	return context.Cause(ctx)
}
