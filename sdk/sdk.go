// Package sdk embeds an agent in a Go program: make a session, send it messages,
// receive what it says.
//
//	session, err := sdk.NewSession(ctx, sdk.Options{Model: "demo"})
//	if err != nil {
//		return err
//	}
//	defer session.Close()
//	if err := session.Send(ctx, "list files"); err != nil {
//		return err
//	}
//	for msg, err := range session.Receive(ctx) {
//		if err != nil {
//			return err
//		}
//		fmt.Println(msg)
//	}
//
// Sessions live in memory unless Options.DataDir is set; then they can be resumed,
// also by the terret program, which sees them like its own.
//
// Unless Options.Policy says otherwise, everything that the agent wants to do is
// allowed: that is what a program without a person wants. Say Policy: ask and give
// OnRequest to decide yourself.
package sdk

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/all"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/store/sqlite"
)

// Options say what session to make. The zero value is the native agent in the
// current folder, with the best model there is a key for.
type Options struct {
	Agent string // default: native
	Model string // as provider/model, or "demo"
	Cwd   string // default: the current folder
	// ProductName replaces "Terret" in the agent's base prompt.
	ProductName string
	// DataDir keeps the session. Empty means in memory.
	DataDir string
	// Policy says what happens to requests that no rule decides; default
	// auto-approve.
	Policy terret.Policy
	// OnRequest decides what the policy leaves open. It may take its time; the
	// context ends when the request is decided otherwise or the session is closed,
	// and the function must return then: Close waits for it. Without it such
	// requests are refused at once.
	OnRequest func(ctx context.Context, r terret.Request) (terret.Decision, error)
	// Session holds everything else that a session can be made with.
	Session terret.SessionOptions
	// Drivers replaces the agents there are.
	Drivers []terret.Driver
	// Env is the environment that keys are taken from and that agents may see parts
	// of; nil means the program's own.
	Env []string
	// Log is for the operator; nil means nobody.
	Log *slog.Logger
}

// NewSession makes a session. The context bounds the call, not the session's life:
// that ends with Close.
func NewSession(ctx context.Context, o Options) (*Session, error) {
	s, err := open(ctx, &o)
	if err != nil {
		return nil, err
	}
	made, err := s.engine.Create(ctx, terret.Session{
		Agent: o.Agent, Model: o.Model, Cwd: o.Cwd, Policy: o.Policy, Mode: terret.ModeDirect, Options: o.Session,
	})
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.id = made.ID
	s.decide(o)
	return s, nil
}

// Resume goes on with a session that is kept in Options.DataDir. Only DataDir,
// OnRequest, Drivers, Env, ProductName and Log of the options count.
func Resume(ctx context.Context, id string, o Options) (*Session, error) {
	if o.DataDir == "" {
		return nil, terret.Invalid("DataDir", "a session can only be resumed from a data folder")
	}
	s, err := open(ctx, &o)
	if err != nil {
		return nil, err
	}
	kept, err := s.store.Session(ctx, id)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.id = kept.ID
	if err := s.catchUp(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.decide(o)
	return s, nil
}

// Prompt makes a session, sends one message, and returns its result. An error
// result is a result, not an error.
func Prompt(ctx context.Context, text string, o Options) (result *ResultMessage, err error) {
	s, err := NewSession(ctx, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := s.Send(ctx, text); err != nil {
		return nil, err
	}
	for msg, err := range s.Receive(ctx) {
		if err != nil {
			return nil, err
		}
		if r, ok := msg.(*ResultMessage); ok {
			return r, nil
		}
	}
	return nil, terret.Errorf(terret.CodeInternal, "the session ended without a result")
}

// open opens the store and the engine.
func open(ctx context.Context, o *Options) (*Session, error) {
	if o.Env == nil {
		o.Env = os.Environ()
	}
	if o.Agent == "" {
		o.Agent = "native"
	}
	if o.Cwd == "" {
		o.Cwd = "."
	}
	if o.Policy == "" {
		o.Policy = terret.PolicyAutoApprove
	}
	path := sqlite.Memory
	if o.DataDir != "" {
		var err error
		if o.DataDir, err = filepath.Abs(o.DataDir); err != nil {
			return nil, terret.Invalid("DataDir", "%w", err)
		}
		path = filepath.Join(o.DataDir, "terret.db")
	}
	drivers := o.Drivers
	if drivers == nil {
		var err error
		if drivers, err = all.Drivers(all.Config{Getenv: lookup(o.Env), ProductName: o.ProductName}); err != nil {
			return nil, err
		}
	}
	store, err := sqlite.Open(ctx, path, sqlite.Options{Log: o.Log})
	if err != nil {
		return nil, err
	}
	e, err := engine.New(ctx, engine.Config{
		Store: store, Drivers: drivers, Log: o.Log, Home: o.DataDir, Env: o.Env, Unattended: o.OnRequest == nil, IdleAfter: -1,
	})
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return &Session{engine: e, store: store, ended: make(chan struct{})}, nil
}

func lookup(environ []string) func(string) string {
	return func(name string) string {
		for _, entry := range slices.Backward(environ) {
			if v, ok := strings.CutPrefix(entry, name+"="); ok {
				return v
			}
		}
		return ""
	}
}
