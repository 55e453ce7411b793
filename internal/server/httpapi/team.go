package httpapi

import (
	"context"
	"maps"
	"net/http"
	"strconv"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/server/access"
	"github.com/terret-dev/terret/work/team"
)

func (s *Server) teamRoutes() {
	handle(s, route{
		method: "GET", path: "/v1/team", id: "get-team", tag: tagTeam, scope: access.View,
		summary: "Show the team: its log and who may write to whom",
		long:    "The log is a session in which no agent works. Its events (bus.message, bus.receipt, agent.state) can be followed like those of any other, once there is one.",
		fails:   stored(),
	}, s.getTeam)
	handle(s, route{
		method: "PUT", path: "/v1/team/topology", id: "set-topology", tag: tagTeam, scope: access.Decide,
		summary: "Change who may write to whom",
		long:    "Broadcast lets every agent write to every other; filtered lets recipients choose; in a hierarchy agents reach their lead and their reports; custom lists routes. People reach everybody.",
		fails:   stored(),
	}, s.setTopology)
	handle(s, route{
		method: "GET", path: "/v1/team/agents", id: "list-team", tag: tagTeam, scope: access.View,
		summary: "List the members of the team",
		long:    "A member that is an agent is idle, processing, failed until its next success, or restarting.",
		fails:   stored(),
	}, s.listTeam)
	handle(s, route{
		method: "POST", path: "/v1/team/agents", id: "spawn", tag: tagTeam, scope: access.Decide, status: http.StatusCreated,
		summary: "Add a member to the team",
		long:    "An agent edits files in its folder without asking unless permission_mode says otherwise, which is why this needs a token that may decide. It starts with its first message.",
		fails:   stored(terret.CodeAgentNotFound, terret.CodeUnsupported),
	}, s.spawn)
	handle(s, route{
		method: "GET", path: "/v1/team/agents/{name}", id: "get-member", tag: tagTeam, scope: access.View,
		summary: "Show a member of the team",
		long:    "Its session, if it has one for all messages, shows what it does.",
		fails:   stored(terret.CodeNotFound),
	}, s.getMember)
	handle(s, route{
		method: "DELETE", path: "/v1/team/agents/{name}", id: "shutdown-member", tag: tagTeam, scope: access.Decide, status: http.StatusNoContent,
		summary: "Take a member out of the team, and stop what it does",
		long:    "Its sessions stay. Its mail waits for the next member with that name.",
		fails:   stored(terret.CodeNotFound),
	}, s.shutdownMember)
	handle(s, route{
		method: "DELETE", path: "/v1/team/agents", id: "shutdown-team", tag: tagTeam, scope: access.Decide, status: http.StatusNoContent,
		summary: "Take every member out of the team",
		long:    "Their sessions and the messages stay.",
		fails:   stored(),
	}, s.shutdownTeam)
	handle(s, route{
		method: "GET", path: "/v1/team/messages", id: "list-team-messages", tag: tagTeam, scope: access.View,
		summary: "List the messages of the team, oldest first",
		long:    "For more, send the seq of the last message as after. The receipts say what has become of a message at each recipient.",
		fails:   stored(),
	}, s.listTeamMessages)
	handle(s, route{
		method: "POST", path: "/v1/team/messages", id: "send-team-message", tag: tagTeam, scope: access.Prompt, status: http.StatusAccepted,
		summary: "Send a message to members of the team",
		long:    "The sender is whoever owns the token. The response comes when the message cannot be lost; agents that are away get it when they are back. Answers are messages too, with in_reply_to.",
		fails:   stored(terret.CodeNotFound),
	}, s.sendTeamMessage)
	handle(s, route{
		method: "POST", path: "/v1/team/messages/{id}/read", id: "read-team-message", tag: tagTeam, scope: access.Prompt, status: http.StatusNoContent,
		summary: "Note that the caller has read a message",
		long:    "Only for messages to people: agents read theirs by themselves.",
		fails:   stored(terret.CodeNotFound),
	}, s.readTeamMessage)
}

// inTeam returns the team, if the caller may see all of it.
func (s *Server) inTeam(ctx context.Context) (*team.Registry, error) {
	if err := everywhere(ctx); err != nil {
		return nil, err
	}
	return s.cfg.Team, nil
}

// Team is what all members share.
type Team struct {
	Session  string       `json:"session" doc:"The session that holds the team's log."`
	Topology TeamTopology `json:"topology"`
}

// TeamTopology says who may write to whom.
type TeamTopology struct {
	Kind    string                `json:"kind" enum:"broadcast,filtered,hierarchical,custom"`
	Routes  map[string][]string   `json:"routes,omitempty" doc:"For custom: whom each agent may write to, by name, or all."`
	Filters map[string]TeamFilter `json:"filters,omitempty" doc:"For filtered: what reaches each agent."`
}

// TeamFilter says which messages reach an agent.
type TeamFilter struct {
	From  []string `json:"from,omitempty" doc:"Only from these; empty means anybody."`
	Types []string `json:"types,omitempty" doc:"Only of these types; empty means any."`
}

func (s *Server) getTeam(ctx context.Context, _ *struct{}) (*body[Team], error) {
	r, err := s.inTeam(ctx)
	if err != nil {
		return nil, err
	}
	t, err := r.Bus.Topology(ctx)
	out := TeamTopology{Kind: string(t.Kind), Routes: t.Routes}
	for name, f := range t.Filters {
		if out.Filters == nil {
			out.Filters = map[string]TeamFilter{}
		}
		shown := TeamFilter{From: f.From}
		for _, kind := range f.Types {
			shown.Types = append(shown.Types, string(kind))
		}
		out.Filters[name] = shown
	}
	return reply(Team{team.LogSession, out}, err)
}

func (s *Server) setTopology(ctx context.Context, in *struct{ Body TeamTopology }) (*body[Team], error) {
	r, err := s.inTeam(ctx)
	if err != nil {
		return nil, err
	}
	t := team.Topology{Kind: team.TopologyKind(in.Body.Kind), Routes: in.Body.Routes}
	for name, f := range in.Body.Filters {
		if t.Filters == nil {
			t.Filters = map[string]team.Filter{}
		}
		filter := team.Filter{From: f.From}
		for _, kind := range f.Types {
			filter.Types = append(filter.Types, team.MessageType(kind))
		}
		t.Filters[name] = filter
	}
	if err := r.Bus.SetTopology(ctx, caller(ctx), t); err != nil {
		return nil, err
	}
	return s.getTeam(ctx, nil)
}

// TeamMember is a member of the team.
type TeamMember struct {
	Name      string            `json:"name"`
	Agent     string            `json:"agent" doc:"The kind of agent, or person."`
	State     terret.AgentState `json:"state"`
	Detail    string            `json:"detail,omitempty" doc:"What there is to say about the state."`
	Session   string            `json:"session,omitempty" doc:"The agent's session, if it has one for all messages."`
	Mail      int               `json:"mail" doc:"Messages that it has not dealt with."`
	Mode      string            `json:"mode,omitempty" doc:"query or client."`
	Model     string            `json:"model,omitempty"`
	Cwd       string            `json:"cwd,omitempty"`
	Topics    []string          `json:"topics,omitempty"`
	ReportsTo string            `json:"reports_to,omitempty"`
	JoinedAt  terret.Time       `json:"joined_at"`

	Instructions   string   `json:"instructions,omitempty" doc:"Added to the agent's system prompt."`
	AllowedTools   []string `json:"allowed_tools,omitzero" doc:"The agent's tools, which it uses without asking; without this, all."`
	PermissionMode string   `json:"permission_mode,omitempty" doc:"The agent's own."`
	SettingSources []string `json:"setting_sources,omitzero" doc:"Which of its own settings the agent reads; without this, none."`
}

// TeamMemberOf is a member as the API shows it.
func TeamMemberOf(m team.Member) TeamMember {
	c := m.Config
	out := TeamMember{
		Name: m.Name, Agent: m.Type, State: m.State, Detail: m.Detail, Session: m.Session, Mail: m.Mail, Model: c.Model, Cwd: c.Cwd,
		Topics: c.Topics, ReportsTo: c.ReportsTo, JoinedAt: m.JoinedAt,
		Instructions: c.Instructions, AllowedTools: c.AllowedTools, PermissionMode: c.PermissionMode, SettingSources: c.SettingSources,
	}
	if m.Type != team.Person {
		out.Mode = c.Mode()
	}
	return out
}

func (s *Server) listTeam(ctx context.Context, _ *struct{}) (*body[terret.Page[TeamMember]], error) {
	r, err := s.inTeam(ctx)
	if err != nil {
		return nil, err
	}
	all, err := r.List(ctx)
	out := make([]TeamMember, 0, len(all))
	for _, m := range all {
		out = append(out, TeamMemberOf(m))
	}
	return page(out, err)
}

type newMember struct {
	Name           string         `json:"name" maxLength:"64"`
	Agent          string         `json:"agent,omitempty" doc:"The kind of agent, such as sdk (Claude Code), or person. Default: the configured one."`
	Model          string         `json:"model,omitempty"`
	Cwd            string         `json:"cwd,omitempty" doc:"The folder the agent works in; required for agents."`
	Instructions   string         `json:"instructions,omitempty" doc:"Added to the agent's system prompt."`
	AllowedTools   []string       `json:"allowed_tools,omitempty" doc:"The agent's tools, which it uses without asking. Default: all, as permission_mode says."`
	PermissionMode string         `json:"permission_mode,omitempty" doc:"The agent's own. Default: it edits files in its folder without asking."`
	SettingSources []string       `json:"setting_sources,omitempty" doc:"Which of its own settings the agent reads. Default: none."`
	Credentials    map[string]any `json:"credentials,omitempty" doc:"Further options. mode is client (one conversation) or query (each message is a conversation of its own); default: query with credentials or the agent sdk, else client. mcp_servers and agents (subagents) are objects by name, in the agent's own format, without env and headers; hooks is a list of gates at which the agent waits for a decision, such as pre_tool."`
	Topics         []string       `json:"topics,omitempty" doc:"The topics it subscribes to."`
	ReportsTo      string         `json:"reports_to,omitempty" doc:"Its lead, in a hierarchy."`
	Restart        *newRestart    `json:"restart,omitempty" doc:"What happens when it fails."`
}

type newRestart struct {
	Policy    string `json:"policy,omitempty" enum:"never,on-failure"`
	Limit     int    `json:"limit,omitempty" minimum:"0" doc:"How often a message is tried again. Default 3."`
	BackoffMS int    `json:"backoff_ms,omitempty" minimum:"0" doc:"The first pause; each further one is twice as long. Default 1000."`
}

func (s *Server) spawn(ctx context.Context, in *struct{ Body newMember }) (*body[TeamMember], error) {
	if err := s.stopping(); err != nil {
		return nil, err
	}
	r, err := s.inTeam(ctx)
	if err != nil {
		return nil, err
	}
	n := in.Body
	c := team.Config{
		Name: n.Name, Type: n.Agent, Model: n.Model, Cwd: n.Cwd, Instructions: n.Instructions, AllowedTools: n.AllowedTools,
		PermissionMode: n.PermissionMode, SettingSources: n.SettingSources, Credentials: maps.Clone(n.Credentials), Topics: n.Topics, ReportsTo: n.ReportsTo,
	}
	if n.Restart != nil {
		c.Restart = team.Restart{Policy: team.RestartPolicy(n.Restart.Policy), Limit: n.Restart.Limit, BackoffMS: n.Restart.BackoffMS}
	}
	if c.Type != team.Person {
		if c.Cwd, err = s.inRoots("cwd", c.Cwd); err != nil {
			return nil, err
		}
		c = c.Lasting()
	}
	if c.Type == "" && s.maker.Defaults != nil {
		d := terret.Session{Cwd: c.Cwd, Model: c.Model}
		s.maker.Defaults(ctx, &d)
		c.Type = d.Agent
	}
	m, err := r.Spawn(ctx, caller(ctx), c)
	return reply(TeamMemberOf(m), err)
}

type memberPath struct {
	Name string `path:"name" doc:"The member's name."`
}

func (s *Server) getMember(ctx context.Context, in *memberPath) (*body[TeamMember], error) {
	r, err := s.inTeam(ctx)
	if err != nil {
		return nil, err
	}
	m, err := r.Get(ctx, in.Name)
	return reply(TeamMemberOf(m), err)
}

func (s *Server) shutdownMember(ctx context.Context, in *memberPath) (*nothing, error) {
	r, err := s.inTeam(ctx)
	if err != nil {
		return nil, err
	}
	return nil, r.Shutdown(ctx, caller(ctx), in.Name)
}

func (s *Server) shutdownTeam(ctx context.Context, _ *struct{}) (*nothing, error) {
	r, err := s.inTeam(ctx)
	if err != nil {
		return nil, err
	}
	return nil, r.ShutdownAll(ctx, caller(ctx))
}

// TeamMessage is a message in the team's log.
type TeamMessage struct {
	MessageID string                 `json:"message_id"`
	Seq       int64                  `json:"seq"`
	From      string                 `json:"from"`
	To        []string               `json:"to"`
	Type      string                 `json:"type" enum:"chat,system,command"`
	Text      string                 `json:"text"`
	InReplyTo string                 `json:"in_reply_to,omitempty"`
	Time      terret.Time            `json:"time"`
	Metadata  map[string]any         `json:"metadata"`
	Receipts  map[string]team.Status `json:"receipts" doc:"By recipient: delivered, read, failed, answered, stopped, or empty if it is not delivered yet."`
}

// TeamMessageOf is a message as the API shows it.
func TeamMessageOf(r team.Record) TeamMessage {
	return TeamMessage{
		MessageID: r.ID, Seq: r.Seq, From: r.Sender, To: r.Recipients, Type: string(r.Type), Text: r.Content, InReplyTo: r.InReplyTo,
		Time: terret.TimeOf(r.Timestamp), Metadata: r.Metadata, Receipts: r.Receipts,
	}
}

func (s *Server) listTeamMessages(ctx context.Context, in *struct {
	Member       string `query:"member" doc:"Only messages to or from this member."`
	Conversation string `query:"conversation" doc:"Only the conversation that this message began."`
	After        int64  `query:"after" minimum:"0" doc:"Only messages with a greater seq."`
	Limit        int    `query:"limit" minimum:"1" maximum:"1000" default:"100"`
},
) (*body[terret.Page[TeamMessage]], error) {
	r, err := s.inTeam(ctx)
	if err != nil {
		return nil, err
	}
	out := terret.Page[TeamMessage]{Items: []TeamMessage{}}
	for m, err := range r.Bus.History(ctx, team.HistoryQuery{After: in.After, Member: in.Member, Conversation: in.Conversation}) {
		if err != nil {
			return nil, err
		}
		if len(out.Items) == in.Limit {
			out.Next = strconv.FormatInt(out.Items[in.Limit-1].Seq, 10)
			break
		}
		out.Items = append(out.Items, TeamMessageOf(m))
	}
	return reply(out, nil)
}

type newMessage struct {
	To        []string          `json:"to" minItems:"1" maxItems:"1000" doc:"Members by name, all, or #topic."`
	Text      string            `json:"text" minLength:"1"`
	Type      string            `json:"type,omitempty" enum:"chat,system,command" doc:"Default chat."`
	InReplyTo string            `json:"in_reply_to,omitempty" doc:"The message that this one answers."`
	Metadata  map[string]string `json:"metadata,omitempty"`
}

func (s *Server) sendTeamMessage(ctx context.Context, in *struct{ Body newMessage }) (*body[TeamMessage], error) {
	if err := s.stopping(); err != nil {
		return nil, err
	}
	r, err := s.inTeam(ctx)
	if err != nil {
		return nil, err
	}
	n := in.Body
	if len(n.Text) > s.limits.Prompt {
		return nil, tooLarge("text", "it has %d bytes; at most %d are allowed", len(n.Text), s.limits.Prompt)
	}
	m := team.NewMessage(caller(ctx), n.Text, n.To...)
	m.Type = team.MessageType(nonEmpty(n.Type, string(team.Chat)))
	for k, v := range n.Metadata {
		m.Metadata[k] = v
	}
	m = m.ReplyTo(n.InReplyTo)
	sent, err := r.Bus.Send(ctx, m)
	return reply(TeamMessageOf(sent), err)
}

func (s *Server) readTeamMessage(ctx context.Context, in *struct {
	ID string `path:"id" doc:"The message's id."`
},
) (*nothing, error) {
	r, err := s.inTeam(ctx)
	if err != nil {
		return nil, err
	}
	return nil, r.Bus.Read(ctx, in.ID, caller(ctx))
}
