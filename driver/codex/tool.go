package codex

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/seat"
	"github.com/terret-dev/terret/internal/brief"
)

// toolCall is a call of a tool on its way.
type toolCall struct {
	id, name string
	class    terret.ToolClass
	input    terret.JSON
	diff     string
	paths    []string
	actor    string
	began    time.Time
	told     bool // tool.pre was emitted, or asked
	allowed  bool // at the hook
	item     bool // Codex tells of it itself
	denied   string
}

func (c *toolCall) pre() terret.ToolPre {
	return terret.ToolPre{ToolID: c.id, Name: c.name, Class: c.class, Input: c.input, Title: c.title(), Paths: c.paths, Diff: c.diff}
}

func (c *toolCall) request(reason string) terret.PermissionRequest {
	return terret.PermissionRequest{
		ToolID: c.id, Tool: c.name, Class: c.class, Input: c.input, Title: c.title(), Reason: reason, Diff: c.diff,
	}
}

// title says in a few words what the tool would do.
func (c *toolCall) title() string {
	var in struct {
		Cmd    string `json:"cmd"`
		Path   string `json:"path"`
		Query  string `json:"query"`
		Prompt string `json:"prompt"`
	}
	seat.Decode(c.input, &in)
	what := cmp.Or(in.Cmd, in.Path, in.Query, in.Prompt, strings.Join(c.paths, ", "))
	line := brief.Line(strings.TrimSpace(what))
	switch {
	case line == "":
		return c.name
	case c.class == terret.ClassExecute:
		return line
	case c.class == terret.ClassEdit:
		return "Edit " + line
	}
	return c.name + " " + line
}

// classes are those of the tools that are known by name.
var classes = map[string]terret.ToolClass{
	shellTool: terret.ClassExecute, "write_stdin": terret.ClassExecute, patchTool: terret.ClassEdit,
	imageTool: terret.ClassRead, searchTool: terret.ClassFetch, askTool: terret.ClassOther,
	"spawn_agent": terret.ClassAgent, "update_plan": terret.ClassThink,
}

func classOf(name string) terret.ToolClass {
	if strings.HasPrefix(name, "mcp__") {
		return terret.ClassMCP
	}
	return cmp.Or(classes[name], terret.ClassOther)
}

// call makes a call known. It is the same for the hook and for the item.
func (t *translator) call(c toolCall) *toolCall {
	if known := t.tools[c.id]; known != nil {
		return known
	}
	c.class, c.actor, c.began = classOf(c.name), t.actor, t.now
	t.tools[c.id] = &c
	b, _ := t.speaker().block(c.id, terret.BlockToolUse)
	b.ToolID, b.Name, b.Input = c.id, c.name, c.input
	if t.actor == "" {
		t.turn.tooled = true
	}
	return &c
}

// callOf is the call that an item tells of, or nil if it is none.
func callOf(it item, cwd string) *toolCall {
	c := toolCall{id: it.ID}
	switch it.Type {
	case "commandExecution":
		in := object{"cmd": it.Command}
		if it.Cwd != "" && it.Cwd != cwd {
			in["workdir"] = it.Cwd
		}
		c.name, c.input = shellTool, terret.JSON(seat.Encode(in))
	case "fileChange":
		c.name, c.input = patchTool, terret.JSON(seat.Encode(object{"changes": it.Changes}))
		c.diff, c.paths = changesDiff(it.Changes), changedPaths(it.Changes)
	case "mcpToolCall":
		c.name, c.input = "mcp__"+it.Server+"__"+it.Tool, terret.JSON(it.Arguments)
	case "dynamicToolCall":
		c.name, c.input = cmp.Or(it.Tool, "tool"), terret.JSON(it.Arguments)
	case "webSearch":
		c.name, c.input = searchTool, terret.JSON(seat.Encode(object{"query": it.Query}))
	case "imageView":
		c.name, c.input, c.paths = imageTool, terret.JSON(seat.Encode(object{"path": it.Path})), []string{it.Path}
	case "imageGeneration":
		c.name, c.input = "image_generation", terret.JSON("{}")
	case "collabAgentToolCall":
		c.name, c.input = cmp.Or(snake(it.Tool), "spawn_agent"), terret.JSON(seat.Encode(object{"prompt": it.Prompt}))
	default:
		return nil
	}
	return &c
}

// snake writes spawnAgent as spawn_agent.
func snake(s string) string {
	var out strings.Builder
	for i, r := range s {
		if r >= 'A' && r <= 'Z' {
			if i > 0 {
				out.WriteByte('_')
			}
			r += 'a' - 'A'
		}
		out.WriteRune(r)
	}
	return out.String()
}

// quietItems are items that say nothing that we need.
var quietItems = map[string]bool{
	"hookPrompt": true, "plan": true, "subAgentActivity": true, "sleep": true,
	"enteredReviewMode": true, "exitedReviewMode": true, "functionCallOutput": true,
}

// itemStarted takes in the beginning of an item. It reports whether it knows it.
func (t *translator) itemStarted(it item) bool {
	switch it.Type {
	case "userMessage", "reasoning":
	case "agentMessage":
		t.speaker().block(it.ID, terret.BlockText)
	case "contextCompaction":
		t.complete()
		t.emit(terret.CompactPre{Trigger: t.trigger()})
	default:
		made := callOf(it, t.cwd)
		if made == nil {
			return quietItems[it.Type]
		}
		c := t.call(*made)
		c.item = true
		if made.diff != "" {
			c.diff = made.diff // with the numbers of lines
		}
		if !c.told {
			c.told = true
			t.emit(c.pre())
		}
	}
	return true
}

// trigger says who wants a compaction.
func (t *translator) trigger() string {
	if t.turn.steps == 0 && t.turn.text == "" && !t.turn.tooled {
		return "manual"
	}
	return "auto"
}

// itemCompleted takes in a whole item. It reports whether it knows it.
func (t *translator) itemCompleted(it item) bool {
	switch it.Type {
	case "userMessage":
		t.heard(it)
	case "agentMessage":
		t.said(it)
	case "reasoning":
		t.thought(it)
	case "contextCompaction":
		t.emit(terret.CompactPost{TokensBefore: t.usage.Last.Total})
	case "plan":
		t.said(it)
		if t.actor == "" {
			t.turn.plan = it.Text
		}
	default:
		made := callOf(it, t.cwd)
		if made == nil {
			return quietItems[it.Type]
		}
		t.toolCompleted(made, it)
	}
	return true
}

func (t *translator) toolCompleted(made *toolCall, it item) {
	if t.tasks[it.ID] {
		delete(t.tasks, it.ID)
		t.emit(terret.TaskEnd{ID: it.ID, Status: cmp.Or(it.Status, "completed"), Summary: brief.Cut(it.Output, diagLimit)})
		return
	}
	if !t.turn.running {
		return // what the end of the turn has broken off
	}
	c := t.call(*made)
	if !c.told {
		c.told = true
		t.emit(c.pre())
	}
	if made.diff != "" {
		c.diff = made.diff
	}
	t.result(c, it)
}

// result tells what came of a call, once.
func (t *translator) result(c *toolCall, it item) {
	t.actor = c.actor
	t.complete()
	delete(t.tools, c.id)
	took := cmp.Or(it.DurationMS, t.now.Sub(c.began).Milliseconds())
	content := it.content()
	if it.Status == "declined" {
		t.deny(c, cmp.Or(c.denied, "denied"), took)
		return
	}
	if why := it.failure(); why != "" {
		t.emit(terret.ToolFailure{
			ToolID: c.id, Name: c.name, Content: content, DurationMS: took, Diff: c.diff, Error: brief.Cut(why, diagLimit),
			Interrupted: t.turn.stopping,
		})
		return
	}
	diff := ""
	if it.Type == "fileChange" {
		diff = c.diff
	}
	t.emit(terret.ToolPost{ToolID: c.id, Name: c.name, Content: content, Structured: it.structured(), DurationMS: took, Diff: diff})
	for _, data := range filesChanged(c.id, it.Changes) {
		t.emit(data)
	}
	t.startAgent(c, it)
}

// deny tells that a call was not allowed.
func (t *translator) deny(c *toolCall, why string, took int64) {
	t.turn.denials = append(t.turn.denials, terret.Denial{ToolID: c.id, Tool: c.name, Input: c.input, Reason: why})
	t.emit(terret.ToolFailure{ToolID: c.id, Name: c.name, DurationMS: took, Error: why, Denied: true})
}

// content is what the tool returned, for people.
func (it item) content() []terret.Block {
	switch it.Type {
	case "commandExecution":
		return []terret.Block{terret.Text(it.Output)}
	case "mcpToolCall":
		var result struct {
			Content []struct {
				Type string `json:"type"`
				Text string `json:"text"`
			} `json:"content"`
		}
		seat.Decode(it.Result, &result)
		var out []terret.Block
		for _, c := range result.Content {
			if c.Type == "text" {
				out = append(out, terret.Text(c.Text))
			}
		}
		return out
	case "fileChange":
		var lines []string
		for _, c := range it.Changes {
			lines = append(lines, c.Kind.Type+" "+filepath.ToSlash(c.Path))
		}
		return []terret.Block{terret.Text(strings.Join(lines, "\n"))}
	}
	return []terret.Block{}
}

func (it item) structured() terret.JSON {
	var result struct {
		Structured json.RawMessage `json:"structuredContent"`
	}
	if seat.Decode(it.Result, &result) && string(result.Structured) != "null" {
		return terret.JSON(result.Structured)
	}
	return nil
}

// failure says why the tool failed, or nothing.
func (it item) failure() string {
	switch {
	case it.Status != "failed" && (it.Success == nil || *it.Success):
		return ""
	case it.Type == "commandExecution" && it.Exit != nil:
		return fmt.Sprintf("exit code %d: %s", *it.Exit, strings.TrimSpace(it.Output))
	}
	var why struct {
		Message string `json:"message"`
	}
	seat.Decode(it.Error, &why)
	return cmp.Or(why.Message, strings.TrimSpace(it.Output), "it failed")
}

func (t *translator) progress(id, text string) {
	if c := t.tools[id]; c != nil && t.turn.running && text != "" {
		t.emit(terret.ToolProgress{ToolID: id, Text: text, ElapsedMS: t.now.Sub(c.began).Milliseconds()})
	}
}

// settleTools ends the calls of which Codex tells nothing but that they begin: when the
// model's reply is over, they are. Of a command and of a patch Codex tells more once it
// begins with them, so these have failed.
func (t *translator) settleTools() {
	for _, id := range sortedKeys(t.tools) {
		c := t.tools[id]
		if c.actor != t.actor || !c.allowed || c.item {
			continue
		}
		delete(t.tools, id)
		took := t.now.Sub(c.began).Milliseconds()
		if why := neverBegan[c.name]; why != "" {
			t.emit(terret.ToolFailure{ToolID: id, Name: c.name, DurationMS: took, Error: why})
			continue
		}
		t.emit(terret.ToolPost{ToolID: id, Name: c.name, Content: []terret.Block{}, DurationMS: took})
	}
}

// neverBegan is what is known of calls that Codex did not begin with.
var neverBegan = map[string]string{
	shellTool: "Codex did not start it, and told only the model why; `terret doctor` says whether commands run in Codex's sandboxes here",
	patchTool: "Codex did not apply it, and told only the model why",
}

// leaveTools ends the calls that the end of the turn has left open. After a turn that went
// well, a command may go on in the background.
func (t *translator) leaveTools(why *terret.Error) {
	for _, id := range sortedKeys(t.tools) {
		c := t.tools[id]
		t.actor = c.actor
		if c.denied != "" {
			delete(t.tools, id)
			t.complete()
			t.deny(c, c.denied, t.now.Sub(c.began).Milliseconds())
			continue
		}
		t.complete()
		delete(t.tools, id)
		took := t.now.Sub(c.began).Milliseconds()
		if why == nil && c.class == terret.ClassExecute {
			t.tasks[id] = true
			t.emit(terret.ToolPost{ToolID: id, Name: c.name, Content: []terret.Block{terret.Text("It goes on in the background.")}, DurationMS: took})
			t.emit(terret.TaskStart{ID: id, ToolID: id, Type: c.name, Description: c.title()})
			continue
		}
		t.emit(terret.ToolFailure{ToolID: id, Name: c.name, DurationMS: took, Error: "the turn ended", Interrupted: true})
	}
}
