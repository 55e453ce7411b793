package tui

import (
	"context"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/client"
)

// What several agents do together is shown as lists that open into its parts, and those into
// their sessions.

// into opens a session of such a part, if it has one.
func into(session string) func(m *model) tea.Cmd {
	return func(m *model) tea.Cmd {
		if session == "" {
			m.say(dim, "It has no session yet.")
		}
		return m.openID(session)
	}
}

// parts opens a list of parts.
func parts(p *picker) func(m *model) tea.Cmd {
	return func(m *model) tea.Cmd {
		m.overlay = p
		return nil
	}
}

// marked is a word for how something went, in its colour.
func marked(word string) line {
	k := map[string]look{
		"PASS": good, "CONCERNS": needs, "FAIL": bad, "passed": good, "failed": bad, "completed": good, "finished": good, "kept": good,
		"running": works, "waiting": needs, "interrupted": needs, "critical": bad, "high": bad, "medium": needs,
	}[word]
	return text(k, oneLine(word))
}

func when(t terret.Time) string { return t.Local().Format("2 Jan 15:04") }

func (m *model) team(string) tea.Cmd {
	return m.do(func(ctx context.Context, c *client.Client) (tea.Msg, error) {
		all, err := c.Team(ctx)
		p := &picker{name: "Team"}
		for _, x := range all {
			about := string(x.State)
			if x.Mail > 0 {
				about += "  " + count(x.Mail, "message")
			}
			p.choices = append(p.choices, choice{
				label: join(text(plain, x.Name), text(dim, "  "+x.Agent+"  "+oneLine(x.Detail))), about: about, words: x.Name + " " + x.Agent,
				pick: func(m *model) tea.Cmd { return m.openID(x.Session) },
			})
		}
		return orNone(p, err, "Nobody is in the team; `terret team spawn` adds somebody.")
	})
}

func (m *model) reviews(string) tea.Cmd {
	return m.do(func(ctx context.Context, c *client.Client) (tea.Msg, error) {
		all, err := c.Reviews(ctx)
		p := &picker{name: "Reviews"}
		for _, x := range all {
			p.choices = append(p.choices, choice{
				label: join(marked(firstOf(x.Verdict, x.State)), text(plain, "  "+oneLine(x.Template)), text(dim, "  "+count(len(x.Findings), "finding")+"  "+folderOf(x.Cwd)+"  "+flat(x.Summary))),
				about: when(x.CreatedAt), words: x.Template + " " + x.Verdict + " " + folderOf(x.Cwd) + " " + x.Summary, pick: parts(reviewParts(x)),
			})
		}
		return orNone(p, err, "There is no review; `terret review` makes one.")
	})
}

// reviewParts are the agents of a review, and what they have found.
func reviewParts(x client.Review) *picker {
	p := &picker{name: "Review: " + oneLine(x.Template)}
	sessions := map[string]string{}
	for _, a := range x.Agents {
		sessions[a.Agent] = a.Session
		verdict := firstOf(a.Verdict, x.State)
		if a.Error != "" {
			verdict = "failed"
		}
		p.choices = append(p.choices, choice{
			label: join(marked(verdict), text(plain, "  "+oneLine(a.Agent)), text(dim, "  "+flat(firstOf(a.Error, a.Summary)))),
			about: dollars(a.CostUSD), words: a.Agent + " " + a.Verdict + " " + a.Summary, pick: into(a.Session),
		})
	}
	for _, f := range x.Findings {
		at := oneLine(f.File)
		if f.Line > 0 {
			at = fmt.Sprintf("%s:%d", at, f.Line)
		}
		session := ""
		for _, by := range f.FoundBy {
			session = firstOf(session, sessions[by])
		}
		if session == "" && len(x.Agents) == 1 {
			session = x.Agents[0].Session
		}
		p.choices = append(p.choices, choice{
			label: join(marked(f.Severity), text(code, "  "+at), text(plain, "  "+flat(f.Message))),
			words: f.Severity + " " + at + " " + f.Message, pick: into(session),
		})
	}
	return p
}

func (m *model) races(string) tea.Cmd {
	return m.do(func(ctx context.Context, c *client.Client) (tea.Msg, error) {
		all, err := c.Races(ctx)
		p := &picker{name: "Races"}
		for _, x := range all {
			var racers strings.Builder
			for _, r := range x.Racers {
				racers.WriteString("  " + oneLine(r.Name))
			}
			names := racers.String()
			p.choices = append(p.choices, choice{
				label: join(marked(x.State), text(plain, "  "+flat(x.Task)), text(dim, names)),
				about: when(x.CreatedAt), words: x.Task + " " + x.State + names, pick: parts(raceParts(x)),
			})
		}
		return orNone(p, err, "There is no race; `terret race` starts one.")
	})
}

// raceParts are the agents of a race, and what they did.
func raceParts(x client.Race) *picker {
	p := &picker{name: "Race: " + flat(x.Task)}
	for _, r := range x.Racers {
		state := firstOf(r.Check, r.State)
		if x.Kept == r.Name {
			state = "kept"
		}
		p.choices = append(p.choices, choice{
			label: join(marked(state), text(plain, "  "+oneLine(r.Name)), text(dim, fmt.Sprintf("  +%d −%d in %s  ", r.Insertions, r.Deletions, count(r.Files, "file"))), text(dim, flat(firstOf(r.Error, r.Answer)))),
			about: dollars(r.CostUSD), words: r.Name + " " + state, pick: into(r.Session),
		})
	}
	return p
}

func (m *model) workflows(string) tea.Cmd {
	return m.do(func(ctx context.Context, c *client.Client) (tea.Msg, error) {
		all, err := c.Workflows(ctx)
		p := &picker{name: "Workflows"}
		for _, x := range all {
			done := 0
			for _, s := range x.Steps {
				if s.State == "completed" || s.State == "skipped" {
					done++
				}
			}
			p.choices = append(p.choices, choice{
				label: join(marked(x.State), text(plain, "  "+oneLine(x.Name)), text(dim, fmt.Sprintf("  %d of %s  %s", done, count(len(x.Steps), "step"), flat(firstOf(x.Detail, x.Input))))),
				about: when(x.CreatedAt), words: x.Name + " " + x.State + " " + x.Input, pick: parts(stepsOf(x)),
			})
		}
		return orNone(p, err, "No workflow has run; `terret workflow run` runs one.")
	})
}

// stepsOf are the steps of a run.
func stepsOf(x client.Run) *picker {
	p := &picker{name: "Workflow: " + oneLine(x.Name)}
	for _, s := range x.Steps {
		p.choices = append(p.choices, choice{
			label: join(marked(s.State), text(plain, "  "+oneLine(s.ID)), text(dim, "  "+oneLine(s.Agent)+"  "+flat(firstOf(s.Error, s.Output)))),
			about: dollars(s.CostUSD), words: s.ID + " " + s.Agent + " " + s.State, pick: into(s.Session),
		})
	}
	return p
}

func orNone(p *picker, err error, otherwise string) (tea.Msg, error) {
	if err == nil && len(p.choices) == 0 {
		return told{words: otherwise}, nil
	}
	return overlay(p), err
}
