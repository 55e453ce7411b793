package httpapi

import (
	"context"
	"net/http"
	"path/filepath"
	"sync"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/server/access"
	"github.com/terret-dev/terret/internal/server/assemble"
	"github.com/terret-dev/terret/internal/server/presets"
	"github.com/terret-dev/terret/policy"
)

func (s *Server) sessionRoutes() {
	handle(s, route{
		method: "POST", path: "/v1/sessions", id: "create-session", tag: tagSessions, scope: access.Prompt, status: http.StatusCreated,
		summary: "Create a session",
		long:    "The agent starts at the first prompt. Anything that makes the session less careful (a permissive policy, allow rules, tools that run without asking, servers to start, time limits, unenforced) needs a token that may decide. If its agent cannot be held to the session's restrictions, this fails with code unsupported and field unenforced; send unenforced to create it anyway. The notes say what to know before the first prompt, such as that nobody is signed in to the agent.",
		fails:   stored(terret.CodeAgentNotFound, terret.CodeUnsupported),
	}, s.createSession)
	handle(s, route{
		method: "GET", path: "/v1/sessions", id: "list-sessions", tag: tagSessions, scope: access.View,
		summary: "List sessions, most recently updated first",
		long:    "All filters must match. A token for one session lists that session only.",
		fails:   stored(),
	}, s.listSessions)
	handle(s, route{
		method: "GET", path: "/v1/sessions/{id}", id: "get-session", tag: tagSessions, scope: access.View,
		summary: "Get a session",
		long:    "The configuration of MCP servers and subagents is shown only to tokens that may decide: it may hold secrets.",
		fails:   inSession(),
	}, s.getSession)
	handle(s, route{
		method: "PATCH", path: "/v1/sessions/{id}", id: "update-session", tag: tagSessions, scope: access.Prompt,
		summary: "Change a session's title, model, policy or permission mode",
		long:    "Missing fields stay unchanged. Policy and permission mode need a token that may decide. A running agent is told at once; if it cannot change, nothing does.",
		fails:   inSession(fromAgent...),
		reword:  done, views: []string{"hive"},
	}, s.updateSession)
	handle(s, route{
		method: "DELETE", path: "/v1/sessions/{id}", id: "delete-session", tag: tagSessions, scope: access.Prompt, status: http.StatusNoContent,
		summary: "Delete a session and its log",
		long:    "If a turn is running, this needs force=true, which kills the turn. Its own worktree, or the clone that was made for it, is removed too, unless that would lose changes, commits or, without force, files that git ignores; then the response is 200 and says so.",
		fails:   inSession(terret.CodeSessionBusy),
		answers: func(r huma.Registry) map[string]*huma.Response {
			return map[string]*huma.Response{
				"204": {Description: "Deleted"},
				"200": written("Deleted, but its worktree is kept", r.Schema(typeOf[assemble.Deleted](), true, "Deleted"), "application/json"),
			}
		},
	}, s.deleteSession)
}

// SessionPath names a session in the path.
type SessionPath struct {
	ID string `path:"id" doc:"The session's id."`
}

// session returns the session of a path, if the caller may see it.
func (s *Server) session(ctx context.Context, id string) (terret.Session, error) {
	if err := maySee(ctx, id); err != nil {
		return terret.Session{}, err
	}
	return s.store.Session(ctx, id)
}

// liveSession is session, without reading the store if this process works on it.
func (s *Server) liveSession(ctx context.Context, id string) (terret.Session, error) {
	if err := maySee(ctx, id); err != nil {
		return terret.Session{}, err
	}
	if live, ok := s.engine.Live(id); ok {
		return live, nil
	}
	return s.store.Session(ctx, id)
}

func maySee(ctx context.Context, id string) error {
	if err := checkID(id); err != nil {
		return err
	}
	return mayTouch(ctx, id)
}

// shown is a session as the caller may see it. The configuration of servers and
// subagents may hold secrets: only those who could start them see it.
func shown(id access.Identity, s terret.Session) terret.Session {
	if !id.Scope.Includes(access.Decide) {
		s.Options.MCP, s.Options.Agents = nil, nil
	}
	return s
}

// replySession responds with a session.
func (s *Server) replySession(ctx context.Context) func(terret.Session, error) (*body[terret.Session], error) {
	return func(found terret.Session, err error) (*body[terret.Session], error) {
		return reply(shown(access.From(ctx), found), err)
	}
}

type newSession struct {
	Agent            string              `json:"agent,omitempty" doc:"The agent to use. Default: the configured one, or else one that is installed."`
	Preset           string              `json:"preset,omitempty" doc:"The id of a preset, whose settings count where this request has none."`
	Model            string              `json:"model,omitempty"`
	Cwd              string              `json:"cwd,omitempty" doc:"The folder to work in; it must be inside one of the roots. Either this or repo."`
	Repo             string              `json:"repo,omitempty" maxLength:"2000" doc:"The git repository to clone and work in, such as https://host/path or git@host:path. In a fleet the node with the fewest sessions clones it. It needs scope decide."`
	Labels           []string            `json:"labels,omitempty" maxItems:"20" doc:"With repo: labels that the node must have."`
	Persona          string              `json:"persona,omitempty"`
	Mode             terret.Mode         `json:"mode,omitempty" enum:"workbench,pipeline,direct"`
	Policy           terret.Policy       `json:"policy,omitempty" enum:"ask,accept-edits,rules,plan,deny-unless-allowed,auto-approve"`
	PermissionMode   string              `json:"permission_mode,omitempty" doc:"The agent's own permission mode."`
	Title            string              `json:"title,omitempty" maxLength:"500"`
	Tools            []string            `json:"tools,omitempty" doc:"The agent's tools. Default: all; an empty list means none."`
	DisallowedTools  []string            `json:"disallowed_tools,omitempty" doc:"Tools to remove."`
	AutoApproveTools []string            `json:"auto_approve_tools,omitempty" doc:"Tools that run without asking."`
	Allow            []string            `json:"allow,omitempty" doc:"Rules for tool uses to allow, such as Bash(git *)."`
	Deny             []string            `json:"deny,omitempty" doc:"Rules for tool uses to deny."`
	Ask              []string            `json:"ask,omitempty" doc:"Rules for tool uses to ask a person about, even if another rule allows them."`
	SettingSources   []string            `json:"setting_sources,omitempty" doc:"Which of its own settings the agent reads."`
	AddDirs          []string            `json:"add_dirs,omitempty" doc:"Additional folders the agent may work in."`
	Agents           terret.JSON         `json:"agents,omitempty" doc:"Subagents, in the agent's own format."`
	MCP              terret.JSON         `json:"mcp,omitempty" doc:"MCP servers, in the agent's own format."`
	Effort           string              `json:"effort,omitempty"`
	FallbackModel    string              `json:"fallback_model,omitempty"`
	OutputSchema     terret.JSON         `json:"output_schema,omitempty" doc:"A JSON schema that the answer must follow."`
	MaxTurns         int                 `json:"max_turns,omitempty" minimum:"0" doc:"Maximum number of steps per turn."`
	MaxCostUSD       terret.Cost         `json:"max_cost_usd,omitempty" minimum:"0"`
	SystemAppend     string              `json:"system_append,omitempty" doc:"Text to append to the system prompt."`
	OneShot          bool                `json:"one_shot,omitempty" doc:"Use a new agent process for each turn."`
	NativeID         string              `json:"native_id,omitempty" doc:"The agent's own session to resume."`
	BasePrompt       bool                `json:"base_prompt,omitempty" doc:"Add Terret's own text to the system prompt; a persona and the modes workbench and pipeline always do."`
	Gates            []terret.Gate       `json:"gates,omitempty" doc:"Where the agent waits for a decision, besides asking for permission: pre_tool, prompt, stop, subagent_stop or compact."`
	Timeouts         map[terret.Gate]int `json:"timeouts,omitempty" doc:"How many seconds requests wait, by gate. Zero means no limit."`
	Worktree         bool                `json:"worktree,omitempty" doc:"Work in the session's own git worktree, on its own branch, instead of cwd."`
	Branch           string              `json:"branch,omitempty" maxLength:"500" doc:"With worktree: what to name its branch after, such as the first prompt. Default: the title, or else the session's id."`
	KeepRaw          bool                `json:"keep_raw,omitempty" doc:"Keep the agent's own messages in the log."`
	Unenforced       bool                `json:"unenforced,omitempty" doc:"Create the session even if its agent cannot be held to the session's restrictions."`
	Sandbox          terret.Sandbox      `json:"sandbox,omitempty" enum:"off,workspace-write,read-only" doc:"What the agent's commands may change, without network. Default: what the persona and the configuration say."`
	Record           bool                `json:"record,omitempty" doc:"Keep what the native agent's model is asked and answers, for terret replay."`
	OnStale          string              `json:"on_stale,omitempty" enum:"new,error" doc:"What to do when the agent has lost the session."`
}

func (n newSession) record() terret.Session {
	return terret.Session{
		Agent: n.Agent, Model: n.Model, Cwd: n.Cwd, Persona: terret.NullString(n.Persona), Mode: n.Mode, Policy: n.Policy,
		PermissionMode: n.PermissionMode, Title: n.Title, OneShot: n.OneShot, NativeID: terret.NullString(n.NativeID),
		Options: terret.SessionOptions{
			Tools: n.Tools, DisallowedTools: n.DisallowedTools, AutoApproveTools: n.AutoApproveTools, Allow: n.Allow, Deny: n.Deny, Ask: n.Ask,
			SettingSources: n.SettingSources, AddDirs: n.AddDirs, Agents: n.Agents, MCP: n.MCP, Effort: n.Effort,
			FallbackModel: n.FallbackModel, OutputSchema: n.OutputSchema, MaxTurns: n.MaxTurns, MaxCostUSD: n.MaxCostUSD,
			SystemAppend: n.SystemAppend, BasePrompt: n.BasePrompt, Gates: n.Gates, Timeouts: n.Timeouts, Worktree: n.Worktree, KeepRaw: n.KeepRaw, OnStale: terret.OnStale(n.OnStale), Sandbox: n.Sandbox, Record: n.Record, Preset: n.Preset,
		},
	}
}

// check rejects invalid names and rules.
func (n newSession) check() error {
	for field, v := range map[string]string{
		"agent": n.Agent, "model": n.Model, "persona": n.Persona, "permission_mode": n.PermissionMode, "effort": n.Effort,
		"fallback_model": n.FallbackModel, "native_id": n.NativeID,
	} {
		if err := checkName(field, v); err != nil {
			return err
		}
	}
	for field, list := range map[string][]string{
		"tools": n.Tools, "disallowed_tools": n.DisallowedTools, "auto_approve_tools": n.AutoApproveTools, "setting_sources": n.SettingSources,
	} {
		if err := checkNames(field, list); err != nil {
			return err
		}
	}
	return checkRules(map[string][]string{"allow": n.Allow, "deny": n.Deny, "ask": n.Ask})
}

func checkRules(rules map[string][]string) error {
	for field, list := range rules {
		for _, r := range list {
			if _, err := policy.Parse(r); err != nil {
				return terret.Invalid(field, "%w", err)
			}
		}
	}
	return nil
}

// careful reports whether the session asks for nothing that a person would else be
// asked about. A token that may only prompt must not decide this way.
func (s *Server) careful(n newSession) bool {
	return n.Policy.Careful() && s.carefulMode(n.PermissionMode) &&
		len(n.AutoApproveTools) == 0 && len(n.Allow) == 0 && len(n.MCP) == 0 && len(n.Agents) == 0 &&
		!n.Unenforced && n.Sandbox != terret.SandboxOff && len(n.Timeouts) == 0 // after a timeout the agent continues
}

// carefulMode reports whether a permission mode is careful in every agent that has it,
// and some agent has it.
func (s *Server) carefulMode(mode string) bool {
	if mode == "" {
		return true // the agent's own, or the session's, which was checked
	}
	known := false
	for _, d := range s.maker.Agents.Drivers() {
		if p, has := terret.DescriptionOf(d).Modes[mode]; has {
			if !p.Careful() {
				return false
			}
			known = true
		}
	}
	return known
}

// MadeSession is a new session, with notes for the person.
type MadeSession struct {
	terret.Session
	Notes []string `json:"notes,omitempty" doc:"What to know before the first prompt."`
}

func (s *Server) createSession(ctx context.Context, in *struct{ Body newSession }) (*body[MadeSession], error) {
	n := in.Body
	n.Agents, n.MCP, n.OutputSchema = unlessNull(n.Agents), unlessNull(n.MCP), unlessNull(n.OutputSchema)
	if err := s.stopping(); err != nil {
		return nil, err
	}
	if err := everywhere(ctx); err != nil {
		return nil, err
	}
	if err := n.check(); err != nil {
		return nil, err
	}
	if !s.careful(n) {
		if err := need(ctx, access.Decide); err != nil {
			return nil, err
		}
	}
	with, err := s.preset(ctx, &n)
	if err != nil {
		return nil, err
	}
	if _, inside := access.From(ctx).Agent(); inside && !s.careful(n) {
		return nil, access.ErrInside("an agent may not leave what it is asked about by a preset")
	}
	note, err := s.nest(ctx, &n)
	if err != nil {
		return nil, err
	}
	create := func(ctx context.Context, n newSession) (*body[MadeSession], error) { return s.createHere(ctx, n, with) }
	if n.Repo != "" {
		create = s.createFrom
	}
	made, err := create(ctx, n)
	if err != nil {
		note("")
		return nil, err
	}
	note(made.Body.ID)
	return made, nil
}

// createHere makes a session that was checked, in a folder of this machine.
func (s *Server) createHere(ctx context.Context, n newSession, with presets.Preset) (*body[MadeSession], error) {
	var notes []string
	made, err := s.makeSession(ctx, n.record(), assemble.CreateOptions{
		Unenforced: n.Unenforced, Branch: n.Branch, Tell: func(note string) { notes = append(notes, note) },
	})
	if err == nil {
		if err = with.Give(made.Cwd); err != nil {
			if _, undo := s.maker.Delete(context.WithoutCancel(ctx), made.ID, true); undo == nil {
				s.sessions.remove()
			}
		}
	}
	return reply(MadeSession{shown(access.From(ctx), made), notes}, err)
}

// makeSession creates a session whose fields have been checked.
func (s *Server) makeSession(ctx context.Context, n terret.Session, o assemble.CreateOptions) (terret.Session, error) {
	var err error
	if n.Cwd, err = s.inRoots("cwd", n.Cwd); err != nil {
		return terret.Session{}, err
	}
	for i, dir := range n.Options.AddDirs {
		if n.Options.AddDirs[i], err = s.inRoots("add_dirs", dir); err != nil {
			return terret.Session{}, err
		}
	}
	if err := s.sessions.add(ctx, s); err != nil {
		return terret.Session{}, err
	}
	made, err := s.maker.Create(ctx, n, o)
	if err != nil {
		s.sessions.remove()
	}
	if e := terret.AsError(err); err != nil && e.Code == terret.CodeNotFound {
		wrong := *e // what is missing is named in the body, not in the path
		wrong.Code = terret.CodeInvalidRequest
		err = &wrong
	}
	return made, err
}

// sessionCount knows roughly how many sessions there are. Other processes create some
// too, so it counts again before it refuses.
type sessionCount struct {
	mu    sync.Mutex
	known bool
	n     int
}

func (c *sessionCount) add(ctx context.Context, s *Server) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.known || c.n >= s.limits.Sessions {
		n, err := s.store.CountSessions(ctx)
		if err != nil {
			return err
		}
		c.n, c.known = n, true
	}
	if c.n >= s.limits.Sessions {
		return tooMany("there are %d sessions, the maximum; delete some", c.n)
	}
	c.n++
	return nil
}

func (c *sessionCount) remove() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n = max(c.n-1, 0)
}

type sessionQuery struct {
	Cwd    string                `query:"cwd" doc:"Only sessions in this folder."`
	Agent  string                `query:"agent"`
	State  []terret.SessionState `query:"state" doc:"One or several, separated by commas."`
	Q      string                `query:"q" doc:"Words that all occur in title, folder, model or agent."`
	Sort   string                `query:"sort" enum:"updated,created,title,cost"`
	Limit  int                   `query:"limit" minimum:"1" maximum:"1000" doc:"Maximum number of items. Default 100."`
	Cursor string                `query:"cursor" doc:"The next of the previous page."`
}

func (s *Server) listSessions(ctx context.Context, in *sessionQuery) (*body[terret.Page[terret.Session]], error) {
	for _, state := range in.State {
		if err := state.Validate(); err != nil {
			return nil, err
		}
	}
	if in.Cwd != "" {
		in.Cwd = filepath.Clean(in.Cwd)
		if real, err := s.roots.Resolve(in.Cwd); err == nil { // otherwise the folder may be gone, but its sessions are not
			in.Cwd = real
		}
	}
	f := terret.SessionFilter{
		Cwd: in.Cwd, Agent: s.maker.Agents.Name(in.Agent), States: in.State, Query: in.Q, Sort: in.Sort, Limit: in.Limit, Cursor: in.Cursor,
		IDPrefix: access.From(ctx).Session,
	}
	found, err := s.store.ListSessions(ctx, f)
	for i := range found.Items {
		found.Items[i] = shown(access.From(ctx), found.Items[i])
	}
	return reply(found, err)
}

func (s *Server) getSession(ctx context.Context, in *SessionPath) (*body[terret.Session], error) {
	return s.replySession(ctx)(s.session(ctx, in.ID))
}

type sessionChange struct {
	Title          *string        `json:"title,omitempty" maxLength:"500"`
	Model          *string        `json:"model,omitempty"`
	Policy         *terret.Policy `json:"policy,omitempty" enum:"ask,accept-edits,rules,plan,deny-unless-allowed,auto-approve"`
	PermissionMode *string        `json:"permission_mode,omitempty"`
}

func (s *Server) updateSession(ctx context.Context, in *struct {
	SessionPath
	Body sessionChange
},
) (*body[terret.Session], error) {
	if _, err := s.session(ctx, in.ID); err != nil {
		return nil, err
	}
	u := terret.SessionUpdated{Title: in.Body.Title, Model: in.Body.Model, Policy: in.Body.Policy, PermissionMode: in.Body.PermissionMode}
	if u == (terret.SessionUpdated{}) {
		return nil, terret.Invalid("body", "say what to change: title, model, policy or permission_mode")
	}
	for field, v := range map[string]*string{"model": u.Model, "permission_mode": u.PermissionMode} {
		if v != nil {
			if err := checkName(field, *v); err != nil {
				return nil, err
			}
		}
	}
	if u.Policy != nil || u.PermissionMode != nil {
		if err := need(ctx, access.Decide); err != nil {
			return nil, err
		}
	}
	if err := s.engine.Update(ctx, in.ID, u, caller(ctx)); err != nil {
		return nil, err
	}
	return s.replySession(ctx)(s.store.Session(ctx, in.ID))
}

func (s *Server) deleteSession(ctx context.Context, in *struct {
	SessionPath
	Force bool `query:"force" doc:"Delete it even if a turn is running, which is killed, or if its worktree holds files that git ignores, which are deleted."`
},
) (*turnAnswer, error) {
	if _, err := s.session(ctx, in.ID); err != nil {
		return nil, err
	}
	done, err := s.maker.Delete(ctx, in.ID, in.Force)
	if err != nil {
		return nil, err
	}
	s.sessions.remove()
	s.terminals.RemoveAll(in.ID)
	return &turnAnswer{Body: func(c huma.Context) {
		_, w := humago.Unwrap(c)
		if done == (assemble.Deleted{}) {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		writeJSON(w, http.StatusOK, done)
	}}, nil
}
