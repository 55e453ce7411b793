package native

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/native/internal/tools"
	"github.com/terret-dev/terret/internal/brief"
)

// The tools for commands in the background.
const (
	outputTool = "BashOutput"
	killTool   = "KillBash"
)

var taskTools = []toolSpec{
	{
		outputTool, "Returns what a command in the background has printed since you last asked, and whether it has ended.",
		json.RawMessage(`{"type":"object","properties":{"task_id":{"type":"string"}},"required":["task_id"],"additionalProperties":false}`),
	},
	{
		killTool, "Ends a command in the background, and everything that it has started.",
		json.RawMessage(`{"type":"object","properties":{"task_id":{"type":"string"}},"required":["task_id"],"additionalProperties":false}`),
	},
}

const (
	maxTasks  = 20     // commands in the background at a time
	maxEnded  = 20     // of which the output can still be read
	maxUnread = 30_000 // characters of their output that nobody has asked for
	maxNotice = 2000   // characters of it that the model is told when one ends
)

// task is a command in the background.
type task struct {
	id, title string
	kill      context.CancelFunc

	mu     sync.Mutex
	unread string
	ended  string // how; empty while it runs
	killed bool
}

// say adds to the output.
func (k *task) say(text string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.unread += text
	if over := len(k.unread) - maxUnread; over > 0 {
		k.unread = "[…]\n" + strings.ToValidUTF8(k.unread[over:], "")
	}
}

// read is the output that nobody has read, and how the task is.
func (k *task) read() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	out, status := k.unread, k.ended
	k.unread = ""
	if status == "" {
		status = "running"
	}
	if out == "" {
		out = "[no new output]"
	}
	return strings.TrimSuffix(out, "\n") + "\n[" + status + "]"
}

// inBackground starts a command and does not wait for it. It ends with the agent.
func (u *use) inBackground(ctx context.Context, ready *tools.Use) outcome {
	a := u.a
	if u.sub != nil {
		return u.failed(ctx, tools.Result{Text: "a subagent cannot run commands in the background"}, 0)
	}
	k := &task{id: terret.NewID("task_"), title: ready.Title}
	life, kill := context.WithCancel(a.life)
	k.kill = kill
	running, ok := a.keepTask(k)
	if !ok {
		kill()
		return u.failed(ctx, tools.Result{Text: fmt.Sprintf("there are %d commands in the background; end one with %s first", running, killTool)}, 0)
	}
	if err := u.emit(ctx, terret.TaskStart{ID: k.id, ToolID: u.call.ToolID, Type: "local_bash", Description: ready.Title}); err != nil {
		kill()
		a.dropTask(k)
		return outcome{text: brokenOff, failed: true, err: err}
	}
	a.work.Go(func() {
		defer kill()
		r, err := ready.Run(life, k.say)
		a.taskEnded(k, r, err)
	})
	return u.done(ctx, tools.Result{Text: fmt.Sprintf("It runs in the background as %s. You will be told when it ends.", k.id)}, 0)
}

// keepTask adds a command to those that the model can ask for, if there are not too many. Of
// those that have ended it forgets the oldest.
func (a *agent) keepTask(k *task) (running int, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var ended []string
	for _, id := range sorted(a.tasks) { // ids are in the order of time
		if !a.tasks[id].running() {
			ended = append(ended, id)
		}
	}
	if running = len(a.tasks) - len(ended); running >= maxTasks {
		return running, false
	}
	for _, id := range ended[:max(0, len(ended)-maxEnded)] {
		delete(a.tasks, id)
	}
	a.tasks[k.id] = k
	return running, true
}

// dropTask forgets a command that was not started.
func (a *agent) dropTask(k *task) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.tasks, k.id)
}

func (k *task) running() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.ended == ""
}

// taskEnded reports that a command has ended, and tells the model.
func (a *agent) taskEnded(k *task, r tools.Result, err error) {
	k.mu.Lock()
	status := "completed"
	switch {
	case k.killed || err != nil:
		status = "killed"
	case r.IsError:
		status = "failed"
	}
	k.ended = status
	rest := r.Remarks // the output itself was told before
	if rest == "" && r.IsError {
		rest = r.Text // it was not run
	}
	if rest != "" && k.unread != "" && !strings.HasSuffix(k.unread, "\n") {
		rest = "\n" + rest
	}
	k.unread += rest
	k.mu.Unlock()
	end := terret.TaskEnd{ID: k.id, Status: status, Summary: brief.Cut(r.Text, maxNotice)}
	if err := a.host.Emit(context.WithoutCancel(a.life), []terret.Event{{Data: end}}, nil); err != nil || a.life.Err() != nil || status == "killed" {
		return // nobody hears us, or whoever ended it knows
	}
	a.tell(fmt.Sprintf("[The background command %s (%s) has ended: %s]\n%s", k.id, k.title, status, brief.Cut(r.Text, maxNotice)))
}

// tell tells the model something: in the turn that runs, or else in one that the agent
// begins by itself. It returns when the model has heard it, or will.
func (a *agent) tell(text string) {
	blocks := []terret.Block{terret.Text(text)}
	for {
		a.mu.Lock()
		switch idle := a.idle; {
		case a.life.Err() != nil:
			a.mu.Unlock()
			return
		case a.turn != "" && !a.deaf:
			a.steered = append(a.steered, message{role: terret.RoleUser, blocks: blocks, turn: a.turn})
			a.mu.Unlock()
			_ = a.host.Emit(a.life, []terret.Event{{Data: terret.UserPrompt{Blocks: blocks}}}, nil) // if it fails, so does what follows
			return
		case idle != nil:
			a.mu.Unlock()
			<-idle
		default:
			a.mu.Unlock()
			if a.wakeUp(blocks) {
				return
			}
		}
	}
}

// wakeUp has a turn that nobody asked for. It reports whether it did: somebody may have
// come first.
func (a *agent) wakeUp(blocks []terret.Block) bool {
	a.mu.Lock()
	in := a.last
	a.mu.Unlock()
	t, err := a.newTurn("", in)
	if err != nil {
		a.req.Log.Debug("cannot begin a turn", "error", err)
		return true
	}
	a.mu.Lock()
	if a.turn != "" || a.idle != nil || a.life.Err() != nil {
		a.mu.Unlock()
		return false
	}
	ctx, stop := context.WithCancelCause(a.life)
	defer stop(nil)
	a.begins(byItself, stop)
	a.mu.Unlock()
	a.run(ctx, t, func(ctx context.Context, t *turnRun) error {
		if err := t.emit(ctx, terret.UserPrompt{Blocks: blocks}); err != nil {
			return err
		}
		t.add(message{role: terret.RoleUser, blocks: blocks})
		return t.loop(ctx)
	})
	return true
}

// byItself stands for the id of a turn that the agent began by itself: only the engine
// knows it.
const byItself = "(by itself)"

// begins notes that a turn begins. a.mu must be held.
func (a *agent) begins(turn string, stop context.CancelCauseFunc) {
	a.turn, a.stop, a.steered, a.deaf, a.idle, a.replaced = turn, stop, nil, false, make(chan struct{}), false
}

// supervise reads the output of a command in the background, or ends it.
func (u *use) supervise(ctx context.Context) outcome {
	var in struct {
		ID string `json:"task_id"`
	}
	if why := readInput(u.call.Name, u.call.Input, &in); why != "" {
		return u.refuse(ctx, why)
	}
	u.a.mu.Lock()
	k := u.a.tasks[in.ID]
	u.a.mu.Unlock()
	if k == nil {
		return u.refuse(ctx, fmt.Sprintf("there is no command %q in the background", brief.Cut(in.ID, 100)))
	}
	d, allowed, err := u.permit(ctx, &tools.Use{Title: u.call.Name + ": " + k.title}, true)
	switch {
	case err != nil:
		return u.interrupted(ctx, err, tools.Result{}, 0)
	case !allowed:
		return u.denied(ctx, d)
	case u.call.Name == killTool:
		k.mu.Lock()
		k.killed = k.ended == ""
		k.mu.Unlock()
		k.kill()
		return u.done(ctx, tools.Result{Text: "It is being ended."}, 0)
	}
	return u.done(ctx, tools.Result{Text: k.read()}, 0)
}
