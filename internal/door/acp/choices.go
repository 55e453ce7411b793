package acp

import (
	"context"
	"slices"

	"github.com/terret-dev/terret"
)

// offered are the policies that an editor can switch to, with words for people.
var offered = []configValue{
	{string(terret.PolicyAsk), terret.PolicyAsk.Title(), "Ask before anything that is not already allowed."},
	{string(terret.PolicyAcceptEdits), terret.PolicyAcceptEdits.Title(), "Edit files in the folder without asking; ask for the rest."},
	{string(terret.PolicyPlan), terret.PolicyPlan.Title(), "Look and plan; change nothing until you approve."},
	{string(terret.PolicyAutoApprove), terret.PolicyAutoApprove.Title(), "Do everything that no rule denies."},
}

// policies are those that are offered, and the one that is set.
func (s *session) policies() (list []configValue, now string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now = string(s.policy)
	for _, v := range offered {
		if v.Value == now {
			return offered, now
		}
	}
	return append(slices.Clip(offered), configValue{Value: now, Name: s.policy.Title()}), now
}

func (s *session) modes() object {
	list, now := s.policies()
	modes := make([]object, 0, len(list))
	for _, v := range list {
		modes = append(modes, object{"id": v.Value, "name": v.Name, "description": v.Description})
	}
	return object{"currentModeId": now, "availableModes": modes}
}

func (s *session) options() []configOption {
	list, now := s.policies()
	out := []configOption{{ID: "mode", Name: "Mode", Category: "mode", Type: "select", Current: now, Options: list}}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.models) == 0 {
		return out
	}
	model := configOption{ID: "model", Name: "Model", Category: "model", Type: "select", Current: s.model}
	found := false
	for _, m := range s.models {
		found = found || m.ID == s.model
		model.Options = append(model.Options, configValue{Value: m.ID, Name: m.Name})
	}
	if !found {
		name := s.model
		if name == "" {
			name = "Default"
		}
		model.Options = append([]configValue{{Value: s.model, Name: name}}, model.Options...)
	}
	return append(out, model)
}

// set changes an option of the session.
func (s *session) set(ctx context.Context, option, value string) (any, error) {
	var change terret.SessionUpdated
	switch option {
	case "mode":
		policy := terret.Policy(value)
		change.Policy = &policy
	case "model":
		change.Model = &value
	default:
		return nil, terret.Invalid("configId", "there is no option %q; there are mode and model", option)
	}
	c, err := s.d.client()
	if err != nil {
		return nil, err
	}
	record, err := c.UpdateSession(ctx, s.id, change)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.policy, s.model = record.Policy, record.Model
	s.mu.Unlock()
	return object{"configOptions": s.options()}, nil
}

// updated takes in what somebody has changed.
func (s *session) updated(d terret.SessionUpdated) {
	s.mu.Lock()
	if d.Policy != nil {
		s.policy = *d.Policy
	}
	if d.Model != nil {
		s.model = *d.Model
	}
	s.mu.Unlock()
	if d.Policy != nil {
		s.d.tell(s.id, object{"sessionUpdate": "current_mode_update", "currentModeId": *d.Policy})
	}
	if d.Policy != nil || d.Model != nil {
		s.d.tell(s.id, object{"sessionUpdate": "config_option_update", "configOptions": s.options()})
	}
}

// lookUp asks the agent which commands and models it has, which can take seconds, and
// tells the editor.
func (s *session) lookUp() {
	c, err := s.d.client()
	if err != nil {
		return
	}
	if commands, err := c.Commands(s.ctx, s.id); err == nil && len(commands) > 0 {
		s.mu.Lock()
		s.commands = commands
		s.mu.Unlock()
		s.told.commands(commands)
	}
	if models, err := c.Models(s.ctx, s.agent); err == nil && len(models) > 0 {
		s.mu.Lock()
		s.models = models
		s.mu.Unlock()
		s.d.tell(s.id, object{"sessionUpdate": "config_option_update", "configOptions": s.options()})
	}
}
