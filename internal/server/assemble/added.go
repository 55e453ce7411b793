package assemble

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/all"
	"github.com/terret-dev/terret/internal/server/config"
)

// stamp tells one state of a file from another.
type stamp struct {
	at   time.Time
	size int64
	ok   bool // the file was looked at
}

func stampOf(path string) stamp {
	info, err := os.Stat(path)
	if err != nil {
		return stamp{ok: true} // there is none
	}
	return stamp{info.ModTime(), info.Size(), true}
}

// refresh takes over what the user's file adds and removes, if it has changed. A file
// that cannot be read changes nothing. a.list is held.
func (a *Agents) refresh() {
	path := a.options.UserFile
	if path == "" {
		return
	}
	now := stampOf(path)
	if now == a.file {
		return
	}
	a.file = now
	file, err := config.User(path, a.options.Env)
	if err != nil {
		a.options.Log.Warn("the configuration cannot be read; its agents stay as they were", "error", err)
		return
	}
	a.takeProviders(file)
	user := file.Agents
	for name := range a.user {
		if _, still := user[name]; !still && a.added[name] != nil {
			delete(a.added, name)
			a.news++
		}
	}
	for name, one := range user {
		if reflect.DeepEqual(one, a.user[name]) || a.user == nil && a.added[name] != nil || isOne(a.fixed, name) {
			continue
		}
		d, err := all.Add(driversOf(a.options, user), a.fixed, name)
		if err != nil {
			a.options.Log.Warn("the configuration adds an agent that cannot be used", "agent", name, "error", err)
			continue
		}
		a.added[name] = d
		a.news++
	}
	a.user = user
}

func isOne(drivers []terret.Driver, name string) bool {
	for _, d := range drivers {
		if d.Name() == name {
			return true
		}
	}
	return false
}

// NewAgent is an agent to add: a program that speaks ACP.
type NewAgent struct {
	Name string
	Argv []string // the program and its arguments
	Env  []string // variables it may see although their names look secret
	// Force adds it even if there is no such program yet, or it does not speak ACP.
	Force bool
	// ForceFlag is what errors call Force; by default force, as the API does.
	ForceFlag string
}

// maxAgentName bounds a name, in characters: it is shown in tables.
const maxAgentName = 64

func (n NewAgent) check() error {
	if err := config.CheckName(n.Name); err != nil {
		return terret.Invalid("name", "%w", err)
	}
	switch {
	case utf8.RuneCountInString(n.Name) > maxAgentName:
		return terret.Invalid("name", "it must have at most %d characters", maxAgentName)
	case len(n.Argv) == 0 || n.Argv[0] == "":
		return terret.Invalid("argv", "say which program to start")
	case strings.ContainsAny(n.Argv[0], `/\`) && !filepath.IsAbs(n.Argv[0]):
		return terret.Invalid("argv", "%q is a relative path; write the full path, or a name to look up in PATH", n.Argv[0])
	}
	for _, arg := range n.Argv {
		if strings.ContainsRune(arg, 0) || !utf8.ValidString(arg) {
			return terret.Invalid("argv", "%q cannot be passed to a program", arg)
		}
	}
	_, err := exec.LookPath(n.Argv[0])
	switch {
	case err == nil || n.Force:
		return nil
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return terret.Invalid("argv", "there is no program %s; install it first, or %s", n.Argv[0], n.anyway())
	}
	return terret.Invalid("argv", "%s cannot be started: %w; %s", n.Argv[0], err, n.anyway())
}

func (n NewAgent) anyway() string {
	return "use " + cmp.Or(n.ForceFlag, "force") + " to add it anyway"
}

// Add adds an agent to the user's file, and returns what is known about it. From then
// on there is such an agent, in every process that looks.
func (a *Agents) Add(ctx context.Context, n NewAgent) (terret.Probe, error) {
	if err := n.check(); err != nil {
		return terret.Probe{}, err
	}
	one := config.Agent{Path: n.Argv[0], Args: n.Argv[1:], Env: n.Env, ACP: true}
	if name := a.Name(n.Name); name != n.Name || isOne(a.fixed, name) {
		return terret.Probe{}, terret.Errorf(terret.CodeConflict, "%s is built in; choose another name, or set agents.%s.path in %s to use another program", n.Name, name, cmp.Or(a.options.UserFile, "the configuration"))
	}
	if a.options.UserFile == "" {
		return terret.Probe{}, terret.Errorf(terret.CodeUnsupported, "there is no configuration file to add agents to")
	}
	d, err := all.Add(driversOf(a.options, map[string]config.Agent{n.Name: one}), a.fixed, n.Name)
	if err != nil {
		return terret.Probe{}, err
	}
	probes := all.Probes(ctx, []terret.Driver{d})
	if ctx.Err() != nil {
		return terret.Probe{}, context.Cause(ctx)
	}
	if !probes[0].Found && !n.Force {
		return terret.Probe{}, terret.Invalid("argv", "%s; %s", probes[0].Fix, n.anyway())
	}
	switch err := config.AddAgent(ctx, a.options.UserFile, n.Name, one, a.options.Env); {
	case errors.Is(err, config.ErrExists):
		return terret.Probe{}, terret.Errorf(terret.CodeConflict, "there is an agent %q already; remove it first, or choose another name", n.Name)
	case err != nil:
		return terret.Probe{}, FileError(err)
	}
	a.Look()
	return a.marked(probes)[0], nil
}

// FileError is an error of changing the user's file. What is wrong in it, or with what
// it was to hold, is for the person to correct.
func FileError(err error) error {
	if _, system := errors.AsType[*fs.PathError](err); system || errors.Is(err, context.DeadlineExceeded) {
		return terret.Errorf(terret.CodeInternal, "%w", err)
	}
	return terret.Errorf(terret.CodeInvalidRequest, "%w", err)
}

// Look reads the user's file again, whatever its time says.
func (a *Agents) Look() {
	a.list.Lock()
	defer a.list.Unlock()
	a.file = stamp{}
	a.refresh()
}

// removable refuses agents that are not the user's to remove.
func (a *Agents) removable(name string) error {
	a.list.Lock()
	defer a.list.Unlock()
	a.refresh()
	_, users := a.user[name]
	switch {
	case isOne(a.fixed, name):
		return terret.Errorf(terret.CodeConflict, "%s is built in and cannot be removed", name)
	case a.added[name] == nil && !users:
		return terret.Errorf(terret.CodeNotFound, "there is no agent %.64q; `terret agents` lists them", name)
	case !users:
		return terret.Errorf(terret.CodeConflict, "%s is added by the project's .terret/config.jsonc; remove it there", name)
	}
	return nil
}

// workingStates are those in which a session needs its agent.
var workingStates = []terret.SessionState{
	terret.SessionStarting, terret.SessionBusy, terret.SessionWaiting, terret.SessionCompacting, terret.SessionRetrying, terret.SessionInterrupting,
}

// RemoveAgent removes an agent that was added. It refuses while a session of the agent
// is at work. The sessions stay; they can be read, but not prompted.
func (m *Sessions) RemoveAgent(ctx context.Context, name, by string) error {
	if err := m.Agents.removable(name); err != nil {
		return err
	}
	working, err := m.Store.ListSessions(ctx, terret.SessionFilter{Agent: name, States: workingStates, Limit: 1})
	if err != nil {
		return err
	}
	if len(working.Items) > 0 {
		return terret.Errorf(terret.CodeSessionBusy, "%s is at work in session %s; stop it first", name, working.Items[0].ID)
	}
	if _, err := config.RemoveAgent(ctx, m.Agents.options.UserFile, name, m.Agents.options.Env); err != nil {
		return FileError(err)
	}
	m.Agents.Look()
	return m.closeIdle(ctx, name, by)
}

// closeIdle ends the agents that wait for their next prompt.
func (m *Sessions) closeIdle(ctx context.Context, agent, by string) error {
	var failed error
	for cursor := ""; ; {
		page, err := m.Store.ListSessions(ctx, terret.SessionFilter{Agent: agent, Limit: 500, Cursor: cursor})
		if err != nil {
			return errors.Join(failed, err)
		}
		for _, s := range page.Items {
			if s.Owner != "" {
				failed = errors.Join(failed, m.Engine.CloseSession(ctx, s.ID, by))
			}
		}
		if cursor = page.Next; cursor == "" {
			return failed
		}
	}
}
