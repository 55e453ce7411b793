package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/client"
)

// Config says what is behind the door.
type Config struct {
	// Client finds the server.
	Client  func(context.Context) (*client.Client, error)
	New     client.NewSession // what new sessions are, but for what a tool says
	Version string
}

const instructions = `Starts and steers coding agents. start_session begins one in a folder and gives it a prompt; ` +
	`wait says how its turn ended, or that it waits for a person; read_session reads what was said. ` +
	`Requests of these agents are answered by people, not by you.`

// New makes a server with all tools. It may serve any number of connections.
func New(cfg Config) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "terret", Title: "Terret", Version: cfg.Version}, &mcp.ServerOptions{
		Instructions: instructions, Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}},
	})
	s.AddReceivingMiddleware(onlyTools)
	d := &door{cfg}
	reads := &mcp.ToolAnnotations{ReadOnlyHint: true}
	add(s, "list_agents", "Lists the agents that are installed.", reads, d.agents)
	add(s, "list_sessions", "Lists sessions, the newest first.", reads, d.sessions)
	add(s, "start_session", "Starts an agent in a folder with a first prompt, and answers at once. Use wait to see how the turn ends.", nil, d.start)
	add(s, "prompt", "Gives a session another prompt, and answers at once. While a turn runs, it waits in the queue.", nil, d.prompt)
	add(s, "wait", "Waits until a turn has ended, or a session waits for a person, or time is over; says which.", reads, d.wait)
	add(s, "read_session", "Reads the messages of a session, the newest last.", reads, d.read)
	add(s, "interrupt", "Stops the turn that runs in a session.", nil, d.interrupt)
	add(s, "search", "Finds messages in all sessions by their words.", reads, d.search)
	mcp.AddTool(s, &mcp.Tool{Name: "ask_person", Description: "Asks the person at the other end a question, with answers to choose from or free text.", Annotations: reads}, d.ask)
	return s
}

// onlyTools refuses what the server does not say that it has, and the library would answer.
func onlyTools(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
		switch of, _, _ := strings.Cut(method, "/"); of {
		case "prompts", "resources", "completion", "logging":
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "there is no " + method + ": this server has tools only"}
		}
		return next(ctx, method, r)
	}
}

type door struct{ cfg Config }

// add adds a tool whose errors tell the model what was wrong.
func add[In, Out any](s *mcp.Server, name, what string, hints *mcp.ToolAnnotations, do func(context.Context, *mcp.CallToolRequest, In) (Out, error)) {
	mcp.AddTool(s, &mcp.Tool{Name: name, Description: what, Annotations: hints}, func(ctx context.Context, r *mcp.CallToolRequest, in In) (*mcp.CallToolResult, Out, error) {
		out, err := do(ctx, r, in)
		if err != nil {
			err = errors.New(terret.AsError(err).Message)
		}
		return nil, out, err
	})
}

type none struct{}

type agent struct {
	Agent   string `json:"agent"`
	Title   string `json:"title"`
	Version string `json:"version,omitempty"`
	Ready   bool   `json:"ready" jsonschema:"whether it is installed and nobody has to sign in first"`
}

type agents struct {
	Agents []agent `json:"agents"`
}

func (d *door) agents(ctx context.Context, _ *mcp.CallToolRequest, _ none) (agents, error) {
	out := agents{Agents: []agent{}}
	c, err := d.cfg.Client(ctx)
	if err != nil {
		return out, err
	}
	probes, err := c.Agents(ctx)
	for _, p := range probes {
		if p.Found {
			out.Agents = append(out.Agents, agent{p.Agent, p.Title, p.Version, p.Auth != "missing"})
		}
	}
	return out, err
}

// session is what an agent is told of one.
type session struct {
	ID      string `json:"session"`
	Title   string `json:"title,omitempty"`
	Agent   string `json:"agent"`
	Folder  string `json:"folder"`
	State   string `json:"state"`
	Waiting int    `json:"waiting_for_person" jsonschema:"requests that wait for a person"`
	CostUSD string `json:"cost_usd"`
	Updated string `json:"updated_at"`
}

func shown(s terret.Session) session {
	return session{s.ID, s.Title, s.Agent, s.Cwd, string(s.State), s.OpenRequests, s.CostUSD.String(), s.UpdatedAt.UTC().Format(time.RFC3339)}
}

type listIn struct {
	Folder string `json:"folder,omitempty" jsonschema:"only those that work in this folder"`
	Words  string `json:"words,omitempty" jsonschema:"only those whose title or folder has these words"`
	Limit  int    `json:"limit,omitempty" jsonschema:"at most so many; 20 if it is left out, 100 at most"`
}

type sessions struct {
	Sessions []session `json:"sessions"`
}

func (d *door) sessions(ctx context.Context, _ *mcp.CallToolRequest, in listIn) (sessions, error) {
	out := sessions{Sessions: []session{}}
	c, err := d.cfg.Client(ctx)
	if err != nil {
		return out, err
	}
	page, err := c.Sessions(ctx, terret.SessionFilter{Cwd: in.Folder, Query: in.Words, Limit: bounded(in.Limit, 20, 100)})
	for _, s := range page.Items {
		out.Sessions = append(out.Sessions, shown(s))
	}
	return out, err
}

func bounded(n, otherwise, most int) int {
	if n <= 0 {
		return otherwise
	}
	return min(n, most)
}

type startIn struct {
	Folder   string `json:"folder" jsonschema:"the folder to work in, an absolute path"`
	Prompt   string `json:"prompt" jsonschema:"what the agent should do"`
	Agent    string `json:"agent,omitempty" jsonschema:"which agent; list_agents lists them"`
	Model    string `json:"model,omitempty" jsonschema:"which model, by the agent's name for it"`
	Title    string `json:"title,omitempty"`
	Worktree bool   `json:"worktree,omitempty" jsonschema:"work in a new git worktree of the folder, on a branch of its own"`
}

// begun is a turn that was begun.
type begun struct {
	Session string `json:"session"`
	Turn    string `json:"turn"`
	State   string `json:"state"`
}

func (d *door) start(ctx context.Context, _ *mcp.CallToolRequest, in startIn) (begun, error) {
	if strings.TrimSpace(in.Prompt) == "" {
		return begun{}, terret.Invalid("prompt", "it is empty; say what the agent should do")
	}
	c, err := d.cfg.Client(ctx)
	if err != nil {
		return begun{}, err
	}
	n := d.cfg.New
	n.Cwd, n.Title, n.Worktree = in.Folder, in.Title, n.Worktree || in.Worktree
	if in.Agent != "" {
		n.Agent, n.Model = in.Agent, in.Model
	} else if in.Model != "" {
		n.Model = in.Model
	}
	made, err := c.CreateSession(ctx, n)
	if err != nil {
		return begun{}, err
	}
	return d.promptIn(ctx, c, made.ID, in.Prompt)
}

type promptIn struct {
	Session string `json:"session"`
	Prompt  string `json:"prompt"`
}

func (d *door) prompt(ctx context.Context, _ *mcp.CallToolRequest, in promptIn) (begun, error) {
	c, err := d.cfg.Client(ctx)
	if err != nil {
		return begun{}, err
	}
	return d.promptIn(ctx, c, in.Session, in.Prompt)
}

func (d *door) promptIn(ctx context.Context, c *client.Client, id, text string) (begun, error) {
	t, err := c.Prompt(ctx, id, client.NewTurn{Prompt: text, When: client.WhenQueue})
	return begun{id, t.ID, string(t.State)}, err
}

type waitIn struct {
	Session string `json:"session"`
	Turn    string `json:"turn,omitempty" jsonschema:"the turn to wait for; the one that runs if it is left out"`
	Seconds int    `json:"seconds,omitempty" jsonschema:"how long to wait; 60 if it is left out, 600 at most"`
}

// ended says how a turn ended, or what it waits for.
type ended struct {
	State   string   `json:"state" jsonschema:"completed, failed, interrupted, killed, dropped, waiting_for_person, running or idle"`
	Text    string   `json:"text,omitempty" jsonschema:"the agent's last words"`
	Error   string   `json:"error,omitempty"`
	Waiting []string `json:"waiting,omitempty" jsonschema:"what the person was asked"`
	CostUSD string   `json:"cost_usd,omitempty"`
}

const maxText = 64 << 10

func (d *door) wait(ctx context.Context, _ *mcp.CallToolRequest, in waitIn) (ended, error) {
	c, err := d.cfg.Client(ctx)
	if err != nil {
		return ended{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(bounded(in.Seconds, 60, 600))*time.Second)
	defer cancel()
	s, err := c.Session(ctx, in.Session)
	if err != nil {
		return ended{}, err
	}
	turn := in.Turn
	if turn == "" {
		if turn = s.Turn; turn == "" {
			return ended{State: "idle"}, nil
		}
	}
	last := ended{State: "running"}
	if s.OpenRequests > 0 {
		last, err = waitsForPerson(ctx, c, s.ID)
		if err != nil || s.Turn == turn {
			return last, err
		}
	}
	// It may have ended already; what follows is followed from where the session was.
	past := client.EventQuery{Session: s.ID, Kinds: []terret.Kind{terret.KindTurnComplete, terret.KindTurnError, terret.KindQueueChange}}
	for _, q := range []client.EventQuery{past, {Session: s.ID, After: s.LastSeq, NoDeltas: true, Follow: true}} {
		for entry, err := range c.Events(ctx, q) {
			if err != nil {
				if errors.Is(ctx.Err(), context.DeadlineExceeded) {
					return last, nil
				}
				return ended{}, err
			}
			ev, err := entry.Decode()
			if err != nil {
				continue
			}
			if e, ok := endOf(ev, turn); ok {
				return e, nil
			}
			if q.Follow && ev.Expects != nil && !ev.Expects.Decided {
				return waitsForPerson(ctx, c, s.ID)
			}
		}
	}
	return last, nil
}

// endOf reports whether an event ends the turn, and how.
func endOf(ev terret.Event, turn string) (ended, bool) {
	switch data := ev.Data.(type) {
	case terret.TurnComplete:
		return ended{State: "completed", Text: clip(data.Text), CostUSD: data.CostUSD.String()}, ev.Turn == turn
	case terret.TurnError:
		e := ended{State: "failed", Text: clip(data.Text), Error: data.Error.Message, CostUSD: data.CostUSD.String()}
		if data.Error.Code == terret.CodeInterrupted || data.Error.Code == terret.CodeKilled {
			e.State = string(data.Error.Code)
		}
		return e, ev.Turn == turn
	case terret.QueueChange:
		return ended{State: "dropped"}, data.Change == terret.QueueDropped && data.Turn == turn
	}
	return ended{}, false
}

func waitsForPerson(ctx context.Context, c *client.Client, id string) (ended, error) {
	out := ended{State: "waiting_for_person"}
	page, err := c.Requests(ctx, terret.RequestFilter{Session: id, State: terret.RequestOpen})
	for _, r := range page.Items {
		out.Waiting = append(out.Waiting, string(r.Gate)+": "+clip(string(r.Data)))
	}
	return out, err
}

func clip(text string) string {
	if len(text) <= maxText {
		return text
	}
	return strings.ToValidUTF8(text[:maxText], "") + " …"
}

type readIn struct {
	Session string `json:"session"`
	Last    int    `json:"last,omitempty" jsonschema:"how many messages; 20 if it is left out, 200 at most"`
}

type message struct {
	Role string `json:"role"`
	Text string `json:"text"`
	Time string `json:"time"`
}

type conversation struct {
	session

	Messages []message `json:"messages"`
	Left     int       `json:"left_out" jsonschema:"earlier messages"`
}

func (d *door) read(ctx context.Context, _ *mcp.CallToolRequest, in readIn) (conversation, error) {
	out := conversation{Messages: []message{}}
	c, err := d.cfg.Client(ctx)
	if err != nil {
		return out, err
	}
	s, err := c.Session(ctx, in.Session)
	if err != nil {
		return out, err
	}
	out.session = shown(s)
	most := bounded(in.Last, 20, 200)
	for m, err := range c.Messages(ctx, s.ID) {
		if err != nil {
			return out, err
		}
		if out.Messages = append(out.Messages, message{string(m.Role), clip(wordsOf(m.Blocks)), m.Time.UTC().Format(time.RFC3339)}); len(out.Messages) > most {
			out.Messages, out.Left = out.Messages[1:], out.Left+1
		}
	}
	return out, nil
}

// wordsOf is what a message says, with its tool uses in a few words.
func wordsOf(blocks []terret.Block) string {
	var out []string
	for _, b := range blocks {
		switch b.Type {
		case terret.BlockText:
			out = append(out, b.Text)
		case terret.BlockToolUse:
			out = append(out, "[uses "+b.Name+" "+string(b.Input)+"]")
		case terret.BlockToolResult:
			out = append(out, "[result] "+terret.TextOf(b.Content))
		case terret.BlockImage, terret.BlockDocument:
			out = append(out, "["+string(b.Type)+" "+b.Name+"]")
		case terret.BlockThinking:
		}
	}
	return strings.Join(out, "\n")
}

type sessionIn struct {
	Session string `json:"session"`
}

type done struct {
	OK bool `json:"ok"`
}

func (d *door) interrupt(ctx context.Context, _ *mcp.CallToolRequest, in sessionIn) (done, error) {
	c, err := d.cfg.Client(ctx)
	if err == nil {
		err = c.Interrupt(ctx, in.Session)
	}
	return done{err == nil}, err
}

type searchIn struct {
	Words   string `json:"words"`
	Session string `json:"session,omitempty" jsonschema:"only in this session"`
	Limit   int    `json:"limit,omitempty" jsonschema:"at most so many; 20 if it is left out, 100 at most"`
}

type found struct {
	Session string `json:"session"`
	Title   string `json:"title,omitempty"`
	Role    string `json:"role"`
	Text    string `json:"text"`
	Time    string `json:"time"`
}

type finds struct {
	Found []found `json:"found"`
}

func (d *door) search(ctx context.Context, _ *mcp.CallToolRequest, in searchIn) (finds, error) {
	out := finds{Found: []found{}}
	c, err := d.cfg.Client(ctx)
	if err != nil {
		return out, err
	}
	page, err := c.Search(ctx, terret.SearchQuery{Words: in.Words, Session: in.Session, Limit: bounded(in.Limit, 20, 100)})
	for _, f := range page.Items {
		out.Found = append(out.Found, foundOf(f))
	}
	return out, err
}

func foundOf(f terret.Found) found {
	return found{f.Session, f.Title, string(f.Role), clip(f.Text), f.Time.UTC().Format(time.RFC3339)}
}

type askIn struct {
	Question string   `json:"question"`
	Options  []string `json:"options,omitempty" jsonschema:"answers to choose from; without them, the person writes one"`
}

type answer struct {
	Answered bool   `json:"answered"`
	Answer   string `json:"answer,omitempty"`
}

// question is the id of the only thing that a call of ask needs from the client.
const question = "question"

// ask puts a question to the person through the agent that connected: it knows where its
// person is. A Terret session makes it a request that can be answered anywhere. The call is
// made again with the answer; older clients are asked within the call (both by the SDK).
func (d *door) ask(_ context.Context, r *mcp.CallToolRequest, in askIn) (*mcp.CallToolResult, any, error) {
	if strings.TrimSpace(in.Question) == "" {
		return nil, nil, errors.New("the question is empty")
	}
	if response, ok := r.Params.InputResponses[question].(*mcp.ElicitResult); ok {
		out := answer{Answered: response.Action == "accept"}
		out.Answer, _ = response.Content["answer"].(string)
		text, err := json.Marshal(out)
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(text)}}, StructuredContent: out}, nil, err
	}
	if p := r.Session.InitializeParams(); p != nil && (p.Capabilities == nil || p.Capabilities.Elicitation == nil) {
		return nil, nil, errors.New("your program cannot show questions to its person; ask in your answer instead")
	}
	field := map[string]any{"type": "string", "title": "Answer"}
	if len(in.Options) > 0 {
		field["enum"] = in.Options
	}
	return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{question: &mcp.ElicitParams{
		Message:         in.Question,
		RequestedSchema: map[string]any{"type": "object", "properties": map[string]any{"answer": field}, "required": []string{"answer"}},
	}}}, nil, nil
}
