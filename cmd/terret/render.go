package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/terret-dev/terret"
)

// renderer shows events of a session as a conversation.
type renderer struct {
	screen   *screen
	streamed map[string]bool // messages whose text was shown piece by piece
	titles   map[string]string
	thinking bool
}

func newRenderer(s *screen) *renderer {
	return &renderer{screen: s, streamed: map[string]bool{}, titles: map[string]string{}}
}

// show shows one event. Requests are shown by the code that asks the person.
func (r *renderer) show(ev terret.Event) {
	s := r.screen
	switch d := ev.Data.(type) {
	case terret.MessageDelta:
		if ev.Actor == terret.ActorRoot {
			r.streamed[d.MessageID] = true
			r.thinking = false
			s.say(d.Text)
		}
	case terret.ReasoningDelta:
		if !r.thinking {
			r.thinking = true
			s.busy("thinking")
		}
	case terret.MessageComplete:
		r.message(ev, d)
	case terret.Notification:
		if !ev.Hidden() {
			s.line("%s %s", s.paint(cyan, "i"), oneLine(d.Text))
		}
	case terret.ToolPre:
		if ev.Visibility == terret.VisibleUI {
			r.toolBegins(d)
		}
	case terret.ToolProgress:
		if t := r.titles[d.ToolID]; t != "" {
			s.busy(t + "  " + oneLine(lastLine(d.Text)))
		}
	case terret.ToolPost:
		r.toolEnds(d.ToolID, s.paint(green, "✓"), summary(d.Content), d.DurationMS)
	case terret.ToolFailure:
		r.toolEnds(d.ToolID, s.paint(red, "✗"), oneLine(d.Error), d.DurationMS)
	case terret.PermissionDenied:
		s.line("%s %s was denied: %s", s.paint(red, "✗"), printable(d.Tool), oneLine(d.Reason))
	case terret.PlanUpdate:
		r.plan(d)
	default:
		r.showRest(ev)
	}
}

func (r *renderer) showRest(ev terret.Event) {
	s := r.screen
	switch d := ev.Data.(type) {
	case terret.Retry:
		s.line("%s attempt %d failed (%s); trying again in %s", s.paint(amber, "!"), d.Attempt, oneLine(d.Error), time.Duration(d.DelayMS)*time.Millisecond)
	case terret.RateLimit:
		s.line("%s rate limit: %s", s.paint(amber, "!"), printable(d.Kind))
	case terret.ModelFallback:
		s.line("%s %s answers instead of %s", s.paint(amber, "!"), printable(d.To), printable(d.From))
	case terret.DiagWarning:
		s.line("%s %s", s.paint(amber, "!"), oneLine(d.Text))
	case terret.SessionNativeID:
		if d.Reason == "stale" {
			s.line("%s the agent had lost the session and continues in a fresh one", s.paint(amber, "!"))
		}
	case terret.SessionStateChange:
		if d.State == terret.SessionStarting {
			s.busy("starting the agent")
		} else {
			s.started()
		}
	case terret.TurnComplete, terret.TurnError:
		s.idle()
		s.endWords()
	}
}

func (r *renderer) message(ev terret.Event, d terret.MessageComplete) {
	if d.Role != terret.RoleAssistant || ev.Actor != terret.ActorRoot {
		return
	}
	if !r.streamed[d.MessageID] && !ev.Hidden() {
		r.screen.say(terret.TextOf(d.Blocks))
	}
	delete(r.streamed, d.MessageID)
	r.screen.endWords()
}

// toolTitle says what a tool is to do, in one line.
func toolTitle(d terret.ToolPre) string {
	if d.Title != "" {
		return oneLine(d.Title)
	}
	return oneLine(d.Name + " " + inputSummary(d.Input))
}

func (r *renderer) toolBegins(d terret.ToolPre) {
	title := toolTitle(d)
	r.titles[d.ToolID] = title
	r.screen.line("%s %s", r.screen.paint(cyan, "●"), fit(title, 160))
	r.screen.busy(title)
}

// toolEnds shows how a tool ended. The time is the agent's own, so waiting for a person
// does not count.
func (r *renderer) toolEnds(id, mark, text string, ms int64) {
	title, ok := r.titles[id]
	if !ok {
		return
	}
	delete(r.titles, id)
	if len(r.titles) == 0 {
		r.screen.idle()
	}
	suffix := ""
	if took := time.Duration(ms) * time.Millisecond; took > 500*time.Millisecond {
		suffix = " " + elapsed(took)
	}
	if len(r.titles) > 0 { // several are running: say which
		text = title + ": " + text
	}
	r.screen.line("  %s %s%s", mark, r.screen.paint(dim, fit(text, 140)), r.screen.paint(dim, suffix))
}

func (r *renderer) plan(d terret.PlanUpdate) {
	for _, e := range d.Entries {
		mark := map[string]string{"completed": "✓", "in_progress": "▸"}[e.Status]
		if mark == "" {
			mark = "○"
		}
		r.screen.line("  %s %s", mark, oneLine(e.Text))
	}
}

// summary is the first line of a result, and the number of further lines.
func summary(blocks []terret.Block) string {
	text := strings.TrimSpace(terret.TextOf(blocks))
	first, rest, _ := strings.Cut(text, "\n")
	if rest == "" {
		return oneLine(first)
	}
	return fmt.Sprintf("%s (+%d lines)", oneLine(first), strings.Count(rest, "\n")+1)
}

func lastLine(text string) string {
	text = strings.TrimRight(text, "\n")
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// inputSummary sums up a tool's input in a few words.
func inputSummary(input terret.JSON) string {
	var fields map[string]any
	if json.Unmarshal(input, &fields) != nil {
		return ""
	}
	for _, name := range []string{"command", "file_path", "path", "pattern", "url", "query", "description"} {
		if v, ok := fields[name].(string); ok {
			return v
		}
	}
	return ""
}
