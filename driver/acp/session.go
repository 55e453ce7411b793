package acp

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/seat"
	"github.com/terret-dev/terret/internal/rpc"
)

// launch is all that is fixed when a session is opened in a process.
type launch struct {
	servers terret.JSON // MCP servers, in the form of a config file
	dirs    []string
	append  string // to the system prompt
}

// launchOf is what the agent can be told of those settings.
func (p Profile) launchOf(in terret.Settings) launch {
	l := launch{servers: in.MCP, dirs: in.AddDirs}
	if p.quirks.meta != nil {
		l.append = in.SystemAppend
	}
	return l
}

func (l launch) equal(other launch) bool {
	return bytes.Equal(l.servers, other.servers) && slices.Equal(l.dirs, other.dirs) && l.append == other.append
}

// state is what the agent said of its session last.
type state struct {
	opened
	mode, model string
	commands    []terret.Command
	listed      chan struct{} // closed when it has listed its commands
	context     terret.ContextUsage
	cost        terret.Cost  // of the session, as the agent counts it
	usage       terret.Usage // of the process, as the agent counts it
	servers     []string     // names of MCP servers
}

// open opens the session in a process that was greeted: the one that it goes on with,
// or a new one.
func (a *agent) open(ctx context.Context, p *process) (events []terret.Event, err error) {
	native, source := a.native, "new"
	var s opened
	var changed *terret.SessionNativeID
	if native != "" {
		source = "resume"
		s, err = a.reopen(ctx, p, native)
		var refused *rpc.Error
		if errors.As(err, &refused) && refused.Code != codeAuthRequired {
			if a.Req.Settings.OnStale == terret.OnStaleError {
				return nil, terret.Errorf(terret.CodeResumeFailed, "%s has lost session %s: %s", p.title, native, p.Redact.String(refusalText(refused)))
			}
			changed = &terret.SessionNativeID{Old: terret.NullString(native), Reason: "stale", Error: p.Redact.String(refusalText(refused))}
			native, source = "", "new"
		} else if err != nil {
			return nil, a.openError(p, err)
		}
	}
	if native == "" {
		if err := p.call(ctx, methodNew, a.sessionParams(p, ""), &s); err != nil {
			return nil, a.openError(p, err)
		}
		native = s.SessionID
	}
	if native == "" {
		return nil, terret.Errorf(terret.CodeMalformedOutput, "%s opened a session and did not say which", p.title)
	}
	a.telling.Lock()
	a.native = native
	a.state.replace(s)
	a.state.servers = serverNames(p.launch.servers)
	mode, model := a.state.mode, a.state.model
	a.telling.Unlock()
	if changed != nil {
		changed.New = native
		events = append(events, terret.Event{Data: *changed})
	}
	// The mode is the one that turns have, not the one that the agent began in: the
	// session keeps it, and has it again after a resume.
	return append(events, terret.Event{Data: terret.SessionStart{
		Source: source, Agent: a.d.p.Name, AgentVersion: p.about.AgentInfo.Version, NativeID: native, Cwd: a.Req.Session.Cwd,
		Model: cmp.Or(a.session.model, model), PermissionMode: cmp.Or(a.session.mode, a.d.p.Mode, mode), MCPServers: startedServers(p.launch.servers),
	}}), nil
}

// reopen goes on with a session. What the agent replays of it is in the log already.
func (a *agent) reopen(ctx context.Context, p *process, native string) (s opened, err error) {
	a.telling.Lock()
	a.replaying = true
	a.telling.Unlock()
	defer func() {
		a.telling.Lock()
		a.replaying = false
		a.telling.Unlock()
	}()
	method := methodLoad
	switch c := p.about.Capabilities; {
	case has(c.Session.Resume) && !a.d.p.quirks.load: // the same without the replay
		method = methodResume
	case !c.LoadSession:
		return s, &rpc.Error{Code: rpc.CodeMethodNotFound, Message: "it cannot go on with a session"}
	}
	if f := a.d.p.quirks.beforeLoad; f != nil {
		if err := f(a.env, native, time.Now().UTC()); err != nil {
			p.Log.Warn("the agent's own file of the session", "error", err)
		}
	}
	err = p.call(ctx, method, a.sessionParams(p, native), &s)
	return s, err
}

// sessionParams are those with which a session is opened.
func (a *agent) sessionParams(p *process, native string) object {
	params := object{"cwd": a.Req.Session.Cwd, "mcpServers": servers(p.launch.servers)}
	if native != "" {
		params["sessionId"] = native
	}
	if len(p.launch.dirs) > 0 && a.d.p.quirks.dirs == "" {
		params["additionalDirectories"] = p.launch.dirs
	}
	if f := a.d.p.quirks.meta; f != nil {
		params["_meta"] = f(p.launch, a.Req.Trusted)
	}
	return params
}

// openError says why there is no session.
func (a *agent) openError(p *process, err error) error {
	var refused *rpc.Error
	if !errors.As(err, &refused) {
		return err
	}
	text := p.Redact.String(refusalText(refused))
	if refused.Code == codeAuthRequired || saysUnauthenticated(text) {
		return a.notSignedIn(text)
	}
	return terret.Errorf(terret.CodeStartupRefused, "%s opened no session: %s", p.title, text)
}

// replace takes over what the agent says of all modes, models and options.
func (s *state) replace(o opened) {
	s.opened = o
	if o.Modes != nil {
		s.mode = o.Modes.Current
	}
	if o.Models != nil {
		s.model = o.Models.Current
	}
	s.options(o.Options)
}

// options takes over a whole list of options: setting one may remove others.
func (s *state) options(list []option) {
	s.Options = list
	if o := s.option("mode"); o != nil {
		s.mode = o.current()
	}
	if o := s.option("model"); o != nil {
		s.model = o.current()
	}
}

func readServers(config terret.JSON) map[string]seat.Server {
	all, _ := seat.Servers(config) // what can be read is read
	return all
}

func serverNames(config terret.JSON) []string { return slices.Sorted(maps.Keys(readServers(config))) }

// servers are MCP servers in the words of the protocol. It is never nil.
func servers(config terret.JSON) []object {
	out := []object{}
	all := readServers(config)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		s := all[name]
		if s.URL != "" {
			out = append(out, object{"type": cmp.Or(s.Type, "http"), "name": name, "url": s.URL, "headers": pairs(s.Headers)})
			continue
		}
		args := s.Args
		if args == nil {
			args = []string{}
		}
		out = append(out, object{"name": name, "command": s.Command, "args": args, "env": pairs(s.Env)})
	}
	return out
}

// pairs are the entries of a map, sorted. It is never nil.
func pairs(m map[string]string) []object {
	out := []object{}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		out = append(out, object{"name": name, "value": m[name]})
	}
	return out
}

func startedServers(config terret.JSON) []terret.MCPServer {
	var out []terret.MCPServer
	for _, name := range serverNames(config) {
		out = append(out, terret.MCPServer{Name: name})
	}
	return out
}

// checkSettings refuses what the agent would misread.
func checkSettings(in terret.Settings) error {
	for field, v := range map[string]string{"model": in.Model, "permission_mode": in.PermissionMode, "effort": in.Effort} {
		if strings.ContainsFunc(v, unicode.IsControl) {
			return terret.Invalid(field, "%q holds a control character", v)
		}
	}
	return seat.CheckObjects(map[string]terret.JSON{"mcp": in.MCP})
}
