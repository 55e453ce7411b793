package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"github.com/terret-dev/terret"
)

// asker asks the person at the terminal.
type asker struct {
	screen *screen
	keys   *keyboard
	by     string
	ahead  *ahead // what the person types if not an answer; may be nil
	back   func() // goes back to that; nil if nothing was asked yet
}

// read asks for a line. What was typed before the question appeared is no answer. The letters
// need no Enter, unless the person was writing something else: it may go on with one of them.
func (a *asker) read(ctx context.Context, prompt, letters string) (string, error) {
	if a.back == nil {
		a.back = a.ahead.aside(ctx)
	}
	if a.ahead != nil && a.ahead.draft.Text != "" {
		letters = ""
	}
	return a.keys.ask(ctx, a.screen, wanted{prompt: prompt, fresh: true, single: letters, drafts: a.ahead != nil})
}

// confirm asks the person at the terminal a question outside of turns, and reports whether
// the answer is yes. Ctrl-C and the signals that end the program leave the question, so
// that the terminal is as it was before.
func (a *app) confirm(ctx context.Context, prompt string) (bool, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	leave := func() { cancel(errLeft) }
	defer interrupts(leave, leave)()
	ask := &asker{screen: &screen{words: a.out, talk: a.err, colour: a.colour(a.err)}, keys: a.keyboard()}
	line, err := ask.read(ctx, prompt, "")
	word := strings.ToLower(strings.TrimSpace(line))
	return word == "y" || word == "yes", err
}

// ask asks about one request and returns the decision. The context ends when the
// request is decided elsewhere.
func (a *asker) ask(ctx context.Context, ev terret.Event) (terret.Decision, error) {
	a.screen.idle()
	defer func() {
		if a.back != nil {
			a.back()
			a.back = nil
		}
	}()
	d := terret.Decision{RequestID: ev.Expects.RequestID, Source: terret.ByUser, By: a.by}
	var err error
	switch q := ev.Data.(type) {
	case terret.PermissionRequest:
		err = a.permission(ctx, q, &d)
	case terret.QuestionRequest:
		err = a.questions(ctx, q, &d)
	case terret.PlanRequest:
		err = a.plan(ctx, q, &d)
	default:
		if !isHook(ev.Expects.Gate) {
			return d, terret.Errorf(terret.CodeUnsupported, "this kind of request cannot be answered here")
		}
		err = a.hook(ctx, ev, &d)
	}
	return d, err
}

func (a *asker) permission(ctx context.Context, q terret.PermissionRequest, d *terret.Decision) error {
	s := a.screen
	s.line("")
	s.line("%s %s", s.paint(amber, "?"), s.paint(bold, oneLine(q.Title)))
	switch {
	case q.Diff != "":
		a.showDiff(q.Diff)
	default:
		for line := range strings.Lines(detail(q)) {
			s.line("    %s", printable(strings.TrimRight(line, "\n")))
		}
	}
	if q.Reason != "" {
		s.line("  %s", s.paint(dim, oneLine(q.Reason)))
	}
	rule := ""
	choices, letters := "[y]es  [n]o…  [e]dit  [q] deny and stop", "yeq"
	if len(q.Suggestions) > 0 {
		rule = strings.Join(mapped(q.Suggestions, printable), ", ")
		choices, letters = "[y]es  [s]ession  [a]lways  [n]o…  [e]dit  [q] deny and stop", "ysaeq"
		s.line("  %s", s.paint(dim, "s and a save the rule "+rule))
	}
	d.InputHash = q.InputHash
	for {
		line, err := a.read(ctx, "  "+choices+" > ", letters)
		if err != nil {
			return err
		}
		word, reason := firstWord(line)
		switch word {
		case "y", "yes":
			d.Behavior = terret.BehaviorAllow
			return nil
		case "s", "session", "a", "always":
			if rule == "" {
				s.line("  there is no safe rule for this; answer y or n")
				continue
			}
			d.Behavior, d.Scope = terret.BehaviorAllow, terret.ScopeSession
			if strings.HasPrefix(word, "a") {
				d.Scope = terret.ScopeAlways
			}
			return nil
		case "n", "no", "q", "quit":
			d.Behavior, d.Reason, d.Interrupt = terret.BehaviorDeny, reason, strings.HasPrefix(word, "q")
			return nil
		case "e", "edit":
			var edited terret.JSON
			a.keys.lend(func() { edited, err = editInput(ctx, q.Input) })
			if err != nil {
				s.line("  %s", err)
				continue
			}
			d.Behavior, d.UpdatedInput = terret.BehaviorAllow, edited
			return nil
		}
		s.line("  type one of the letters; after n you can add a reason")
	}
}

// firstWord splits an answer into its first word, in small letters, and the rest.
func firstWord(line string) (word, rest string) {
	word, rest, _ = strings.Cut(strings.TrimSpace(line), " ")
	return strings.ToLower(word), strings.TrimSpace(rest)
}

// refuse is the decision when nobody is left to ask.
func (a *asker) refuse(ev terret.Event) terret.Decision {
	return terret.Decision{RequestID: ev.Expects.RequestID, Source: terret.ByUser, By: a.by, Behavior: ev.Expects.Gate.Refusal(), Reason: errNoInput.Message}
}

// detail describes in full what a tool is about to do.
func detail(q terret.PermissionRequest) string {
	var in struct{ Command string }
	if json.Unmarshal(q.Input, &in) == nil && in.Command != "" {
		return in.Command
	}
	pretty, err := json.MarshalIndent(json.RawMessage(q.Input), "", "  ")
	if err != nil {
		return string(q.Input)
	}
	return string(pretty)
}

const maxDiffLines = 60

func (a *asker) showDiff(diff string) {
	lines := strings.Split(strings.TrimRight(diff, "\n"), "\n")
	for i, line := range lines {
		if i == maxDiffLines {
			a.screen.line("    %s", a.screen.paint(dim, fmt.Sprintf("… %d more lines", len(lines)-i)))
			return
		}
		colour := ""
		switch {
		case strings.HasPrefix(line, "+"):
			colour = green
		case strings.HasPrefix(line, "-"):
			colour = red
		case strings.HasPrefix(line, "@@"):
			colour = cyan
		}
		line = printable(line)
		if colour != "" {
			line = a.screen.paint(colour, line)
		}
		a.screen.line("    %s", line)
	}
}

// editInput lets the person edit a tool's input in their editor.
func editInput(ctx context.Context, input terret.JSON) (terret.JSON, error) {
	f, err := os.CreateTemp("", "terret-input-*.json")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.Remove(f.Name()) }()
	pretty, err := json.MarshalIndent(json.RawMessage(input), "", "  ")
	if err != nil {
		pretty = input
	}
	if _, err := f.Write(append(pretty, '\n')); err != nil {
		return nil, err
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	editor := os.Getenv("VISUAL")
	if editor == "" {
		editor = os.Getenv("EDITOR")
	}
	if editor == "" {
		editor = "vi"
	}
	// EDITOR may include arguments, such as "code --wait".
	words := append(strings.Fields(editor), f.Name())
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	// Standard output may be redirected to a file; the person sees standard error.
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("the editor %s failed: %w", editor, err)
	}
	edited, err := os.ReadFile(f.Name())
	if err != nil {
		return nil, err
	}
	switch {
	case bytes.Equal(bytes.TrimSpace(edited), bytes.TrimSpace(pretty)): // also if they quit without saving
		return nil, errors.New("nothing was changed, so nothing was decided")
	case !json.Valid(edited):
		return nil, errors.New("this is not JSON; nothing was changed")
	}
	return edited, nil
}

func (a *asker) questions(ctx context.Context, q terret.QuestionRequest, d *terret.Decision) error {
	d.Behavior, d.Answers = terret.BehaviorAnswer, map[string]terret.Choice{}
	for _, one := range q.Questions {
		choice, err := a.question(ctx, one)
		if err != nil {
			return err
		}
		if choice == nil {
			d.Behavior, d.Answers = terret.BehaviorReject, nil
			return nil
		}
		d.Answers[one.ID] = choice
	}
	return nil
}

// question asks one question; nil means no answer.
func (a *asker) question(ctx context.Context, q terret.Question) (terret.Choice, error) {
	s := a.screen
	s.line("")
	s.line("%s %s", s.paint(amber, "?"), s.paint(bold, oneLine(q.Text)))
	for i, o := range q.Options {
		s.line("    %d  %s  %s", i+1, oneLine(o.Label), s.paint(dim, oneLine(o.Description)))
	}
	how := "a number, or your own words; empty for no answer"
	if q.Multi {
		how = "numbers separated by commas, or your own words; empty for no answer"
	}
	line, err := a.read(ctx, "  "+how+" > ", "")
	if err != nil {
		return nil, err
	}
	line = strings.TrimSpace(line)
	if line == "" {
		return nil, nil
	}
	if picked := pick(q, line); picked != nil {
		return picked, nil
	}
	return terret.Choice{line}, nil
}

// pick reads numbers of options.
func pick(q terret.Question, line string) terret.Choice {
	parts := []string{line}
	if q.Multi {
		parts = strings.Split(line, ",")
	}
	var out terret.Choice
	for _, p := range parts {
		n, err := strconv.Atoi(strings.TrimSpace(p))
		if err != nil || n < 1 || n > len(q.Options) {
			return nil
		}
		out = append(out, q.Options[n-1].Label)
	}
	return out
}

func (a *asker) plan(ctx context.Context, q terret.PlanRequest, d *terret.Decision) error {
	s := a.screen
	s.line("")
	s.line("%s %s", s.paint(amber, "?"), s.paint(bold, "The agent presents a plan"))
	for line := range strings.Lines(q.Plan) {
		s.line("    %s", printable(strings.TrimRight(line, "\n")))
	}
	for {
		line, err := a.read(ctx, "  [y]es, carry it out  [n]o, and say what to change > ", "y")
		if err != nil {
			return err
		}
		switch word, reason := firstWord(line); word {
		case "y", "yes":
			d.Behavior = terret.BehaviorApprove
			return nil
		case "n", "no":
			d.Behavior, d.Reason = terret.BehaviorRevise, reason
			return nil
		}
		s.line("  type y or n; after n say what to change")
	}
}
