// Package handover writes what a session's next agent has to know: the conversation,
// what people decided, the plan and the changed files, from the session's log. The
// account is bounded, and says what it leaves out.
package handover

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/brief"
)

// Limits of an account, in characters.
const (
	maxTalk    = 40_000 // all messages
	maxMessage = 6_000  // one of them
	maxPlan    = 8_000
	maxLine    = 300
)

// Limits of lists.
const (
	maxDecisions = 60
	maxFiles     = 200
)

// Log is where sessions are kept; every [terret.Store] is one.
type Log interface {
	Read(ctx context.Context, q terret.ReadQuery) ([]terret.Entry, error)
	Turns(ctx context.Context, session string) ([]terret.Turn, error)
}

// File is a file that the session has changed.
type File struct {
	Path   string
	Change string // created, modified or deleted
}

// maxMoves bounds how often a session may have moved before it gets a prompt.
const maxMoves = 100

// Sessions is a Log that also knows the sessions; every [terret.Store] is one.
type Sessions interface {
	Log
	Session(ctx context.Context, id string) (terret.Session, error)
}

// Source returns the session to tell about when s is continued: s itself, or, if nobody has
// prompted it yet, the nearest one before it that has turns. The ID is empty if there is none.
func Source(ctx context.Context, log Sessions, s terret.Session) (terret.Session, error) {
	for range maxMoves {
		turns, err := log.Turns(ctx, s.ID)
		switch {
		case err != nil:
			return terret.Session{}, err
		case len(turns) > 0:
			return s, nil
		case s.ForkedFrom == "":
			return terret.Session{}, nil
		}
		s, err = log.Session(ctx, s.ForkedFrom)
		if errors.Is(err, terret.ErrSessionNotFound) {
			return terret.Session{}, nil
		}
		if err != nil {
			return terret.Session{}, err
		}
	}
	return terret.Session{}, nil
}

// kinds are the kinds of events that the account is made of.
var kinds = []terret.Kind{
	terret.KindTurnStart, terret.KindUserPrompt, terret.KindMessageComplete, terret.KindTurnError, terret.KindPlanUpdate,
	terret.KindToolPre, terret.KindToolFailure, terret.KindCompactPost,
	terret.KindPermissionRequest, terret.KindQuestionRequest, terret.KindPlanRequest,
	terret.KindPermissionDecision, terret.KindQuestionDecision, terret.KindPlanDecision,
}

// Account tells what happened in a session, for an agent in the same folder. If files is nil,
// it is not known which have changed.
func Account(ctx context.Context, log Log, s terret.Session, files []File) (string, error) {
	a, err := collect(ctx, log, s)
	if err != nil {
		return "", err
	}
	return a.text(s, "which worked in this folder", files), nil
}

// Moved is Account for a session that continues on another node, in a copy of the folder.
func Moved(ctx context.Context, log Log, s, to terret.Session) (string, error) {
	a, err := collect(ctx, log, s)
	if err != nil {
		return "", err
	}
	where := fmt.Sprintf("which worked on another machine, in the folder %s. You work in a copy of it, %s: "+
		"commits, branches and changed files are there, what git ignores is not, nothing is staged, and nothing runs that was started there", line(s.Cwd), line(to.Cwd))
	return a.text(s, where, nil), nil
}

func collect(ctx context.Context, log Log, s terret.Session) (*account, error) {
	turns, err := log.Turns(ctx, s.ID)
	if err != nil {
		return nil, err
	}
	a := &account{undone: map[string]bool{}, asked: map[string]string{}, said: map[string]bool{}}
	for _, t := range turns {
		a.undone[t.ID] = t.Undone
		if t.Undone {
			a.takenBack++
		}
	}
	for q := (terret.ReadQuery{Session: s.ID, Kinds: kinds}); ; {
		entries, err := log.Read(ctx, q)
		if err != nil {
			return nil, err
		}
		if len(entries) == 0 {
			return a, nil
		}
		for _, e := range entries {
			ev, err := e.Decode()
			if err != nil {
				return nil, err
			}
			if !a.undone[ev.Turn] && (ev.Actor == "" || ev.Actor == terret.ActorRoot) {
				a.add(ev)
			}
			q.After = e.Seq
		}
	}
}

// account collects what there is to tell.
type account struct {
	undone    map[string]bool // turns
	takenBack int             // how many they are

	first   string // what the session began with
	talk    []string
	size    int // of talk
	dropped int // from the beginning of talk
	said    map[string]bool

	todo    []terret.PlanEntry
	plan    string
	asked   map[string]string // open requests, in words
	order   []string          // their ids
	decided []string
	settled int // decisions that were left out
}

func (a *account) add(ev terret.Event) {
	switch d := ev.Data.(type) {
	case terret.TurnStart:
		a.message("User", d.MessageID, d.Prompt)
	case terret.UserPrompt:
		a.message("User", d.MessageID, d.Blocks)
	case terret.MessageComplete:
		if who := map[terret.Role]string{terret.RoleAssistant: "Agent", terret.RoleUser: "User"}[d.Role]; who != "" {
			a.message(who, d.MessageID, d.Blocks)
		}
	case terret.TurnError:
		a.say("(The turn ended: " + brief.Line(d.Error.Message) + ")")
	case terret.CompactPost:
		if d.Summary != "" {
			a.say("(The agent's summary of what came before: " + bounded(d.Summary, maxMessage) + ")")
		}
	case terret.ToolPre:
		a.say("Tool " + d.Name + ": " + line(cmp.Or(d.Title, string(d.Input))))
	case terret.ToolFailure:
		a.say("Tool " + d.Name + " failed: " + line(d.Error))
	case terret.PlanUpdate:
		a.todo = d.Entries
	case terret.PermissionRequest:
		what := cmp.Or(d.Title, d.Tool)
		if what == d.Tool {
			what += " " + string(d.Input)
		}
		a.ask(d.RequestID, what)
	case terret.QuestionRequest:
		a.ask(d.RequestID, questions(d))
	case terret.PlanRequest:
		a.plan = d.Plan
		a.ask(d.RequestID, "the plan")
	}
	if d, ok := terret.DecisionOf(ev.Data); ok {
		a.decide(d)
	}
}

func (a *account) message(who, id string, blocks []terret.Block) {
	text := strings.TrimSpace(terret.TextOf(blocks))
	pictures := 0
	for _, b := range blocks {
		if b.Type == terret.BlockImage || b.Type == terret.BlockDocument {
			pictures++
		}
	}
	if pictures > 0 {
		text = strings.TrimSpace(text + fmt.Sprintf("\n[%d images or documents are left out]", pictures))
	}
	if text == "" || id != "" && a.said[id] {
		return
	}
	a.said[id] = true
	text = bounded(text, maxMessage)
	if a.first == "" && who == "User" {
		a.first = text
	}
	a.say(who + ": " + text)
}

// say adds to the conversation, and drops its beginning when it becomes too long.
func (a *account) say(text string) {
	a.talk, a.size = append(a.talk, text), a.size+len(text)
	for a.size > maxTalk && len(a.talk) > 1 {
		a.size -= len(a.talk[0])
		a.talk = a.talk[1:]
		a.dropped++
	}
}

func (a *account) ask(id, what string) {
	a.asked[id] = line(what)
	a.order = append(a.order, id)
}

// decide notes what people decided, and what was refused without them.
func (a *account) decide(d terret.Decision) {
	what, known := a.asked[d.RequestID]
	delete(a.asked, d.RequestID)
	person := d.Source == terret.ByUser || d.Source == terret.ByChannel
	if !known || !person && d.Behavior != terret.BehaviorDeny {
		return
	}
	text := string(d.Behavior) + ": " + what
	if d.Reason != "" {
		text += " (" + line(d.Reason) + ")"
	}
	var answers []string
	for _, id := range slices.Sorted(maps.Keys(d.Answers)) {
		answers = append(answers, line(strings.Join(d.Answers[id], ", ")))
	}
	if len(answers) > 0 {
		text += "; answered: " + strings.Join(answers, "; ")
	}
	if a.decided = append(a.decided, text); len(a.decided) > maxDecisions {
		a.decided, a.settled = a.decided[1:], a.settled+1
	}
}

func questions(d terret.QuestionRequest) string {
	var out []string
	for _, q := range d.Questions {
		out = append(out, q.Text)
	}
	return strings.Join(out, " ")
}

// line is text on one line.
func line(s string) string {
	out := brief.Cut(strings.Join(strings.Fields(s), " "), maxLine)
	if len(out) < len(strings.Join(strings.Fields(s), " ")) {
		out += "…"
	}
	return out
}

// bounded is the beginning and the end of a text that is too long, and says what is
// missing.
func bounded(s string, n int) string {
	all := []rune(s)
	if len(all) <= n {
		return s
	}
	half := n / 2
	return fmt.Sprintf("%s\n[%d characters are left out here]\n%s", string(all[:half]), len(all)-2*half, string(all[len(all)-half:]))
}
