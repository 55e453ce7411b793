package opencode

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/seat"
	"github.com/terret-dev/terret/internal/brief"
)

// call is a tool call of the running turn.
type call struct {
	id, name   string
	actor      string
	parentTool string
	message    string
	part       string
	input      terret.JSON
	read       bool // its input is known
	told       bool // with its input
	ended      bool
	denied     bool
	reason     string // of the denial
	output     string // so far
	began      time.Time
	known      chan struct{} // closed when the input is known
}

// call returns the call with that id, which is new unless it is known.
func (t *translator) call(id string) *call {
	c := t.calls[id]
	if c == nil {
		c = &call{id: id, began: t.now, known: make(chan struct{})}
		t.calls[id] = c
	}
	return c
}

// toolUpdated takes in how far a call is.
func (t *translator) toolUpdated(m *message, p part, index int) {
	if p.CallID == "" {
		return
	}
	c := t.call(p.CallID)
	if c.ended {
		return
	}
	if c.name == "" { // a tool that does not exist changes its name later
		c.name, c.actor, c.parentTool, c.message, c.part = t.opts.names.ours(p.Tool), m.actor, m.parentTool, m.info.ID, p.ID
		t.emit(c.actor, c.parentTool, terret.ToolStart{ToolID: c.id, Name: c.name, Class: classOf(c.name), MessageID: m.info.ID, Index: index})
	}
	if p.State.Status != "pending" {
		t.learn(c, p.State)
	}
	if p.State.Metadata.SessionID != "" && c.name == "task" {
		t.link(c, p.State.Metadata.SessionID)
	}
	switch p.State.Status {
	case "running":
		if rest, ok := strings.CutPrefix(p.State.Metadata.Output, c.output); ok && rest != "" {
			c.output = p.State.Metadata.Output
			t.emit(c.actor, c.parentTool, terret.ToolProgress{ToolID: c.id, Text: rest, ElapsedMS: t.now.Sub(c.began).Milliseconds()})
		}
	case "completed", "error":
		t.finish(c, p)
	}
}

// learn takes in the input of a call, and tells the call, unless that is done where it
// waits for rules.
func (t *translator) learn(c *call, s toolState) {
	if c.read {
		return
	}
	c.read, c.began, c.input = true, t.now, terret.JSON(s.Input)
	if !harmless(c.name) {
		t.tell(c)
	}
	close(c.known)
}

// tell tells a call with its input, once.
func (t *translator) tell(c *call) {
	if !c.told {
		c.told = true
		t.emit(c.actor, c.parentTool, t.toolPre(c, ""))
	}
}

// harmless reports whether a tool changes nothing, so that a person need not be asked
// about it if no rule says so.
func harmless(name string) bool {
	return name == "skill" || slices.Contains([]terret.ToolClass{terret.ClassRead, terret.ClassSearch, terret.ClassThink, terret.ClassAgent}, classOf(name))
}

func (t *translator) toolPre(c *call, diff string) terret.ToolPre {
	var f toolInput
	seat.Decode(c.input, &f)
	return terret.ToolPre{
		ToolID: c.id, Name: c.name, Class: classOf(c.name), Input: c.input,
		Title: f.title(c.name, t.opts.cwd), Paths: f.paths(), Diff: diff,
	}
}

// finish tells what came of a call.
func (t *translator) finish(c *call, p part) {
	c.ended = true
	t.tell(c)
	s := p.State
	took := t.now.Sub(c.began).Milliseconds()
	if s.Time.End > s.Time.Start && s.Time.Start > 0 {
		took = s.Time.End - s.Time.Start
	}
	text := cmp.Or(s.Output, s.Error)
	content := []terret.Block{terret.Text(text)}
	why, interrupted := t.verdict(p)
	if why == "" {
		t.emit(c.actor, c.parentTool, terret.ToolPost{
			ToolID: c.id, Name: c.name, Content: content, DurationMS: took, Diff: unified(s.Metadata.Diff), MessageID: c.part, ParentID: c.message,
		})
		t.changed(c, s)
	} else {
		t.emit(c.actor, c.parentTool, terret.ToolFailure{
			ToolID: c.id, Name: c.name, Content: content, DurationMS: took, Diff: unified(s.Metadata.Diff), MessageID: c.part, ParentID: c.message,
			Error: brief.Cut(why, diagLimit), Denied: c.denied, Interrupted: interrupted && !c.denied,
		})
		if c.denied {
			t.turn.denials = append(t.turn.denials, terret.Denial{ToolID: c.id, Tool: c.name, Input: c.input, Reason: brief.Cut(cmp.Or(c.reason, why), diagLimit)})
		}
	}
	t.emit(c.actor, c.parentTool, terret.MessageComplete{
		MessageID: c.part, ParentID: c.message, Role: terret.RoleTool,
		Blocks: []terret.Block{{Type: terret.BlockToolResult, ToolID: c.id, Content: content, IsError: why != ""}},
	})
	t.stop(c, text)
}

// verdict is why a call failed, or nothing if it did not. A command that failed and a
// tool that does not exist are completed, for the agent.
func (t *translator) verdict(p part) (why string, interrupted bool) {
	s := p.State
	exit := string(s.Metadata.Exit)
	switch {
	case s.Status == "error":
		aborted := s.Metadata.Interrupted || t.turn.interrupted || strings.HasPrefix(s.Error, "Tool execution aborted")
		return cmp.Or(s.Error, "the tool failed and did not say why"), aborted
	case p.Tool == "invalid":
		return s.Output, false
	case exit == "null":
		return cmp.Or(strings.TrimSpace(s.Output), "the command was ended"), t.turn.interrupted
	case exit != "" && exit != "0":
		return fmt.Sprintf("exit code %s: %s", exit, strings.TrimSpace(s.Output)), false
	}
	return "", false
}

// changed tells of the file that a tool has changed.
func (t *translator) changed(c *call, s toolState) {
	path := cmp.Or(s.Metadata.FilePath, s.Metadata.FileDiff.File)
	if path == "" || classOf(c.name) != terret.ClassEdit {
		return
	}
	change := "modified"
	if s.Metadata.Exists != nil && !*s.Metadata.Exists {
		change = "created"
	}
	t.emit(c.actor, c.parentTool, terret.FileChanged{Path: path, Change: change, ToolID: c.id})
}

// created takes in a new session, which may be a subagent's.
func (t *translator) created(s sessionInfo) {
	_, ok := t.actor(s.ParentID)
	if s.ParentID == "" || !ok || t.turn == nil || t.children[s.ID] != nil {
		return
	}
	t.children[s.ID] = &child{id: s.ID, agent: s.Agent}
}

// link notes which call started a subagent, and tells of it.
func (t *translator) link(of *call, session string) {
	c := t.children[session]
	if c == nil {
		c = &child{id: session}
		t.children[session] = c
	}
	if c.started {
		return
	}
	t.tell(of)
	c.started, c.tool = true, of.id
	for _, m := range t.messages {
		if m.actor == c.id {
			m.parentTool = of.id
		}
	}
	var f toolInput
	seat.Decode(of.input, &f)
	c.agent = cmp.Or(c.agent, f.SubagentType)
	t.emit(c.id, c.tool, terret.SubagentStart{ID: c.id, Type: c.agent, Description: f.Description, Prompt: f.Prompt})
}

// stop tells that the subagent which a call started is done.
func (t *translator) stop(of *call, result string) {
	for _, id := range slices.Sorted(maps.Keys(t.children)) {
		c := t.children[id]
		if !c.started || c.stopped || c.tool != of.id {
			continue
		}
		c.stopped = true
		t.emit(c.id, c.tool, terret.SubagentStop{ID: c.id, Type: c.agent, Result: cmp.Or(c.said, result)})
	}
}

// breakOff ends the calls that the end of the turn has left open.
func (t *translator) breakOff() {
	for _, id := range slices.Sorted(maps.Keys(t.calls)) {
		c := t.calls[id]
		if c.ended || c.name == "" {
			continue
		}
		if c.read {
			t.tell(c)
		}
		t.emit(c.actor, c.parentTool, terret.ToolFailure{
			ToolID: c.id, Name: c.name, DurationMS: t.now.Sub(c.began).Milliseconds(), MessageID: c.part, ParentID: c.message,
			Error: "the turn ended before the tool did", Interrupted: !c.denied, Denied: c.denied,
		})
		t.stop(c, "")
	}
}
