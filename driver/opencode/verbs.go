package opencode

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/brief"
)

// open returns the stay, begun if there is none. a.Switching must be held.
func (a *agent) open(ctx context.Context) (*stay, error) { return a.ready(ctx, a.settings()) }

// at is open for callers that do not hold a.Switching.
func (a *agent) at(ctx context.Context) (*stay, error) {
	a.Switching.Lock()
	defer a.Switching.Unlock()
	return a.open(ctx)
}

// Models implements terret.ModelLister.
func (a *agent) Models(ctx context.Context) ([]terret.Model, error) {
	s, err := a.at(ctx)
	if err != nil {
		return nil, err
	}
	var out []terret.Model
	for _, provider := range slices.Sorted(maps.Keys(s.about.models)) {
		for _, id := range slices.Sorted(maps.Keys(s.about.models[provider])) {
			m := s.about.models[provider][id]
			out = append(out, terret.Model{
				ID: provider + "/" + id, Name: m.Name, Context: m.Limit.Context, MaxOutput: m.Limit.Output,
				Efforts: slices.Sorted(maps.Keys(m.Variants)),
			})
		}
	}
	return out, nil
}

// SetModel implements terret.ModelSetter. Each prompt names the model.
func (a *agent) SetModel(_ context.Context, model string) error {
	if err := terret.CheckWord("model", model); err != nil {
		return err
	}
	if s := a.Current(); s != nil && model != "" {
		if _, err := s.about.choose(model); err != nil {
			return err
		}
	}
	a.mu.Lock()
	a.session.model = model
	a.mu.Unlock()
	return nil
}

// SetPermissionMode implements terret.ModeSetter. A mode is one of the roles in which
// the agent can work, such as build and plan.
func (a *agent) SetPermissionMode(ctx context.Context, mode string) error {
	s, err := a.at(ctx)
	if err != nil {
		return err
	}
	if _, err := s.about.primary(mode); err != nil {
		return err
	}
	a.mu.Lock()
	a.session.mode = mode
	a.mu.Unlock()
	return nil
}

func commandsOf(all []commandInfo) []terret.Command {
	out := []terret.Command{}
	for _, c := range all {
		out = append(out, terret.Command{Name: c.Name, Description: c.Description, Hint: strings.Join(c.Hints, " ")})
	}
	return out
}

// Commands implements terret.CommandLister.
func (a *agent) Commands(ctx context.Context) ([]terret.Command, error) {
	s, err := a.at(ctx)
	if err != nil {
		return nil, err
	}
	return commandsOf(s.about.commands), nil
}

// Command implements terret.Commander.
func (a *agent) Command(ctx context.Context, turn, name, args string, in terret.Settings) error {
	if err := checkSettings(in); err != nil {
		return err
	}
	a.Switching.Lock()
	defer a.Switching.Unlock()
	s, err := a.ready(ctx, in)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(s.about.commands, func(c commandInfo) bool { return c.Name == name })
	if i < 0 {
		return terret.Errorf(terret.CodeNotFound, "OpenCode has no command %q", name)
	}
	if c := s.about.commands[i]; c.Agent != "" {
		if why := s.unwatched(c.Agent); why != "" {
			return terret.Errorf(terret.CodeForbidden, "%s", why)
		}
	}
	prompt, err := s.body(terret.Prompt{}, in)
	if err != nil {
		return err
	}
	body := map[string]any{"command": name, "arguments": args, "agent": prompt.Agent}
	if s.about.commands[i].Agent != "" {
		delete(body, "agent")
	}
	if prompt.Model != nil {
		body["model"] = prompt.Model.String()
	}
	if prompt.Variant != "" {
		body["variant"] = prompt.Variant
	}
	return s.run(ctx, turn, prompt.Agent, in, s.lasting("/session/"+s.native+"/command", body))
}

// Compact implements terret.Compacter. The agent takes no instructions.
func (a *agent) Compact(ctx context.Context, turn, instructions string, in terret.Settings) error {
	a.Switching.Lock()
	defer a.Switching.Unlock()
	s, err := a.ready(ctx, in)
	if err != nil {
		return err
	}
	prompt, err := s.body(terret.Prompt{}, in)
	if err != nil {
		return err
	}
	if prompt.Model == nil {
		return terret.Errorf(terret.CodeInvalidRequest, "say which model is to write the summary: the session has none")
	}
	if instructions != "" {
		err := a.Req.Host.Emit(ctx, []terret.Event{{Data: terret.DiagWarning{Text: "OpenCode takes no instructions for a compaction: " + brief.Cut(instructions, diagLimit)}}}, nil)
		if err != nil {
			return err
		}
	}
	return s.run(ctx, turn, prompt.Agent, in, s.lasting("/session/"+s.native+"/summarize", prompt.Model))
}

// Rename implements terret.Renamer.
func (a *agent) Rename(ctx context.Context, title string) error {
	s := a.Current()
	if s == nil || title == "" {
		return nil // then the title is ours alone
	}
	return s.c.patch(ctx, "/session/"+s.native, map[string]any{"title": title})
}

// Fork implements terret.Forker.
func (a *agent) Fork(ctx context.Context, messageID string) (string, error) {
	s, err := a.at(ctx)
	if err != nil {
		return "", err
	}
	before := "" // the copy ends before that message
	if undone := a.Undone(); len(undone) > 0 {
		before = undone[0]
	}
	if messageID != "" {
		all, err := s.c.messages(ctx, s.native, 0)
		if err != nil {
			return "", err
		}
		at := find(all, messageID)
		if at < 0 {
			return "", unknownMessage(messageID)
		}
		if at+1 < len(all) && (before == "" || all[at+1].Info.ID < before) {
			before = all[at+1].Info.ID
		}
	}
	body := map[string]any{}
	if before != "" {
		body["messageID"] = before
	}
	var made sessionInfo
	if err := s.c.post(ctx, "/session/"+s.native+"/fork", body, &made); err != nil {
		return "", s.diagnose(err)
	}
	return made.ID, nil
}

// find is where a message is: by the agent's id, by ours, or by that of a part.
func find(all []storedMessage, id string) int {
	return slices.IndexFunc(all, func(m storedMessage) bool {
		return m.Info.ID == id || slices.ContainsFunc(m.Parts, func(p part) bool { return p.ID == id || p.Metadata[messageKey] == id })
	})
}

func unknownMessage(id string) error {
	return terret.Errorf(terret.CodeNotFound, "OpenCode does not know the message %s in this session", id)
}

// Rewind implements terret.Rewinder. The files are ours to take back.
func (a *agent) Rewind(ctx context.Context, messageID string) error {
	s, err := a.at(ctx)
	if err != nil {
		return err
	}
	all, err := s.c.messages(ctx, s.native, 0)
	if err != nil {
		return s.diagnose(err)
	}
	at := find(all, messageID)
	if at < 0 {
		return unknownMessage(messageID)
	}
	return a.goTo(ctx, s, append([]string{all[at].Info.ID}, a.Undone()...))
}

// Forward implements terret.Rewinder.
func (a *agent) Forward(ctx context.Context) error {
	_, undone, err := a.Redo()
	if err != nil {
		return err
	}
	s, err := a.at(ctx)
	if err != nil {
		return err
	}
	return a.goTo(ctx, s, undone)
}

// goTo makes the conversation end before the first of those messages, or be whole if
// there is none.
func (a *agent) goTo(ctx context.Context, s *stay, undone []string) error {
	var err error
	if len(undone) > 0 {
		err = s.c.post(ctx, "/session/"+s.native+"/revert", map[string]any{"messageID": undone[0]}, nil)
	} else {
		err = s.c.post(ctx, "/session/"+s.native+"/unrevert", nil, nil)
	}
	if err != nil {
		return s.diagnose(err)
	}
	return a.Undo(ctx, undone)
}
