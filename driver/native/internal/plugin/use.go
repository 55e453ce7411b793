package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/terret-dev/terret/driver/native/internal/tools"
	"github.com/terret-dev/terret/internal/brief"
	"github.com/terret-dev/terret/internal/rpc"
)

const (
	// Class is the class of all tools of plugins.
	Class = "other"
	// prefix begins the names of their tools, as models know them.
	prefix = "plugin__"

	maxText = 100_000 // bytes of a result that the model gets
)

// call calls a plugin within a time limit. One that does not keep it is ended.
func (p *Plugins) call(ctx context.Context, r *running, patience time.Duration, method string, params, result any) error {
	p.mu.Lock()
	conn, problem := r.conn, r.problem
	p.mu.Unlock()
	if conn == nil {
		return fmt.Errorf("the plugin %s does not run (%s); it is started again with the next turn", r.Name, problem)
	}
	limited, done := context.WithTimeoutCause(ctx, patience, fmt.Errorf("it did not answer %s within %s", method, patience))
	defer done()
	err := conn.Call(limited, method, params, result)
	said, answered := errors.AsType[*rpc.Error](err)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case answered:
		return fmt.Errorf("the plugin %s: %s", r.Name, brief.Cut(said.Message, maxTold))
	case limited.Err() != nil:
		_ = conn.Close() // watch does the rest
	case errors.Is(err, rpc.ErrClosed):
		err = errors.New("it ended")
	}
	return fmt.Errorf("the plugin %s: %w; it is started again with the next turn", r.Name, err)
}

// Tools are those of all plugins that work.
func (p *Plugins) Tools() []tools.Tool {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []tools.Tool
	for _, r := range p.all {
		if r.conn == nil {
			continue
		}
		for _, t := range r.offer.Tools {
			name := prefix + r.Name + "__" + t.Name
			out = append(out, tools.Tool{Name: name, Class: Class, Description: t.Description, Schema: t.Schema, Prepare: p.prepare(r, t, name)})
		}
	}
	return out
}

func (p *Plugins) prepare(r *running, t tool, name string) func(context.Context, tools.Env, json.RawMessage) (*tools.Use, error) {
	return func(_ context.Context, _ tools.Env, input json.RawMessage) (*tools.Use, error) {
		var value map[string]any
		err := json.Unmarshal(input, &value)
		if err == nil {
			err = t.resolved.Validate(value)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: the input does not fit the schema: %w", name, err)
		}
		use := tools.Use{Tool: name, Class: Class, Title: brief.Line(r.Name + ": " + t.Name)}
		return use.Doing(func(ctx context.Context, tell func(string)) (tools.Result, error) {
			return p.run(ctx, r, t.Name, input, tell)
		}), nil
	}
}

// run runs a tool.
func (p *Plugins) run(ctx context.Context, r *running, name string, input json.RawMessage, tell func(string)) (tools.Result, error) {
	say, stop := tools.Updates(tell)
	defer stop()
	p.mu.Lock()
	p.calls++
	id := fmt.Sprintf("%s-%d", name, p.calls)
	r.news[id] = say
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		delete(r.news, id)
		p.mu.Unlock()
	}()
	var out struct {
		Text  string `json:"text"`
		Error bool   `json:"error"`
	}
	params := map[string]any{"name": name, "input": input, "call": id}
	if err := p.call(ctx, r, toolPatience, runTool, params, &out); err != nil {
		return tools.Result{}, err
	}
	return tools.Result{Text: brief.Cut(strings.ToValidUTF8(out.Text, "\uFFFD"), maxText), IsError: out.Error}, nil
}

// Commands are those of all plugins that work, by the name that people type.
func (p *Plugins) Commands() map[string]Command {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := map[string]Command{}
	for _, r := range p.all {
		if r.conn == nil {
			continue
		}
		for _, c := range r.offer.Commands {
			out[r.Name+":"+c.Name] = c
		}
	}
	return out
}

// Expand asks the plugin of a command for the prompt that it becomes.
func (p *Plugins) Expand(ctx context.Context, command, args string) (string, error) {
	plugin, name, _ := strings.Cut(command, ":")
	i := slices.IndexFunc(p.all, func(r *running) bool { return r.Name == plugin })
	if i < 0 {
		return "", fmt.Errorf("there is no plugin %s", plugin)
	}
	var out struct {
		Prompt string `json:"prompt"`
	}
	if err := p.call(ctx, p.all[i], hookPatience, runCommand, map[string]string{"name": name, "arguments": args}, &out); err != nil {
		return "", err
	}
	text := brief.Cut(strings.TrimSpace(strings.ToValidUTF8(out.Prompt, "\uFFFD")), maxText)
	if text == "" {
		return "", fmt.Errorf("the plugin %s answered /%s with an empty prompt", plugin, command)
	}
	return text, nil
}

// Verdict is what plugins said at a hook.
type Verdict struct {
	Blocked bool
	Why     string
	Add     string // to the result, or to the prompt
}

// Wants reports whether some plugin has that hook.
func (p *Plugins) Wants(hook string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.all, func(r *running) bool { return r.hasHook(hook) })
}

// Hook asks the plugins that have the hook, one after the other, until one blocks. A
// plugin that cannot answer blocks at PreTool and Prompt. The error is the context's.
func (p *Plugins) Hook(ctx context.Context, hook string, data map[string]any) (Verdict, error) {
	var v Verdict
	for _, r := range p.all {
		p.mu.Lock()
		has := r.hasHook(hook)
		p.mu.Unlock()
		if !has {
			continue
		}
		data["hook"] = hook
		var out struct {
			Block  bool   `json:"block"`
			Reason string `json:"reason"`
			Add    string `json:"add"`
		}
		err := p.call(ctx, r, hookPatience, runHook, data, &out)
		switch {
		case ctx.Err() != nil:
			return Verdict{}, context.Cause(ctx)
		case err != nil && (hook == PreTool || hook == Prompt):
			return Verdict{Blocked: true, Why: err.Error()}, nil
		case err != nil:
			p.o.Log.Warn("a plugin failed at a hook", "plugin", r.Name, "hook", hook, "error", err)
		case out.Block:
			return Verdict{Blocked: true, Why: brief.Cut(out.Reason, maxTold)}, nil
		case out.Add != "":
			v.Add = strings.TrimPrefix(v.Add+"\n"+brief.Cut(strings.ToValidUTF8(out.Add, "\uFFFD"), maxText), "\n")
		}
	}
	return v, nil
}
