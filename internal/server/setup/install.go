package setup

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/lazyregexp"
	"github.com/terret-dev/terret/internal/proc"
	"github.com/terret-dev/terret/internal/redact"
)

const (
	installLimit = 15 * time.Minute
	maxShown     = 256 << 10 // bytes of an installation's output that are kept
	maxLine      = 4 << 10   // bytes of a line of it
)

// Installer is the command that installs an agent's program.
type Installer struct {
	Agent   string `json:"agent"`
	Title   string `json:"title"`
	Command string `json:"command"`
	// Runs says that it can be run from here. Other commands are for a person to read first.
	Runs    bool   `json:"runs"`
	Missing string `json:"missing,omitempty" doc:"What must be there first, and how to get it."`
}

// InstallState is how far an installation is.
type InstallState string

// The states of an installation.
const (
	Installing InstallState = "running"
	Installed  InstallState = "done"
	Failed     InstallState = "failed"
	Cancelled  InstallState = "cancelled"
)

// Installation is one that runs, or the last one that ran.
type Installation struct {
	Agent   string        `json:"agent"`
	Command string        `json:"command"`
	By      string        `json:"by"`
	BeganAt terret.Time   `json:"began_at"`
	State   InstallState  `json:"state" enum:"running,done,failed,cancelled"`
	Why     string        `json:"why,omitempty" doc:"Why it failed."`
	Probe   *terret.Probe `json:"probe,omitempty" doc:"What is known of the agent since it has ended."`
}

// Output is a piece of what an installation prints.
type Output struct {
	Installation
	Text   string // whole lines
	Next   int64  // how many bytes there were with it
	Missed bool   // it does not follow what came before
	Ended  bool   // nothing more comes
	// Changed says that the state is not that of the last piece.
	Changed bool
}

// installing is an installation with its output.
type installing struct {
	cancel context.CancelCauseFunc

	mu      sync.Mutex
	state   Installation
	text    []byte // the end of the output
	dropped int64  // bytes before it
	changed chan struct{}
	over    chan struct{}
}

// installable is a command of a package manager: plain words only, so that no shell is needed.
var installable = lazyregexp.New(`^npm install -g @?[a-z0-9][a-z0-9._-]*(/[a-z0-9][a-z0-9._-]*)?@[0-9][0-9A-Za-z.-]*$`)

// Installers lists the commands that install agents.
func (s *Setup) Installers() []Installer {
	out := []Installer{}
	for _, d := range s.o.Agents.Drivers() {
		if i, ok := s.installer(d); ok {
			out = append(out, i)
		}
	}
	return out
}

func (s *Setup) installer(d terret.Driver) (Installer, bool) {
	about := terret.DescriptionOf(d)
	i := Installer{Agent: d.Name(), Title: about.Title, Command: about.Install}
	if i.Command == "" || !s.o.Agents.BuiltIn(i.Agent) {
		return i, false
	}
	if i.Runs = installable.MatchString(i.Command); i.Runs {
		if program, _, _ := strings.Cut(i.Command, " "); s.look(program) == "" {
			i.Missing = program + " was not found: it comes with Node.js, which has installers at https://nodejs.org and is in the package managers of most systems; install it, and start the server again if its PATH has changed"
		}
	}
	return i, true
}

// look finds a program in the PATH of the environment; empty if it is not there.
func (s *Setup) look(program string) string {
	for _, dir := range filepath.SplitList(getenv(s.o.Environ)("PATH")) {
		if !filepath.IsAbs(dir) { // it could be a repository
			continue
		}
		if path, err := exec.LookPath(filepath.Join(dir, program)); err == nil {
			return path
		}
	}
	return ""
}

// Install begins to install an agent. It runs until it ends, until [Setup.CancelInstall], or
// until Close; one at a time.
func (s *Setup) Install(ctx context.Context, agent, by string) (Installation, error) {
	var i Installer
	found := false
	for _, d := range s.o.Agents.Drivers() {
		if d.Name() == agent {
			i, found = s.installer(d)
		}
	}
	switch {
	case !found:
		return Installation{}, terret.Errorf(terret.CodeNotFound, "there is no installer of an agent %.64q", agent)
	case !i.Runs:
		return Installation{}, terret.Errorf(terret.CodeUnsupported, "%s is installed by a command that is not run from here; read it, and run it in a terminal: %s", agent, i.Command)
	case i.Missing != "":
		return Installation{}, terret.Errorf(terret.CodeStartupRefused, "%s", i.Missing)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return Installation{}, terret.Errorf(terret.CodeStartupRefused, "the server is stopping")
	case s.install != nil && s.install.now().State == Installing:
		return Installation{}, terret.Errorf(terret.CodeConflict, "%s is being installed; wait until that has ended, or cancel it", s.install.now().Agent)
	}
	argv := strings.Fields(i.Command)
	life, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	n := &installing{
		cancel: cancel, changed: make(chan struct{}), over: make(chan struct{}),
		state: Installation{Agent: agent, Command: i.Command, By: by, BeganAt: terret.Now(), State: Installing},
	}
	secrets := redact.New(redact.FromEnv(s.o.Environ))
	p, err := proc.Start(ctx, proc.Spec{
		Argv: append([]string{s.look(argv[0])}, argv[1:]...), Dir: s.o.Dir, Owner: s.o.Owner,
		Env:      append(proc.FilterEnv(s.o.Environ), "NO_COLOR=1", "npm_config_fund=false", "npm_config_update_notifier=false"),
		OnStderr: func(line string) { n.print(secrets.String(line)) },
	})
	if err != nil {
		cancel(nil)
		return Installation{}, terret.Errorf(terret.CodeProcessFailed, "%w", err)
	}
	_ = p.Stdin().Close()
	s.install = n
	n.print("$ " + i.Command)
	s.running.Go(func() { s.follow(life, n, p, secrets) })
	return n.now(), nil
}

var (
	errCancelled = errors.New("a person cancelled it")
	errTooLong   = fmt.Errorf("it took longer than %s", installLimit)
)

// follow waits for the end of an installation, and looks what has become of the agent.
func (s *Setup) follow(ctx context.Context, n *installing, p *proc.Process, secrets *redact.Redactor) {
	defer n.cancel(nil)
	defer close(n.over)
	ctx, stop := context.WithTimeoutCause(ctx, installLimit, errTooLong)
	defer stop()
	defer context.AfterFunc(ctx, func() { _, _ = p.Stop(ctx) })()
	lines := bufio.NewReaderSize(p.Stdout(), maxLine)
	for {
		line, err := lines.ReadSlice('\n')
		if len(line) > 0 {
			n.print(secrets.String(strings.TrimRight(string(line), "\r\n")))
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			if !errors.Is(err, io.EOF) {
				n.print("(its output cannot be read any more)")
			}
			break
		}
	}
	_ = p.Stdout().Close()
	<-p.Done()
	exit, err := p.Stop(context.WithoutCancel(ctx))
	state, why := Installed, ""
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errTooLong):
		state, why = Failed, cause.Error()
	case cause != nil:
		state = Cancelled
	case err != nil:
		state, why = Failed, err.Error()
	case exit.Code != 0 || exit.Signal != "":
		state, why = Failed, exit.String()
	}
	s.o.Agents.Forget(n.now().Agent)
	probe, ok := s.o.Agents.One(s.life, n.now().Agent)
	n.change(func(i *Installation) {
		if i.State, i.Why = state, why; ok {
			i.Probe = &probe
		}
	})
	s.o.Log.Info("an installation ended", "agent", n.now().Agent, "state", state)
}

// CancelInstall ends the installation that runs, with all that it has started, and returns
// how it ended. What it has written so far stays.
func (s *Setup) CancelInstall(ctx context.Context) (Installation, error) {
	s.mu.Lock()
	n := s.install
	s.mu.Unlock()
	if n == nil || n.now().State != Installing {
		return Installation{}, terret.Errorf(terret.CodeConflict, "nothing is being installed")
	}
	n.cancel(errCancelled)
	select {
	case <-n.over:
		return n.now(), nil
	case <-ctx.Done():
		return Installation{}, context.Cause(ctx)
	}
}

// Installation returns the one that runs, or else the last one.
func (s *Setup) Installation() (Installation, error) {
	n, err := s.lastInstall()
	if err != nil {
		return Installation{}, err
	}
	return n.now(), nil
}

func (s *Setup) lastInstall() (*installing, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.install == nil {
		return nil, terret.Errorf(terret.CodeNotFound, "nothing has been installed since the server was started")
	}
	return s.install, nil
}

// Follow returns a function that waits for what the installation prints after so many bytes.
func (s *Setup) Follow(after int64) (next func(context.Context) (Output, error), err error) {
	n, err := s.lastInstall()
	if err != nil {
		return nil, err
	}
	state := InstallState("")
	return func(ctx context.Context) (Output, error) {
		for {
			n.mu.Lock()
			out, changed := Output{Installation: n.state, Next: n.dropped + int64(len(n.text)), Ended: n.state.State != Installing}, n.changed
			if after < n.dropped || after > out.Next {
				out.Missed = after != 0 || n.dropped > 0
				after = n.dropped
			}
			out.Text = string(n.text[after-n.dropped:])
			n.mu.Unlock()
			if out.Changed = state != out.State; out.Text != "" || out.Changed {
				after, state = out.Next, out.State
				return out, nil
			}
			select {
			case <-changed:
			case <-ctx.Done():
				return Output{}, context.Cause(ctx)
			}
		}
	}, nil
}

func (n *installing) now() Installation {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.state
}

// print adds a line to the output, of which it keeps the end.
func (n *installing) print(line string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.text = append(append(n.text, line...), '\n')
	if over := len(n.text) - maxShown; over > 0 {
		n.text = append(n.text[:0], n.text[over:]...)
		n.dropped += int64(over)
	}
	n.tell()
}

func (n *installing) change(f func(*Installation)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	f(&n.state)
	n.tell()
}

// tell wakes all who follow; n.mu is held.
func (n *installing) tell() {
	close(n.changed)
	n.changed = make(chan struct{})
}
