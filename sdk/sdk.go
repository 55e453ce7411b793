// Package sdk embeds an agent in a Go program: create a session, send it messages,
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
// Sessions live in memory unless Options.DataDir is set; then they can be resumed, even
// by the terret program, which treats them like its own.
//
// By default everything that the agent wants to do is allowed, which is what a program
// without a person wants. Set Policy to ask, and OnRequest, to decide yourself.
//
// Secrets in Options.Env are kept out of what a session reports and stores.
package sdk

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/native"
	"github.com/terret-dev/terret/internal/server/assemble"
	"github.com/terret-dev/terret/internal/server/config"
)

// Options says what session to create. All but Model may be left out.
type Options struct {
	Agent string // default: native, or the only one of Drivers
	// Model is provider/model, or "demo". The native agent needs one, here or in the
	// persona; other agents have their own default.
	Model string
	Cwd   string // default: the current folder
	// Persona names a role from agents/AGENT_*.md in Cwd. Its restrictions always
	// apply; its grants apply if somebody has trusted the folder with `terret trust`
	// and the same data folder.
	Persona string
	// Mode, if set, adds our own text to the system prompt, which also tells the agent
	// about the project. So does a persona.
	Mode terret.Mode
	// ProductName replaces "Terret" in the agent's base prompt.
	ProductName string
	// DataDir is where the session is kept. Empty means in memory.
	DataDir string
	// Policy decides requests that no rule decides; default auto-approve.
	Policy terret.Policy
	// OnRequest decides what the policy leaves open. It may take its time. Its context
	// ends when the request is decided otherwise or the session is closed; the function
	// must return then, because Close waits for it. Without OnRequest such requests are
	// refused at once.
	OnRequest func(ctx context.Context, r terret.Request) (terret.Decision, error)
	// Gates lists where else the agent waits for OnRequest: pre_tool, prompt, stop,
	// subagent_stop, compact. They need OnRequest.
	Gates []terret.Gate
	// Session holds all other options of a session.
	Session terret.SessionOptions
	// Drivers replaces the default drivers. They were made with settings of their own,
	// such as keys. Close shuts them down: sessions that are open at the same time must
	// not share one.
	Drivers []terret.Driver
	// Env is the environment for keys, and agents may see parts of it; nil means the
	// program's own. Keys that `terret keys` keeps are not used.
	Env []string
	// Log is for the operator; nil discards it.
	Log *slog.Logger
}

// NewSession creates a session. The context bounds the call, not the session's life:
// that ends with Close.
func NewSession(ctx context.Context, o Options) (*Session, error) {
	s, err := open(ctx, &o)
	if err != nil {
		return nil, err
	}
	o.Session.BasePrompt = o.Session.BasePrompt || o.Mode != ""
	made, err := s.harness.Sessions(o.defaults).Create(ctx, terret.Session{
		Agent: o.Agent, Model: o.Model, Cwd: o.Cwd, Persona: terret.NullString(o.Persona), Mode: o.Mode, Policy: o.Policy, Options: o.Session,
	}, assemble.CreateOptions{Check: o.check})
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.id = made.ID
	s.decide(o)
	return s, nil
}

// defaults fills in what neither the options nor the persona set.
func (o Options) defaults(_ context.Context, s *terret.Session) {
	if s.Agent == "" && len(o.Drivers) == 1 {
		s.Agent = o.Drivers[0].Name()
	}
	s.Agent = cmp.Or(s.Agent, native.Name)
	s.Policy = cmp.Or(s.Policy, terret.PolicyAutoApprove)
}

// check refuses an agent that is not among the drivers, and to choose a model: a program
// that embeds an agent must not end up with the demo by mistake.
func (o Options) check(s terret.Session) error {
	if o.Drivers != nil {
		name := terret.AgentName(o.Drivers, s.Agent)
		if !slices.ContainsFunc(o.Drivers, func(d terret.Driver) bool { return d.Name() == name }) {
			return terret.Errorf(terret.CodeAgentNotFound, "there is no agent %q among Drivers; set Agent to the name of one of them", s.Agent)
		}
	}
	if s.Agent == native.Name && s.Model == "" {
		return terret.Invalid("Model", `there is no model; name one, such as "anthropic/claude-sonnet-4-5", or "demo" to try things out`)
	}
	return nil
}

// Resume resumes a session that is kept in Options.DataDir. It uses only DataDir,
// OnRequest, Gates, Drivers, Env, ProductName and Log of the options. OnRequest also
// gets what waits for a decision already, if another process runs the session.
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
	waiting, err := s.catchUp(ctx)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.decide(o, waiting...)
	return s, nil
}

// Prompt creates a session, sends one message, and returns its result. An error result
// is a result, not an error.
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

// checkGates refuses gates at which no agent would ever wait.
func checkGates(o Options) error {
	if len(o.Gates) > 0 && o.OnRequest == nil {
		return terret.Invalid("Gates", "nobody would decide there; set OnRequest too")
	}
	return terret.CheckGates("Gates", o.Gates)
}

// open opens the store and the engine.
func open(ctx context.Context, o *Options) (*Session, error) {
	if err := checkGates(*o); err != nil {
		return nil, err
	}
	if o.Env == nil {
		o.Env = os.Environ()
	}
	o.Cwd = cmp.Or(o.Cwd, ".")
	if o.DataDir != "" {
		var err error
		if o.DataDir, err = filepath.Abs(o.DataDir); err != nil {
			return nil, terret.Invalid("DataDir", "%w", err)
		}
	}
	h, err := assemble.New(assemble.Options{
		Home: o.DataDir, Env: o.Env, Drivers: o.Drivers, Product: o.ProductName, Log: o.Log,
		Config: config.Config{IdleAfter: config.Never},
	})
	if err != nil {
		return nil, err
	}
	if err = h.Open(ctx); err == nil {
		err = h.Start(ctx, o.OnRequest == nil)
	}
	if err != nil {
		return nil, errors.Join(err, h.Close(context.WithoutCancel(ctx)))
	}
	return &Session{harness: h, engine: h.Engine, store: h.Store, ended: make(chan struct{}), sending: map[string]bool{}}, nil
}
