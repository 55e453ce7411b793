package codex

import (
	"context"
	"slices"
	"strings"

	"github.com/terret-dev/terret"
)

// reviewCommand lets Codex review changes. All other commands are skills.
const reviewCommand = "review"

// skill is one that Codex has found.
type skill struct {
	Name        string `json:"name"`
	Path        string `json:"path"`
	Description string `json:"description"`
	Enabled     bool   `json:"enabled"`
}

// skills asks Codex for its skills. a.Switching must not be held.
func (a *agent) skills(ctx context.Context) ([]skill, error) {
	a.Switching.Lock()
	p, err := a.running(ctx)
	a.Switching.Unlock()
	if err != nil {
		return nil, err
	}
	var list struct {
		Data []struct {
			Skills []skill `json:"skills"`
		} `json:"data"`
	}
	if err := p.conn.Call(ctx, "skills/list", object{"cwds": []string{a.Req.Session.Cwd}}, &list); err != nil {
		return nil, refusal(err)
	}
	var out []skill
	for _, entry := range list.Data {
		for _, s := range entry.Skills {
			if s.Enabled && s.Name != reviewCommand {
				out = append(out, s)
			}
		}
	}
	return out, nil
}

// Commands implements terret.CommandLister.
func (a *agent) Commands(ctx context.Context) ([]terret.Command, error) {
	skills, err := a.skills(ctx)
	if err != nil {
		return nil, err
	}
	out := []terret.Command{{
		Name: reviewCommand, Description: "Review changes",
		Hint: "nothing for changes that are not committed, base BRANCH, commit SHA, or what to look at",
	}}
	for _, s := range skills {
		out = append(out, terret.Command{Name: s.Name, Description: s.Description})
	}
	return out, nil
}

// Command implements terret.Commander.
func (a *agent) Command(ctx context.Context, _, name, args string, in terret.Settings) error {
	if err := checkSettings(in); err != nil {
		return err
	}
	if name == reviewCommand {
		return a.run(ctx, in, func(p *process, params object) error {
			return p.startTurn(ctx, "review/start", object{"threadId": params["threadId"], "target": reviewTarget(args), "delivery": "inline"})
		})
	}
	skills, err := a.skills(ctx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(skills, func(s skill) bool { return s.Name == name })
	if i < 0 {
		return terret.Errorf(terret.CodeNotFound, "Codex has no command %q", name)
	}
	input := []object{{"type": "skill", "name": name, "path": skills[i].Path}}
	if args != "" {
		input = append(input, object{"type": "text", "text": args})
	}
	return a.run(ctx, in, func(p *process, params object) error {
		params["input"] = input
		return p.startTurn(ctx, "turn/start", params)
	})
}

// reviewTarget is what is to be reviewed.
func reviewTarget(args string) object {
	word, rest, _ := strings.Cut(strings.TrimSpace(args), " ")
	rest = strings.TrimSpace(rest)
	switch {
	case word == "":
		return object{"type": "uncommittedChanges"}
	case word == "base" && rest != "" && !strings.Contains(rest, " "):
		return object{"type": "baseBranch", "branch": rest}
	case word == "commit" && rest != "" && !strings.Contains(rest, " "):
		return object{"type": "commit", "sha": rest}
	}
	return object{"type": "custom", "instructions": args}
}
