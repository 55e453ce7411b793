package mcphost

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/brief"
	"github.com/terret-dev/terret/internal/proc"
)

const (
	startPatience = 30 * time.Second
	callPatience  = 10 * time.Minute
	stopGrace     = 2 * time.Second
	maxTools      = 500 // of one server
)

// Options say how servers are run.
type Options struct {
	Dir     string   // in which programs start
	Environ []string // what they may see, besides what the configuration gives them
	Owner   string   // marks their processes
	Log     *slog.Logger
	// Wrap, if set, turns the arguments of a program into those that run it in a sandbox.
	Wrap func(argv []string) ([]string, error)
	// Ask puts the question of a server to a person, while a tool of it runs. Nil means
	// that servers cannot ask.
	Ask func(ctx context.Context, q terret.QuestionRequest) (terret.Decision, error)
	// Tokens keep what servers gave people for signing in. Nil means that servers that want
	// that are not reached.
	Tokens Tokens
}

// Servers are those of one session. They are safe for concurrent use.
type Servers struct {
	o     Options
	names []string

	life     context.Context // ends with Close
	end      context.CancelFunc
	watching sync.WaitGroup

	mu    sync.Mutex
	all   map[string]*running
	calls int
	// generation counts changes of tools and prompts.
	generation int
	news       map[string]func(string) // who wants the progress of a call, by its token
	noted      func()                  // for tests: called when a server has other tools; may be nil
}

// running is one server. It is guarded by the mutex of Servers, except for what never
// changes while a session lasts.
type running struct {
	config  server
	door    *door              // nil if nobody can sign in
	starts  sync.Mutex         // held while it is started, so that it is started once
	session *mcp.ClientSession // nil while it does not run
	process *proc.Process      // nil if it is not a program
	tools   []*mcp.Tool
	prompts []*mcp.Prompt
	changed bool // its tools and prompts may be others now
	problem string
}

// New reads a configuration. Nothing is started before Refresh.
func New(config terret.JSON, o Options) (*Servers, error) {
	servers, err := parse(config)
	if err != nil {
		return nil, err
	}
	s := &Servers{o: o, names: slices.Sorted(maps.Keys(servers)), all: map[string]*running{}, news: map[string]func(string){}}
	s.life, s.end = context.WithCancel(context.Background())
	for name, c := range servers {
		s.all[name] = &running{config: c, door: s.doorOf(name, c)}
	}
	return s, nil
}

// Only is New with only one of the servers, which must have an address.
func Only(config terret.JSON, name string, o Options) (*Servers, error) {
	if _, err := Address(config, name); err != nil {
		return nil, err
	}
	s, err := New(config, o)
	if err != nil {
		return nil, err
	}
	s.names, s.all = []string{name}, map[string]*running{name: s.all[name]}
	return s, nil
}

// doorOf is the door of a server, unless the configuration says how we get in.
func (s *Servers) doorOf(name string, c server) *door {
	if c.Type != "http" || s.o.Tokens == nil {
		return nil
	}
	for header := range c.Headers {
		if strings.EqualFold(header, "Authorization") {
			return nil
		}
	}
	return &door{address: c.URL, tokens: s.o.Tokens, config: c.OAuth, client: authorityClient(c.URL), shut: func() { s.stale(name) }}
}

// Refresh starts the servers that do not run, all at once, and asks those for their
// tools that say that they have changed. It blocks until all have answered, or half a
// minute has passed.
func (s *Servers) Refresh(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	var group sync.WaitGroup
	for _, name := range s.names {
		group.Go(func() { s.refresh(ctx, name) })
	}
	group.Wait()
}

func (s *Servers) refresh(ctx context.Context, name string) {
	r := s.all[name]
	r.starts.Lock()
	defer r.starts.Unlock()
	s.mu.Lock()
	session, stale := r.session, r.changed
	s.mu.Unlock()
	if session != nil && !stale {
		return
	}
	var process *proc.Process
	var err error
	if session == nil {
		session, process, err = s.connect(ctx, name, r.config)
	}
	var tools []*mcp.Tool
	var prompts []*mcp.Prompt
	if err == nil {
		tools, prompts, err = list(ctx, session)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r.problem = ""
	if err != nil {
		r.problem = reason(ctx, err, process)
		if r.door != nil && r.door.refused() { // whatever the library tried then
			r.problem = signInFirst
		}
		s.o.Log.Warn("an MCP server does not work", "server", name, "error", r.problem)
	}
	if session == nil {
		return
	}
	if r.session == nil {
		r.process, r.session = process, session
		s.watching.Go(func() { s.watch(name, session, process) })
	}
	r.tools, r.prompts, r.changed = tools, prompts, err != nil // then they are asked for again
	s.generation++
}

// reason says why a server does not work, in the server's own words if there are any.
func reason(ctx context.Context, err error, p *proc.Process) string {
	if ctx.Err() != nil {
		err = fmt.Errorf("it did not answer within %s", startPatience)
	}
	text := err.Error()
	if p != nil && p.StderrTail() != "" {
		text += ": " + p.StderrTail()
	}
	return text
}

// connect starts a server, or reaches it. Whoever gets a session closes it.
func (s *Servers) connect(ctx context.Context, name string, c server) (*mcp.ClientSession, *proc.Process, error) {
	options := &mcp.ClientOptions{
		ToolListChangedHandler:      func(context.Context, *mcp.ToolListChangedRequest) { s.stale(name) },
		PromptListChangedHandler:    func(context.Context, *mcp.PromptListChangedRequest) { s.stale(name) },
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { s.progressed(r.Params) },
	}
	options.Capabilities = &mcp.ClientCapabilities{}
	if s.o.Ask != nil {
		options.Capabilities.Elicitation = &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{}, URL: &mcp.URLElicitationCapabilities{}}
		options.ElicitationHandler = func(ctx context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return s.elicit(ctx, name, r.Params)
		}
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "terret", Version: "1"}, options)
	var transport mcp.Transport
	var process *proc.Process
	switch c.Type {
	case "stdio":
		env := slices.Clone(s.o.Environ)
		for _, k := range slices.Sorted(maps.Keys(c.Env)) {
			env = append(env, k+"="+c.Env[k])
		}
		argv := append([]string{c.Command}, c.Args...)
		var err error
		if s.o.Wrap != nil {
			if argv, err = s.o.Wrap(argv); err != nil {
				return nil, nil, err
			}
		}
		process, err = proc.Start(ctx, proc.Spec{
			Argv: argv, Dir: s.o.Dir, Env: env, Owner: s.o.Owner,
			OnStderr: func(line string) { s.o.Log.Debug("an MCP server says", "server", name, "line", line) },
		})
		if err != nil {
			return nil, nil, err
		}
		transport = &mcp.IOTransport{Reader: process.Stdout(), Writer: process.Stdin()}
	case "sse":
		transport = &mcp.SSEClientTransport{Endpoint: c.URL, HTTPClient: withHeaders(c.URL, c.Headers)}
	default:
		t := &mcp.StreamableClientTransport{Endpoint: c.URL, HTTPClient: withHeaders(c.URL, c.Headers)}
		if d := s.all[name].door; d != nil {
			t.OAuthHandler = d
		}
		transport = t
	}
	// A connection may live as long as the context that it was made with, so that only
	// the wait for it is bounded.
	life, end := context.WithCancel(s.life)
	release := context.AfterFunc(ctx, end)
	session, err := client.Connect(life, transport, nil)
	if err == nil && !release() {
		err = errors.Join(context.Cause(ctx), session.Close())
	}
	if err != nil {
		end()
		if process != nil {
			_, _ = process.Kill() // what it said is the error
		}
		return nil, process, err
	}
	context.AfterFunc(s.life, end)
	return session, process, nil
}

// stale notes that a server has other tools or prompts.
func (s *Servers) stale(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all[name].changed = true
	s.generation++
	if s.noted != nil {
		s.noted()
	}
}

// watch notes the end of a server, so that it is started again. It ends with it.
func (s *Servers) watch(name string, session *mcp.ClientSession, process *proc.Process) {
	err := session.Wait()
	_ = session.Close() // it is gone; this ends what waits for it
	if process != nil {
		_, _ = process.Kill() // all that it started ends with it
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.all[name]
	if r.session == session {
		r.session, r.process, r.tools, r.prompts, r.problem = nil, nil, nil, nil, "it ended"
		if err != nil {
			r.problem += ": " + err.Error()
		}
	}
}

// list asks for the tools and prompts of a server, as far as it says that it has any.
func list(ctx context.Context, session *mcp.ClientSession) (out []*mcp.Tool, prompts []*mcp.Prompt, err error) {
	has := session.InitializeResult().Capabilities
	if has == nil {
		has = &mcp.ServerCapabilities{}
	}
	if has.Tools != nil || has.Prompts == nil && has.Resources == nil {
		for t, err := range session.Tools(ctx, nil) {
			if err != nil {
				return nil, nil, err
			}
			if out = append(out, t); len(out) > maxTools {
				return nil, nil, fmt.Errorf("it has more than %d tools", maxTools)
			}
		}
	}
	if has.Prompts != nil {
		for p, err := range session.Prompts(ctx, nil) {
			if err != nil {
				return nil, nil, err
			}
			if prompts = append(prompts, p); len(prompts) > maxPrompts {
				return nil, nil, fmt.Errorf("it has more than %d prompts", maxPrompts)
			}
		}
	}
	return out, prompts, nil
}

// progressed passes on how far a call is.
func (s *Servers) progressed(p *mcp.ProgressNotificationParams) {
	token, _ := p.ProgressToken.(string)
	s.mu.Lock()
	say := s.news[token]
	s.mu.Unlock()
	if say == nil {
		return
	}
	text := strings.TrimSpace(fmt.Sprintf("%s %g", brief.Cut(p.Message, maxTold), p.Progress))
	if p.Total > 0 {
		text += fmt.Sprintf(" of %g", p.Total)
	}
	say(text + "\n")
}

// NeedsAuth is the status of a server at which a person must sign in.
const NeedsAuth = "needs-auth"

const signInFirst = "a person must sign in: `terret mcp login` does it, or the tool " + signIn + " in a session"

// Generation counts the changes of the servers' tools and prompts.
func (s *Servers) Generation() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.generation
}

// States say how the servers are.
func (s *Servers) States() []terret.MCPServer {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []terret.MCPServer
	for _, name := range s.names {
		r := s.all[name]
		state := terret.MCPServer{Name: name, Status: "connected", Error: r.problem}
		switch {
		case r.door != nil && r.door.refused():
			state.Status, state.Error = NeedsAuth, signInFirst
		case r.session == nil || r.problem != "":
			state.Status = "failed"
		}
		out = append(out, state)
	}
	return out
}

// Close ends all servers, and waits until their processes are gone.
func (s *Servers) Close() error {
	s.mu.Lock()
	var ended []*running
	for _, r := range s.all {
		if r.session != nil {
			ended = append(ended, &running{session: r.session, process: r.process})
			r.session = nil
		}
	}
	s.mu.Unlock()
	errs := make([]error, len(ended))
	var group sync.WaitGroup
	for i, r := range ended {
		group.Go(func() {
			if r.process == nil {
				errs[i] = r.session.Close()
				return
			}
			ctx, cancel := context.WithTimeout(context.Background(), stopGrace)
			defer cancel()
			_, errs[i] = r.process.Stop(ctx)
			_ = r.session.Close() // the process is gone
		})
	}
	group.Wait()
	s.end()
	s.watching.Wait()
	return errors.Join(errs...)
}
