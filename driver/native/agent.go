package native

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/native/internal/mcphost"
	"github.com/terret-dev/terret/driver/native/internal/plugin"
	"github.com/terret-dev/terret/driver/native/internal/tools"
)

// modePlan is the permission mode in which nothing changes before a plan is approved,
// modeDefault the one after that.
const (
	modePlan    = "plan"
	modeDefault = "default"
)

// agent is one native agent at work.
type agent struct {
	driver  *Driver
	req     terret.OpenRequest
	host    terret.Host
	environ []string     // what commands may see
	told    string       // instructions from files
	added   []tools.Tool // of the program that embeds us
	life    context.Context
	end     context.CancelCauseFunc
	work    sync.WaitGroup
	state   *tools.State
	plugins *plugin.Plugins  // nil if there are none
	servers *mcphost.Servers // nil if the session has none
	rec     *recorder        // nil if it is not recorded

	mu    sync.Mutex
	model *chosen
	mode  string // permission mode
	past  past   // the conversation so far
	turn  string
	stop  context.CancelCauseFunc // ends the turn
	// steered is what people said during the turn and the model has yet to hear; deaf
	// says that it will hear nothing more in this turn.
	steered []message
	deaf    bool
	// idle is closed when the end of the turn is reported; nil if there is nothing to wait for.
	idle chan struct{}
	// replaced says that a prompt came while the agent worked by itself: for the engine
	// it is the same turn.
	replaced bool
	last     terret.Settings // of the last turn, but for what is only for one turn
	tasks    map[string]*task
	context  int64       // tokens of the conversation at the last answer
	spent    terret.Cost // by the session
	warned   []string    // what was said about plugins
	before   spending    // of work that counts for the next turn
}

// spending is what calls to models used.
type spending struct {
	usage terret.Usage
	cost  terret.Cost
}

// interrupted is the error of an interrupted turn.
func interrupted() *terret.Error {
	return terret.Errorf(terret.CodeInterrupted, "the turn was interrupted")
}

// Prompt implements terret.Agent.
func (a *agent) Prompt(ctx context.Context, turn string, p terret.Prompt, in terret.Settings) error {
	return a.start(ctx, turn, in, func(ctx context.Context, t *turnRun) error {
		return t.converse(ctx, p)
	})
}

// converse tells the model something, and works until it has no more to do.
func (t *turnRun) converse(ctx context.Context, p terret.Prompt) error {
	if blocked, err := t.promptBlocked(ctx, p); blocked || err != nil {
		return err
	}
	// Some may have ended, or have other tools now.
	if t.a.servers != nil {
		t.a.servers.Refresh(ctx)
		t.generation = t.a.servers.Generation()
	}
	if err := t.a.refreshPlugins(ctx); err != nil {
		return err
	}
	if t.a.servers != nil || t.a.plugins != nil {
		t.tools = t.available()
	}
	blocked, add, err := t.promptHooked(ctx, p)
	if blocked || err != nil {
		return err
	}
	t.a.rec.said(p)
	t.a.begin(t.id, p)
	if len(add) > 0 {
		t.add(message{role: terret.RoleUser, blocks: add, turn: t.id})
		if err := t.emit(ctx, terret.UserPrompt{Blocks: add}); err != nil {
			return err
		}
	}
	return t.loop(ctx)
}

// start starts a turn that does that work. If the agent works by itself, it waits until
// that is done: then both are one turn.
func (a *agent) start(wait context.Context, turn string, in terret.Settings, work func(context.Context, *turnRun) error) error {
	t, err := a.newTurn(turn, in)
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for a.turn == byItself && a.life.Err() == nil {
		a.replaced = true
		idle := a.idle
		a.mu.Unlock()
		select {
		case <-idle:
		case <-wait.Done():
		}
		a.mu.Lock()
		if wait.Err() != nil {
			if a.idle == idle {
				a.replaced = false // it ends as its own turn after all
			}
			return context.Cause(wait)
		}
	}
	if a.life.Err() != nil {
		return terret.Errorf(terret.CodeSessionClosed, "the agent is closed")
	}
	if a.turn != "" {
		return terret.Errorf(terret.CodeSessionBusy, "the agent is busy with turn %s", a.turn)
	}
	ctx, stop := context.WithCancelCause(a.life)
	a.begins(turn, stop)
	a.last = in
	a.last.Model, a.last.PermissionMode, a.last.OutputSchema = "", "", nil
	t.usage, t.cost, a.before = a.before.usage, a.before.cost, spending{}
	a.work.Go(func() {
		defer stop(nil)
		a.run(ctx, t, work)
	})
	return nil
}

// Steer implements terret.Steerer. The model hears it with its next call.
func (a *agent) Steer(_ context.Context, turn string, p terret.Prompt) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.turn != turn || a.deaf {
		return terret.Errorf(terret.CodeConflict, "the turn has just ended; send the prompt again")
	}
	a.steered = append(a.steered, message{role: terret.RoleUser, blocks: p.Blocks, turn: turn})
	return nil
}

// hear moves what people said during the turn into the conversation, and reports
// whether there was anything. If not, and it is the last chance, nothing more is taken.
func (a *agent) hear(last bool) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	heard := len(a.steered) > 0
	a.past.messages = append(slices.Clip(a.past.messages), a.steered...)
	a.steered, a.deaf = nil, last && !heard
	return heard
}

// Interrupt implements terret.Agent.
func (a *agent) Interrupt(_ context.Context, turn string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if (a.turn == turn || a.turn == byItself) && a.stop != nil {
		a.stop(interrupted())
	}
	return nil
}

// Close implements terret.Agent. It uses force at once, and waits until everything that
// a command has started is gone.
func (a *agent) Close(context.Context) error {
	a.mu.Lock() // otherwise a turn could begin while we wait
	a.end(interrupted())
	a.mu.Unlock()
	a.work.Wait()
	return errors.Join(a.closeServers(), a.closePlugins(), a.state.Close(), a.rec.close())
}

// closeServers ends the session's MCP servers, if it has any.
func (a *agent) closeServers() error {
	if a.servers == nil {
		return nil
	}
	return a.servers.Close()
}

// states say how the session's MCP servers are.
func (a *agent) states() []terret.MCPServer {
	if a.servers == nil {
		return nil
	}
	return a.servers.States()
}

// remote are the tools of the program that embeds us, of plugins and of the session's MCP
// servers.
func (a *agent) remote() []tools.Tool {
	out := a.added
	if a.plugins != nil {
		out = slices.Concat(out, a.plugins.Tools())
	}
	if a.servers != nil {
		out = slices.Concat(out, a.servers.Tools())
	}
	return out
}

// Capabilities implements terret.Agent.
func (a *agent) Capabilities() terret.Capabilities {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.model.capabilities()
}

// SetModel implements terret.ModelSetter. It takes effect from the next call on.
func (a *agent) SetModel(_ context.Context, name string) error {
	m, err := a.driver.choose(name, a.req.Settings)
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.model = m
	return nil
}

// Models implements terret.ModelLister.
func (a *agent) Models(ctx context.Context) ([]terret.Model, error) { return a.driver.Models(ctx) }

// SetPermissionMode implements terret.ModeSetter. It takes effect from the next tool
// use on.
func (a *agent) SetPermissionMode(_ context.Context, mode string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.mode = mode
	return nil
}

// Rewind implements terret.Rewinder.
func (a *agent) Rewind(ctx context.Context, messageID string) error {
	return a.travel(func() error {
		if !a.past.rewind(messageID) && !a.recall(ctx, messageID) {
			return terret.Errorf(terret.CodeNotFound, "there is no prompt %q in the conversation", messageID)
		}
		return nil
	})
}

// Forward implements terret.Rewinder.
func (a *agent) Forward(context.Context) error {
	return a.travel(func() error {
		if !a.past.forward() {
			return terret.Errorf(terret.CodeConflict, "nothing to redo in the conversation")
		}
		return nil
	})
}

// recall goes back to before a prompt of which only the log has the id, such as that of
// a command. a.mu must be held.
func (a *agent) recall(ctx context.Context, messageID string) bool {
	line, err := lineageOf(a.req.Session.ID, string(a.req.Session.NativeID))
	if err != nil {
		return false
	}
	p, err := rebuild(ctx, a.req.History, line)
	if err != nil || !p.rewind(messageID) {
		return false
	}
	a.past = p
	return true
}

// travel changes the conversation between turns. The engine writes the change to the
// log; until then a reopened agent starts as if nothing had changed.
func (a *agent) travel(move func() error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.life.Err() != nil {
		return terret.Errorf(terret.CodeSessionClosed, "the agent is closed")
	}
	if a.turn != "" {
		return terret.Errorf(terret.CodeSessionBusy, "the agent is busy with turn %s", a.turn)
	}
	return move()
}

// begin adds a prompt to the conversation. If the log was read during the turn, it
// already has it.
func (a *agent) begin(turn string, p terret.Prompt) {
	a.mu.Lock()
	defer a.mu.Unlock()
	said := slices.DeleteFunc(slices.Clone(a.past.messages), func(m message) bool { return m.turn != "" && m.turn == turn })
	a.past.messages = append(said, message{role: terret.RoleUser, blocks: p.Blocks, turn: turn, id: p.MessageID})
	a.past.undone = nil
}

// conversation is what the model gets.
func (a *agent) conversation() []message { return repaired(a.past.messages, a.past.results) }

// add appends to the conversation.
func (a *agent) add(m message) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(m.blocks) > 0 {
		a.past.messages = append(slices.Clip(a.past.messages), m)
	}
}

// callID is the id of a new call: the model's own, unless it was used before.
func (a *agent) callID(id string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if id == "" || a.past.calls[id] {
		id = terret.NewID("call_")
	}
	a.past.calls[id] = true
	return id
}
