package tui

import (
	"fmt"
	"slices"
	"strings"

	"github.com/terret-dev/terret"
)

// about folds what the events say of the session.
func (c *conversation) about(e terret.Event) {
	switch d := e.Data.(type) {
	case terret.SessionStart:
		c.version = d.AgentVersion
		if d.Model != "" {
			c.model = d.Model
		}
		if len(d.Commands) > 0 {
			c.commands = d.Commands
		}
	case terret.SessionCommands:
		c.commands = d.Commands
	case terret.SessionStateChange:
		c.state = d.State
		switch d.State {
		case terret.SessionCompacting:
			c.act = "compressing its context"
		case terret.SessionRetrying:
			c.act = "trying again"
		case terret.SessionInterrupting:
			c.act = "stopping"
		case terret.SessionPending, terret.SessionStarting, terret.SessionIdle, terret.SessionBusy, terret.SessionWaiting, terret.SessionFailed, terret.SessionStale, terret.SessionClosed:
		}
	case terret.SessionUpdated:
		if d.Model != nil && *d.Model != "" {
			c.model = *d.Model
		}
	case terret.PlanUpdate:
		c.plan = d.Entries
	case terret.UsageUpdate:
		c.usage = d
	case terret.FileChanged:
		c.files[d.Path] = d.Change
		c.changes++
	case terret.CheckpointRewound:
		c.changes++
		c.mark(d)
		c.notice(e, good, rewound(d.Direction, len(d.Files)), strings.Join(d.Files, "\n"))
	default:
		c.news(e)
	}
}

// mark marks what was said in the turns that were taken back, or brought back.
func (c *conversation) mark(d terret.CheckpointRewound) {
	if d.Direction != "undo" && d.Direction != "redo" {
		return
	}
	for _, it := range c.items {
		if it.kind == itemUser && slices.Contains(d.Turns, it.turn) {
			it.undone = d.Direction == "undo"
			it.version++
		}
	}
}

func rewound(direction string, files int) string {
	switch {
	case direction == "undo" && files > 0:
		return "Reverted " + count(files, "file")
	case direction == "undo":
		return "Took the last turn back"
	case files > 0:
		return "Restored " + count(files, "file")
	}
	return "Brought the turn back"
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return number(n) + " " + what + "s"
}

func (c *conversation) notice(e terret.Event, level look, words, detail string) {
	c.add(e, &item{kind: itemNotice, text: words, note: detail, level: level})
}

// news folds what agents and the harness tell people.
func (c *conversation) news(e terret.Event) {
	switch d := e.Data.(type) {
	case terret.Notification:
		if e.Hidden() {
			return
		}
		words := d.Text
		if d.Title != "" {
			words = d.Title + ": " + words
		}
		level := dim
		switch d.Level {
		case "error":
			level = bad
		case "warning":
			level = needs
		}
		c.notice(e, level, words, "")
	case terret.DiagWarning:
		c.notice(e, needs, d.Text, "")
	case terret.SessionNativeID:
		if d.Reason == "stale" {
			c.notice(e, needs, "The agent lost this session; it goes on in a fresh one.", d.Error)
		}
	case terret.SessionAuth:
		if d.Status != "ok" {
			c.notice(e, needs, firstOf(d.Message, "Signing in: "+d.Status), strings.Join(d.Output, "\n"))
		}
	case terret.CompactPre:
		c.notice(e, dim, "The agent compresses its context.", "")
	case terret.CompactPost:
		words := "Context compressed."
		if d.TokensBefore > 0 {
			words = "Context compressed from " + amount(d.TokensBefore) + " to " + amount(d.TokensAfter) + " tokens."
		}
		c.notice(e, dim, words, d.Summary)
	case terret.Retry:
		c.notice(e, needs, fmt.Sprintf("The model did not answer; attempt %d in %s.", d.Attempt, took(millis(d.DelayMS))), d.Error)
	case terret.RateLimit:
		words := "Rate limit reached."
		if d.ResetsAt != nil {
			words = "Rate limit reached; it resets at " + d.ResetsAt.Local().Format("15:04") + "."
		}
		c.notice(e, needs, words, "")
	case terret.ModelFallback:
		c.notice(e, needs, oneLine(d.To)+" answers instead of "+oneLine(d.From)+".", d.Why)
	case terret.TaskStart:
		c.add(e, &item{kind: itemNotice, key: "task:" + d.ID, text: "In the background: " + firstOf(d.Description, d.Type, "a task"), level: dim})
	case terret.TaskEnd:
		if it := c.keys["task:"+d.ID]; it != nil {
			it.note = firstOf(d.Summary, d.Status)
			c.touch(e, it)
		}
	}
}
