package native

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/native/internal/tools"
)

// tool is something that the model can call: one that works on files and processes, or
// one that asks a person.
type tool struct {
	name string
	impl tools.Tool // unless it is askTool or planTool
	own  *toolSpec
}

func (t tool) spec() toolSpec {
	if t.own != nil {
		return *t.own
	}
	return toolSpec{name: t.impl.Name, description: t.impl.Description, schema: t.impl.Schema}
}

// allTools means all tools in a tool list.
const allTools = "default"

// available lists the agent's tools in a turn. remote are those of MCP servers.
func available(in terret.Settings, remote []tools.Tool, helpers map[string]helper, skills map[string]skill) []tool {
	var all []tool
	for _, impl := range slices.Concat(tools.All(), remote) {
		all = append(all, tool{name: impl.Name, impl: boxed(impl, in)})
	}
	for _, specs := range [][]toolSpec{ownTools, taskTools} {
		for i := range specs {
			all = append(all, tool{name: specs[i].name, own: &specs[i]})
		}
	}
	all = append(all, tool{name: todoTool, own: &todoSpec}, tool{name: taskTool, own: taskSpec(helpers)})
	if spec := skillSpec(skills); spec != nil {
		all = append(all, tool{name: skillTool, own: spec})
	}
	return slices.DeleteFunc(all, func(x tool) bool {
		named := func(list []string) bool {
			return slices.ContainsFunc(list, func(n string) bool { return n == x.name || ofServer(x.name, n) || n == "Bash" && ofBash(x.name) })
		}
		exists := in.Tools == nil || named(in.Tools) || slices.Contains(in.Tools, allTools)
		return !exists || named(in.RemovedTools)
	})
}

// ofBash reports whether a tool comes and goes with Bash.
func ofBash(tool string) bool { return tool == outputTool || tool == killTool }

// ofServer reports whether a tool is of the MCP server that a list names as a whole:
// mcp__SERVER, or mcp__SERVER__*.
func ofServer(tool, listed string) bool {
	server, ok := strings.CutPrefix(strings.TrimSuffix(listed, "__*"), "mcp__")
	return ok && !strings.Contains(server, "__") && strings.HasPrefix(tool, "mcp__"+server+"__")
}

func classOf(name string) terret.ToolClass {
	switch {
	case strings.HasPrefix(name, "mcp__"):
		return terret.ClassMCP
	case name == taskTool:
		return terret.ClassAgent
	case name == todoTool:
		return terret.ClassThink
	}
	if t, ok := tools.Find(name); ok {
		return terret.ToolClass(t.Class)
	}
	return terret.ClassOther
}

// use runs the calls of a message, and returns a result for each of them, in order,
// even if it fails. stop says that a person denied a call and said to stop.
func (t *turnRun) use(ctx context.Context, message string, calls []terret.Block) (results []terret.Block, stop bool, err error) {
	outcomes := make([]outcome, len(calls))
	var group sync.WaitGroup
	var before chan struct{} // closed when the previous edit is done
	for i, c := range calls {
		u := &use{turnRun: t, call: c, key: message + "/" + strconv.Itoa(i)}
		if classOf(c.Name) == terret.ClassEdit {
			u.before, before = before, make(chan struct{})
			u.after = before
		}
		group.Go(func() { outcomes[i] = u.run(ctx) })
	}
	group.Wait()
	for i, o := range outcomes {
		if err == nil {
			err = o.err
		}
		stop = stop || o.stop
		if o.denied {
			t.denials = append(t.denials, terret.Denial{ToolID: calls[i].ToolID, Tool: calls[i].Name, Input: calls[i].Input, Reason: strings.TrimPrefix(o.text, "denied: ")})
		}
		t.denials = append(t.denials, o.denials...)
		r := resultOf(calls[i], o.text, o.failed)
		r.Content = append(r.Content, o.images...)
		results = append(results, r)
	}
	return results, stop, err
}

// use is one call in progress.
type use struct {
	*turnRun
	call          terret.Block
	key           string // unique, whatever ids a model makes up
	before, after chan struct{}
}

// outcome is the result of a call.
type outcome struct {
	text   string // for the model
	images []terret.Block
	failed bool
	denied bool
	stop   bool
	err    error // ends the turn
	// denials are those of a subagent.
	denials []terret.Denial
}

func (u *use) run(ctx context.Context) outcome {
	if u.after != nil {
		defer close(u.after)
	}
	if u.before != nil {
		select {
		case <-u.before:
		case <-ctx.Done():
		}
	}
	if ctx.Err() != nil {
		return u.interrupted(ctx, context.Cause(ctx), tools.Result{}, 0)
	}
	i := slices.IndexFunc(u.tools, func(x tool) bool { return x.name == u.call.Name })
	switch {
	case i < 0:
		return u.refuse(ctx, fmt.Sprintf("there is no tool %s", u.call.Name))
	case !json.Valid(u.call.Input):
		return u.refuse(ctx, u.call.Name+": the input is not valid JSON; if the answer was cut off at its limit, make the call smaller")
	}
	if o, ok := u.replayed(ctx); ok {
		return o
	}
	switch u.call.Name {
	case askTool:
		return u.ask(ctx)
	case planTool:
		return u.plan(ctx)
	case structuredTool:
		return u.answer(ctx)
	case taskTool:
		return u.task(ctx)
	case skillTool:
		return u.learn(ctx)
	case todoTool:
		return u.todo(ctx)
	case outputTool, killTool:
		return u.supervise(ctx)
	}
	return u.work(ctx, u.tools[i].impl)
}

// pre is the event for the call before it runs.
func (u *use) pre() terret.ToolPre {
	return terret.ToolPre{ToolID: u.call.ToolID, Name: u.call.Name, Class: classOf(u.call.Name), Input: u.call.Input}
}

// refuse answers a call that cannot be carried out.
func (u *use) refuse(ctx context.Context, why string) outcome {
	if err := u.emit(ctx, u.pre()); err != nil {
		return outcome{text: why, failed: true, err: err}
	}
	return u.failed(ctx, tools.Result{Text: why}, 0)
}

// work runs a tool on files or processes, once it is allowed.
func (u *use) work(ctx context.Context, impl tools.Tool) outcome {
	env := tools.Env{Dir: u.a.req.Session.Cwd, Roots: u.settings.AddDirs, Environ: u.a.environ, Owner: u.a.req.Owner, State: u.state(), Wrap: u.a.wrap(u.settings), Ripgrep: u.a.driver.ripgrep()}
	if dir := env.State.Folder(); dir != "" {
		env.Roots = append(slices.Clip(env.Roots), dir)
	}
	if impl.Name == "Bash" {
		u.call.Input = terret.JSON(env.State.Fill(env, json.RawMessage(u.call.Input)))
	}
	ready, err := impl.Prepare(ctx, env, json.RawMessage(u.call.Input))
	switch {
	case ctx.Err() != nil:
		return u.interrupted(ctx, context.Cause(ctx), tools.Result{}, 0)
	case err != nil:
		return u.refuse(ctx, err.Error())
	}
	looks := classOf(impl.Name) == terret.ClassRead || classOf(impl.Name) == terret.ClassSearch
	if !looks && classOf(impl.Name) != terret.ClassFetch && u.planning() {
		return u.planFirst(ctx, ready)
	}
	d, allowed, err := u.permit(ctx, ready, looks && ready.Inside)
	switch {
	case err != nil:
		return u.interrupted(ctx, err, tools.Result{}, 0)
	case !allowed:
		return u.denied(ctx, d)
	}
	edited := ""
	if len(d.UpdatedInput) > 0 {
		if ready, err = impl.Prepare(ctx, env, json.RawMessage(d.UpdatedInput)); err != nil {
			return u.failed(ctx, tools.Result{Text: err.Error()}, 0)
		}
		edited = fmt.Sprintf("[The input was changed before the tool ran, to %s]\n", d.UpdatedInput)
	}
	if o, stays := u.staysIn(ctx, ready); !stays {
		return o
	}
	if ready.Background {
		return u.inBackground(ctx, ready)
	}
	began := time.Now()
	r, err := ready.Run(ctx, func(text string) {
		// A lost line of progress does no harm: the result has everything.
		_ = u.emit(ctx, terret.ToolProgress{ToolID: u.call.ToolID, Text: text, ElapsedMS: time.Since(began).Milliseconds()})
	})
	r.Text = edited + r.Text
	u.remark(ctx, &r)
	switch took := time.Since(began); {
	case err != nil:
		return u.interrupted(ctx, err, r, took)
	case r.IsError:
		return u.failed(ctx, r, took)
	default:
		return u.done(ctx, r, took)
	}
}

// permit reports the call and asks whether it may run. A look inside the session's
// folder passes a gate where usually nobody is asked; only if a rule leaves it open
// does it pass the other gate too. If somebody wants to decide there, everything passes
// it, and the other one unless it was decided.
func (u *use) permit(ctx context.Context, ready *tools.Use, look bool) (d terret.Decision, allowed bool, err error) {
	pre := u.pre()
	pre.Title, pre.Paths, pre.Diff = ready.Title, ready.Paths, ready.Diff
	if why, is, err := u.forbidden(ctx, pre); is || err != nil {
		return terret.Decision{Reason: why}, false, err
	}
	if look || u.wants(terret.GatePreTool) {
		d, err = u.decide(ctx, terret.Ask{Key: u.key + "/pre", Gate: terret.GatePreTool, Event: u.event(pre)})
		if err != nil {
			return d, false, err
		}
		switch {
		case d.Behavior == terret.BehaviorAllow, look && d.Behavior == terret.BehaviorPassthrough:
			return d, true, nil
		case d.Behavior == terret.BehaviorPassthrough: // the other gate decides
		case look && d.Behavior == terret.BehaviorAsk && d.Source != terret.ByRule && d.Source != terret.ByUser:
			return d, true, nil // only the policy, which would ask about everything
		case d.Behavior != terret.BehaviorAsk:
			return d, false, nil
		}
	} else if err := u.emit(ctx, pre); err != nil {
		return d, false, err
	}
	d, err = u.decide(ctx, terret.Ask{Key: u.key, Gate: terret.GatePermission, Event: u.event(terret.PermissionRequest{
		ToolID: pre.ToolID, Tool: pre.Name, Class: pre.Class, Input: pre.Input, Title: pre.Title, Diff: pre.Diff,
	})})
	return d, d.Behavior == terret.BehaviorAllow, err
}

// decide waits for a decision. It is an error if the wait ends without one.
func (t *turnRun) decide(ctx context.Context, q terret.Ask) (terret.Decision, error) {
	d, err := t.a.host.Ask(ctx, q)
	if err == nil {
		err = t.a.host.Delivered(ctx, d.RequestID)
	}
	switch {
	case err != nil:
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case d.Source == terret.ByInterrupt || d.Source == terret.ByAgentExit:
		err = interrupted() // we hear of it before we are interrupted
	}
	return d, err
}

// planFirst denies changes before a plan is approved.
func (u *use) planFirst(ctx context.Context, ready *tools.Use) outcome {
	const why = "the permission mode is plan: present a plan with " + planTool + " before you change anything"
	pre := u.pre()
	pre.Title, pre.Paths, pre.Diff = ready.Title, ready.Paths, ready.Diff
	if err := u.emit(ctx, pre, terret.PermissionDenied{ToolID: pre.ToolID, Tool: pre.Name, Reason: why}); err != nil {
		return outcome{text: why, failed: true, err: err}
	}
	return u.denied(ctx, terret.Decision{Reason: why})
}

func (u *use) denied(ctx context.Context, d terret.Decision) outcome {
	why := "denied"
	if d.Reason != "" {
		why += ": " + d.Reason
	}
	err := u.emit(ctx, terret.ToolFailure{ToolID: u.call.ToolID, Name: u.call.Name, Error: why, Denied: true, Content: []terret.Block{terret.Text(why)}})
	return outcome{text: why, failed: true, denied: true, stop: d.Interrupt, err: err}
}

// interrupted ends a call that was cut short. The result holds what there is.
func (u *use) interrupted(ctx context.Context, err error, r tools.Result, took time.Duration) outcome {
	text := brokenOff
	if r.Text != "" {
		text += "\n" + r.Text
	}
	_ = u.emit(context.WithoutCancel(ctx), terret.ToolFailure{ // err ends the turn anyway
		ToolID: u.call.ToolID, Name: u.call.Name, Error: "interrupted", Interrupted: true, Content: []terret.Block{terret.Text(text)},
		DurationMS: took.Milliseconds(), Structured: terret.JSON(r.Structured),
	})
	return outcome{text: text, failed: true, err: err}
}

func (u *use) failed(ctx context.Context, r tools.Result, took time.Duration) outcome {
	err := u.emit(ctx, terret.ToolFailure{
		ToolID: u.call.ToolID, Name: u.call.Name, Error: firstLine(r.Text), Content: []terret.Block{terret.Text(r.Text)},
		DurationMS: took.Milliseconds(), Structured: terret.JSON(r.Structured),
	})
	return outcome{text: r.Text, failed: true, err: err}
}

func (u *use) done(ctx context.Context, r tools.Result, took time.Duration) outcome {
	var images []terret.Block
	for _, i := range r.Images {
		images = append(images, terret.Block{Type: terret.BlockImage, MediaType: i.MediaType, Bytes: i.Data})
	}
	data := []terret.Data{terret.ToolPost{
		ToolID: u.call.ToolID, Name: u.call.Name, Content: append([]terret.Block{terret.Text(r.Text)}, images...), Diff: r.Diff,
		DurationMS: took.Milliseconds(), Structured: terret.JSON(r.Structured),
	}}
	for _, ch := range r.Changed {
		data = append(data, terret.FileChanged{Path: ch.Path, Change: string(ch.Kind), ToolID: u.call.ToolID})
	}
	return outcome{text: r.Text, images: images, err: u.emit(ctx, data...)}
}

func firstLine(s string) string {
	for i, r := range s {
		if r == '\n' || i > 200 {
			return s[:i]
		}
	}
	return s
}
