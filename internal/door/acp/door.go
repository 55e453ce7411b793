package acp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/client"
	"github.com/terret-dev/terret/internal/rpc"
)

// Config says what is behind the door.
type Config struct {
	// Connect finds the server. It is called again when the server is gone.
	Connect func(context.Context) (*client.Client, error)
	// New is what new sessions are. The editor says in which folder they work.
	New     client.NewSession
	Version string
	Log     *slog.Logger
}

// maxLine bounds a message of the editor: a prompt with pictures.
const maxLine = 32 << 20

// grace is how long requests are still answered after an editor has ended its stream.
const grace = 5 * time.Second

// Serve talks to an editor until it ends the stream, which Serve closes, or until the
// context ends.
func Serve(ctx context.Context, stream io.ReadWriteCloser, cfg Config) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	d := &door{cfg: cfg, ctx: ctx, ready: make(chan struct{}), sessions: map[string]*session{}}
	d.conn = rpc.New(stream, rpc.Options{
		Request: d.request, Arrived: d.arrived, Notification: d.notification, Cancel: "$/cancel_request", MaxLine: maxLine, Grace: grace,
		Stray: func(line []byte, why error) {
			cfg.Log.Warn("the editor sent what is no message", "error", why, "bytes", len(line))
		},
	})
	close(d.ready)
	defer d.wait.Wait()
	defer cancel()
	select {
	case <-d.conn.Done():
	case <-ctx.Done():
	}
	cancel()
	_ = d.conn.Close()
	if err := d.conn.Wait(); !errors.Is(err, io.EOF) && !errors.Is(err, rpc.ErrClosed) {
		return err
	}
	return nil
}

// door is the connection with one editor.
type door struct {
	cfg   Config
	ctx   context.Context // of the connection
	conn  *rpc.Conn
	ready chan struct{}  // closed when conn is set
	wait  sync.WaitGroup // goroutines

	mu       sync.Mutex
	c        *client.Client
	elicits  bool // the editor shows forms
	sessions map[string]*session
}

// client is the server, which is found when it is first needed.
func (d *door) client() (*client.Client, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.c == nil {
		c, err := d.cfg.Connect(d.ctx)
		if err != nil {
			return nil, err
		}
		d.c = c
	}
	return d.c, nil
}

// lost forgets a server that is gone.
func (d *door) lost(c *client.Client) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.c == c {
		d.c = nil
	}
}

// tell sends an update about a session. Nobody can be told that an editor is gone.
func (d *door) tell(id string, update any) {
	_ = d.conn.Notify(d.ctx, "session/update", object{"sessionId": id, "update": update})
}

func (d *door) request(ctx context.Context, m rpc.Message) (any, error) {
	<-d.ready
	result, err := d.answer(ctx, m)
	if err != nil {
		return nil, wireError(err)
	}
	return result, nil
}

func (d *door) answer(ctx context.Context, m rpc.Message) (any, error) {
	switch m.Method {
	case "initialize":
		return d.initialize(m)
	case "authenticate":
		return object{}, nil // who may use Terret is settled before an editor starts it
	}
	var p sessionParams
	if err := m.Decode(&p); err != nil {
		return nil, err
	}
	switch m.Method {
	case "session/new":
		return d.newSession(ctx, p)
	case "session/load":
		return d.open(ctx, p.Session, true)
	case "session/resume":
		return d.open(ctx, p.Session, false)
	case "session/list":
		return d.list(ctx, p)
	case "session/fork":
		return d.fork(ctx, p)
	case "session/delete":
		return d.remove(ctx, p.Session)
	case "session/close":
		return d.close(ctx, p.Session)
	}
	s, err := d.session(p.Session)
	if err != nil {
		return nil, err
	}
	switch m.Method {
	case "session/prompt":
		return s.prompt(ctx, m.ID, p.Prompt)
	case "session/set_mode":
		return s.set(ctx, "mode", p.Mode)
	case "session/set_model": // of earlier versions; editors still send it
		return s.set(ctx, "model", p.Model)
	case "session/set_config_option":
		var value string
		if err := json.Unmarshal(p.Value, &value); err != nil {
			return nil, terret.Invalid("value", "must be a string")
		}
		return s.set(ctx, p.Option, value)
	}
	return nil, rpc.MethodNotFound(m.Method)
}

// arrived notes a prompt in the order in which it came, so that a cancel right behind it
// is about it, too.
func (d *door) arrived(m rpc.Message) {
	var p sessionParams
	if m.Method != "session/prompt" || m.Decode(&p) != nil {
		return
	}
	if s, err := d.session(p.Session); err == nil {
		s.arrived(m.ID)
	}
}

func (d *door) notification(_ context.Context, m rpc.Message) error {
	<-d.ready
	var p sessionParams
	if m.Method != "session/cancel" || m.Decode(&p) != nil {
		return nil // an editor that talks nonsense is no reason to hang up
	}
	if s, err := d.session(p.Session); err == nil {
		s.cancelPrompts()
	}
	return nil
}

func (d *door) initialize(m rpc.Message) (any, error) {
	var p initializeParams
	if err := m.Decode(&p); err != nil {
		return nil, err
	}
	d.mu.Lock()
	d.elicits = p.Capabilities.Elicitation != nil && p.Capabilities.Elicitation.Form != nil
	d.mu.Unlock()
	return object{
		"protocolVersion": protocolVersion,
		"agentInfo":       object{"name": "terret", "title": "Terret", "version": d.cfg.Version},
		"authMethods":     []any{},
		"agentCapabilities": object{
			"loadSession":        true,
			"promptCapabilities": object{"image": true, "audio": false, "embeddedContext": true},
			"mcpCapabilities":    object{"http": true, "sse": true},
			"sessionCapabilities": object{
				"resume": object{}, "list": object{}, "close": object{}, "delete": object{}, "fork": object{}, "additionalDirectories": object{},
			},
		},
	}, nil
}

func (d *door) newSession(ctx context.Context, p sessionParams) (any, error) {
	if !filepath.IsAbs(p.Cwd) {
		return nil, terret.Invalid("cwd", "%q is not an absolute path", p.Cwd)
	}
	servers, err := sessionServers(p.Servers)
	if err != nil {
		return nil, err
	}
	c, err := d.client()
	if err != nil {
		return nil, err
	}
	n := d.cfg.New
	n.Cwd, n.MCP, n.AddDirs = p.Cwd, servers, append(n.AddDirs, p.Dirs...)
	created, err := c.CreateSession(ctx, n)
	if err != nil {
		return nil, err
	}
	for _, note := range created.Notes { // editors keep a log of what their agents say there
		d.cfg.Log.Warn("a note on the new session", "note", note, "session", created.ID)
	}
	return d.opened(d.begin(created.Session), created.LastSeq), nil
}

// open opens a session that exists, and first tells what has happened in it if the editor
// wants to know.
func (d *door) open(ctx context.Context, id string, replay bool) (any, error) {
	c, err := d.client()
	if err != nil {
		return nil, err
	}
	record, err := c.Session(ctx, id)
	if err != nil {
		return nil, err
	}
	s := d.begin(record)
	after := record.LastSeq
	if replay {
		after, err = s.replay(ctx, c)
	}
	if err == nil {
		err = s.askAgain(ctx, c)
	}
	if err != nil {
		d.forget(s)
		return nil, err
	}
	return d.opened(s, after), nil
}

// opened is the answer to a session that is new to this editor, which hears of what
// happens in it after an event.
func (d *door) opened(s *session, after int64) any {
	return rpc.Then{
		Result: object{"sessionId": s.id, "modes": s.modes(), "configOptions": s.options()},
		Do: func() {
			s.d.wait.Go(func() { s.follow(after) })
			s.d.wait.Go(s.lookUp)
		},
	}
}

func (d *door) list(ctx context.Context, p sessionParams) (any, error) {
	c, err := d.client()
	if err != nil {
		return nil, err
	}
	page, err := c.Sessions(ctx, terret.SessionFilter{Cwd: p.Cwd, Cursor: p.Cursor, Limit: 50})
	if err != nil {
		return nil, err
	}
	items := make([]object, 0, len(page.Items))
	for _, s := range page.Items {
		items = append(items, object{"sessionId": s.ID, "cwd": s.Cwd, "title": s.Title, "updatedAt": s.UpdatedAt})
	}
	out := object{"sessions": items}
	if page.Next != "" {
		out["nextCursor"] = page.Next
	}
	return out, nil
}

func (d *door) fork(ctx context.Context, p sessionParams) (any, error) {
	c, err := d.client()
	if err != nil {
		return nil, err
	}
	record, err := c.Fork(ctx, p.Session, p.Messages)
	if err != nil {
		return nil, err
	}
	return d.opened(d.begin(record), record.LastSeq), nil
}

func (d *door) remove(ctx context.Context, id string) (any, error) {
	c, err := d.client()
	if err != nil {
		return nil, err
	}
	if _, err := c.DeleteSession(ctx, id, false); err != nil {
		return nil, err
	}
	if s, err := d.session(id); err == nil {
		d.forget(s)
	}
	return object{}, nil
}

// close stops what this editor has begun in a session. Others may go on with it.
func (d *door) close(ctx context.Context, id string) (any, error) {
	s, err := d.session(id)
	if err != nil {
		return nil, err
	}
	s.cancelPrompts()
	s.settled(ctx)
	d.forget(s)
	return object{}, nil
}

// begin adds a session.
func (d *door) begin(record terret.Session) *session {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s := d.sessions[record.ID]; s != nil { // the editor opens it again
		s.stop()
	}
	s := newSession(d, record)
	d.sessions[record.ID] = s
	return s
}

func (d *door) forget(s *session) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s.stop()
	if d.sessions[s.id] == s {
		delete(d.sessions, s.id)
	}
}

func (d *door) session(id string) (*session, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s := d.sessions[id]; s != nil {
		return s, nil
	}
	return nil, terret.Errorf(terret.CodeSessionNotFound, "session %q is not open in this connection; session/load opens it", id)
}

// sessionServers are MCP servers in the form that sessions have them in.
func sessionServers(list []mcpServer) (terret.JSON, error) {
	if len(list) == 0 {
		return nil, nil
	}
	named := func(pairs []pair) map[string]string {
		out := map[string]string{}
		for _, p := range pairs {
			out[p.Name] = p.Value
		}
		return out
	}
	servers := map[string]any{}
	for _, s := range list {
		switch {
		case s.Name == "" || servers[s.Name] != nil:
			return nil, terret.Invalid("mcpServers", "each server needs a name of its own; %q is none", s.Name)
		case s.URL != "":
			servers[s.Name] = object{"type": cmp.Or(s.Type, "http"), "url": s.URL, "headers": named(s.Headers)}
		case s.Command != "":
			servers[s.Name] = object{"command": s.Command, "args": append([]string{}, s.Args...), "env": named(s.Env)}
		default:
			return nil, terret.Invalid("mcpServers", "server %q has neither a command nor an address", s.Name)
		}
	}
	return json.Marshal(object{"mcpServers": servers})
}

// wireError is an error as editors understand it.
func wireError(err error) error {
	var wire *rpc.Error
	if errors.As(err, &wire) || errors.Is(err, context.Canceled) {
		return err
	}
	e := terret.AsError(err)
	code := int64(e.Code.Class().JSONRPC)
	if e.Code == terret.CodeSessionNotFound {
		code = codeNotFound
	}
	data, _ := json.Marshal(object{"code": e.Code})
	return &rpc.Error{Code: code, Message: e.Message, Data: data}
}
