package acp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/rpc"
)

// picked is what may change while a process runs.
type picked struct{ model, mode string }

// setUp gives the session the model, the mode and the effort of the turn.
func (a *agent) setUp(ctx context.Context, p *process, in terret.Settings) error {
	a.mu.Lock()
	want := picked{cmp.Or(in.Model, a.session.model), cmp.Or(in.PermissionMode, a.session.mode, a.d.p.Mode)}
	a.mu.Unlock()
	if want.model == "" && a.began.model != "" {
		want.model = a.began.model // what it was before a turn had its own
	}
	if want.mode == "" {
		want.mode = a.began.mode
	}
	if err := a.setModel(ctx, p, want.model); err != nil {
		return err
	}
	if err := a.setMode(ctx, p, want.mode); err != nil {
		return err
	}
	return a.setEffort(ctx, p, in.Effort)
}

// now is a copy of what the agent said of its session last.
func (a *agent) now() state {
	a.telling.Lock()
	defer a.telling.Unlock()
	return a.state
}

// setModel chooses a model, if it is another.
func (a *agent) setModel(ctx context.Context, p *process, model string) error {
	s := a.now()
	if model == "" || model == s.model {
		return nil
	}
	var err error
	switch o := s.option("model"); {
	case o != nil:
		err = a.setOption(ctx, p, o.ID, closest(o.values(), model))
	case s.Models != nil:
		var all []value
		for _, m := range s.Models.Available {
			all = append(all, value{Value: m.ID, Name: m.Name})
		}
		err = p.call(ctx, methodSetModel, object{"sessionId": a.native, "modelId": closest(all, model)}, nil)
	default:
		return nil // it has one model, and does not say which
	}
	if err != nil && a.d.p.auth(a.env) == "missing" {
		return a.notSignedIn(p.Redact.String(err.Error())) // it does not know the models of others
	}
	if err != nil {
		return a.refused(p, terret.CodeModelNotFound, fmt.Sprintf("does not take the model %q", model), err)
	}
	a.telling.Lock()
	a.state.model = model
	a.telling.Unlock()
	return nil
}

// closest is the value with that name, or else the name.
func closest(values []value, name string) string {
	for _, v := range values {
		if v.Value == name {
			return name
		}
	}
	for _, v := range values {
		if v.Name == name {
			return v.Value
		}
	}
	return name
}

// setMode chooses a mode, if it is another and there is a choice.
func (a *agent) setMode(ctx context.Context, p *process, mode string) error {
	s := a.now()
	if mode == "" || mode == s.mode {
		return nil
	}
	var err error
	switch o := s.option("mode"); {
	case s.Modes != nil:
		err = p.call(ctx, methodSetMode, object{"sessionId": a.native, "modeId": mode}, nil)
	case o != nil:
		err = a.setOption(ctx, p, o.ID, mode)
	default:
		return terret.Invalid("permission_mode", "%s has no modes", p.title)
	}
	if err != nil {
		return a.refused(p, terret.CodeInvalidRequest, fmt.Sprintf("has no mode %q; it has %s", mode, strings.Join(s.modes(), ", ")), err)
	}
	a.telling.Lock()
	a.state.mode = mode
	a.telling.Unlock()
	return nil
}

// modes are those that can be chosen.
func (s state) modes() []string {
	var out []string
	if s.Modes != nil {
		for _, m := range s.Modes.Available {
			out = append(out, m.ID)
		}
	} else if o := s.option("mode"); o != nil {
		for _, v := range o.values() {
			out = append(out, v.Value)
		}
	}
	return out
}

// lent is an effort that a turn chose, and the one that the session had before.
type lent struct{ effort, before string }

// setEffort chooses how much the model thinks, where that can be chosen. Without a choice
// it goes back to what it was before a turn had its own, unless that has changed since:
// other models have other efforts.
func (a *agent) setEffort(ctx context.Context, p *process, effort string) error {
	s := a.now()
	o := s.option("thought_level")
	if o == nil {
		return nil
	}
	next := lent{effort, o.current()}
	if a.lent.effort == o.current() {
		next.before = a.lent.before
	}
	if effort == "" {
		effort, next = next.before, lent{}
		if !slices.ContainsFunc(o.values(), func(v value) bool { return v.Value == effort }) {
			effort = o.current()
		}
	}
	if o.current() != effort {
		if err := a.setOption(ctx, p, o.ID, effort); err != nil {
			return a.refused(p, terret.CodeInvalidRequest, fmt.Sprintf("does not take the effort %q", effort), err)
		}
	}
	a.lent = next
	return nil
}

func (a *agent) setOption(ctx context.Context, p *process, id, value string) error {
	var answer struct {
		Options []option `json:"configOptions"`
	}
	if err := p.call(ctx, methodSetOption, object{"sessionId": a.native, "configId": id, "value": value}, &answer); err != nil {
		return err
	}
	if answer.Options != nil {
		a.telling.Lock()
		a.state.options(answer.Options)
		a.telling.Unlock()
	}
	return nil
}

// refused says that the agent did not do as it was told.
func (a *agent) refused(p *process, code terret.ErrorCode, what string, err error) error {
	if refusal, ok := errors.AsType[*rpc.Error](err); ok {
		return terret.Errorf(code, "%s %s: %s", p.title, what, p.Redact.String(refusalText(refusal)))
	}
	return err
}

// Models implements terret.ModelLister.
func (a *agent) Models(context.Context) ([]terret.Model, error) {
	s := a.now()
	out := []terret.Model{}
	var efforts []string
	if o := s.option("thought_level"); o != nil {
		for _, v := range o.values() {
			efforts = append(efforts, v.Value)
		}
	}
	if o := s.option("model"); o != nil {
		for _, v := range o.values() {
			out = append(out, terret.Model{ID: v.Value, Name: v.Name, Efforts: efforts})
		}
	} else if s.Models != nil {
		for _, m := range s.Models.Available {
			out = append(out, terret.Model{ID: m.ID, Name: m.Name, Efforts: efforts})
		}
	}
	return out, nil
}

// SetModel implements terret.ModelSetter. It counts from the next prompt on.
func (a *agent) SetModel(_ context.Context, model string) error {
	if err := checkSettings(terret.Settings{Model: model}); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.session.model = model
	return nil
}

// SetPermissionMode implements terret.ModeSetter. It counts from the next prompt on.
func (a *agent) SetPermissionMode(_ context.Context, mode string) error {
	s := a.now()
	if all := s.modes(); all != nil && !slices.Contains(all, mode) {
		return terret.Invalid("permission_mode", "%s has no mode %q; use one of %s", a.d.p.title(), mode, strings.Join(all, ", "))
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.session.mode = mode
	return nil
}
