package native

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/terret-dev/terret"
)

// The names of the moments at which somebody may decide. They are those that Claude Code
// has for them.
const (
	promptHook  = "UserPromptSubmit"
	compactHook = "PreCompact"
	subHook     = "SubagentStop"
)

// wants reports whether somebody wants to decide at the gate in this turn.
func (t *turnRun) wants(g terret.Gate) bool { return slices.Contains(t.settings.Gates, g) }

// blocked asks at a gate that somebody wants to decide at, and reports whether it was
// blocked there, and why.
func (t *turnRun) blocked(ctx context.Context, g terret.Gate, data terret.Data) (why string, is bool, err error) {
	if !t.wants(g) {
		return "", false, nil
	}
	d, err := t.decide(ctx, terret.Ask{Key: terret.NewID(terret.PrefixControl), Gate: g, Event: t.event(data)})
	return d.Reason, d.Behavior == terret.BehaviorBlock, err
}

// hook is the event of a moment that has no kind of its own.
func hook(name string, fields map[string]string) terret.HookEvent {
	data, err := json.Marshal(fields)
	if err != nil {
		panic(err) // strings always encode
	}
	return terret.HookEvent{Hook: name, Data: terret.JSON(data)}
}

// promptBlocked reports whether the model must not hear the prompt. The turn then ends
// with the reason.
func (t *turnRun) promptBlocked(ctx context.Context, p terret.Prompt) (bool, error) {
	why, blocked, err := t.blocked(ctx, terret.GatePrompt, hook(promptHook, map[string]string{"prompt": terret.TextOf(p.Blocks)}))
	if blocked {
		t.text, t.stopReason = because("The prompt was blocked", why), "blocked"
	}
	return blocked, err
}

// mayStop asks whether the turn may end. If not, the model is told why.
func (t *turnRun) mayStop(ctx context.Context) (bool, error) {
	why, blocked, err := t.blocked(ctx, terret.GateStop, terret.StopRequest{LastMessage: t.text, Again: t.again})
	if err != nil {
		return false, err
	}
	if !blocked {
		return t.stopHooked(ctx)
	}
	t.again = true
	t.a.add(notYet(why, t.id))
	return false, nil
}

// notYet tells the model that it may not stop.
func notYet(why, turn string) message {
	if why == "" {
		why = "Do not stop yet: go on."
	}
	return message{role: terret.RoleUser, blocks: []terret.Block{terret.Text(why)}, turn: turn}
}

// decided is what a decision in the log means for the conversation.
func (p *past) decided(d terret.Decision, turn string) {
	switch {
	case d.Behavior != terret.BehaviorBlock:
	case d.Gate == terret.GatePrompt:
		p.drop(turn)
	case d.Gate == terret.GateStop:
		p.messages = append(p.messages, notYet(d.Reason, turn))
	}
}

// asked is what a hook in the log means for it: a command to compact is not for the
// model, even if it was blocked, and neither is a prompt that a plugin blocked.
func (p *past) asked(d terret.HookEvent, turn string) {
	var data struct {
		Trigger string
		Blocked *string `json:"blocked_by_plugin"`
	}
	if json.Unmarshal(d.Data, &data) == nil && (d.Hook == compactHook && data.Trigger == manually || d.Hook == promptHook && data.Blocked != nil) {
		p.drop(turn)
	}
}
