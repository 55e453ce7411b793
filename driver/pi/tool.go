package pi

import (
	"cmp"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/seat"
	"github.com/terret-dev/terret/internal/brief"
	"github.com/terret-dev/terret/internal/textdiff"
)

// structuredTool is how the model gives structured output. It is the extension's.
const structuredTool = "StructuredOutput"

// classes says what Pi's tools do. A tool that is not here is one of an extension.
var classes = map[string]terret.ToolClass{
	"bash": terret.ClassExecute, "read": terret.ClassRead, "edit": terret.ClassEdit, "write": terret.ClassEdit,
	"grep": terret.ClassSearch, "find": terret.ClassSearch, "ls": terret.ClassSearch, structuredTool: terret.ClassThink,
}

func classOf(name string) terret.ToolClass { return cmp.Or(classes[name], terret.ClassOther) }

// harmless reports whether a tool changes nothing, so that a person need not be asked
// about it if neither a rule nor the policy says so.
func harmless(name string) bool {
	return classes[name] == terret.ClassRead || classes[name] == terret.ClassSearch
}

// call is a tool call of the running turn.
type call struct {
	id, name string
	message  string
	index    int
	input    terret.JSON
	told     bool // with its input
	denied   bool
	reason   string // of the denial
	output   string // so far
	diff     string
	began    time.Time
}

// call returns the call with that id, which is new unless it is known.
func (t *translator) call(id, name string) *call {
	c := t.calls[id]
	if c == nil {
		c = &call{id: id, name: name, began: t.now}
		t.calls[id] = c
	}
	return c
}

// toolInput is what Pi's tools are given.
type toolInput struct {
	Command string  `json:"command"`
	Path    string  `json:"path"`
	Pattern string  `json:"pattern"`
	Content *string `json:"content"`
	Edits   []struct {
		Old string `json:"oldText"`
		New string `json:"newText"`
	} `json:"edits"`
}

func (c *call) pre(cwd string) terret.ToolPre {
	var in toolInput
	seat.Decode(c.input, &in)
	what := cmp.Or(in.Command, in.Pattern)
	out := terret.ToolPre{ToolID: c.id, Name: c.name, Class: classOf(c.name), Input: c.input, Diff: c.diff}
	if in.Path != "" {
		out.Paths = []string{in.Path}
		what = cmp.Or(what, brief.Path(in.Path, cwd))
	}
	out.Title = strings.TrimSpace(c.name + " " + brief.Line(what))
	return out
}

// diffOf is what an edit would change; empty if that cannot be said.
func diffOf(input terret.JSON, cwd string) string {
	var in toolInput
	seat.Decode(input, &in)
	if in.Path == "" || in.Content == nil && len(in.Edits) == 0 {
		return ""
	}
	path := in.Path
	if !filepath.IsAbs(path) {
		path = filepath.Join(cwd, path)
	}
	from, to := textdiff.Names(brief.Path(path, cwd))
	old := ""
	switch info, err := os.Stat(path); {
	case err != nil:
		from = textdiff.None
	case !info.Mode().IsRegular() || info.Size() > textdiff.MaxInput:
		return ""
	default:
		b, err := os.ReadFile(path)
		if err != nil {
			return ""
		}
		old = string(b)
	}
	now := old
	if in.Content != nil {
		now = *in.Content
	}
	for _, e := range in.Edits {
		now = strings.Replace(now, e.Old, e.New, 1)
	}
	return textdiff.Between(from, to, old, now)
}

// progress takes in what a tool has put out so far.
func (t *translator) progress(l line) {
	c := t.calls[l.ToolCallID]
	if c == nil {
		return
	}
	text := terret.TextOf(blocksOf(l.Partial.Content))
	if rest, ok := strings.CutPrefix(text, c.output); ok && rest != "" {
		t.emit(terret.ToolProgress{ToolID: c.id, Text: rest, ElapsedMS: t.now.Sub(c.began).Milliseconds()})
	}
	c.output = text
}

// finish tells what came of a call.
func (t *translator) finish(l line) {
	c := t.call(l.ToolCallID, l.ToolName)
	delete(t.calls, c.id)
	var r toolResult
	seat.Decode(l.Result, &r)
	content := blocksOf(r.Content)
	t.end(c, content, l.IsError, terret.TextOf(content))
}

// end tells the end of a call.
func (t *translator) end(c *call, content []terret.Block, failed bool, why string) {
	pre := c.pre(t.cwd)
	if !c.told { // it never came to a decision
		t.emit(pre)
	}
	took := t.now.Sub(c.began).Milliseconds()
	if !failed {
		t.emit(terret.ToolPost{ToolID: c.id, Name: c.name, Content: content, DurationMS: took, Diff: c.diff, ParentID: c.message})
		if pre.Class == terret.ClassEdit && len(pre.Paths) > 0 {
			change := "modified"
			if strings.HasPrefix(c.diff, "--- "+textdiff.None) {
				change = "created"
			}
			t.emit(terret.FileChanged{Path: pre.Paths[0], Change: change, ToolID: c.id})
		}
		return
	}
	if c.denied {
		t.turn.denials = append(t.turn.denials, terret.Denial{ToolID: c.id, Tool: c.name, Input: c.input, Reason: brief.Cut(c.reason, diagLimit)})
		why = c.reason
	}
	why = cmp.Or(strings.TrimSpace(why), "the tool failed and did not say why")
	t.emit(terret.ToolFailure{
		ToolID: c.id, Name: c.name, Content: content, DurationMS: took, ParentID: c.message,
		Error: brief.Cut(why, diagLimit), Denied: c.denied, Interrupted: t.turn.stopping && !c.denied,
	})
}

// leaveCalls ends the calls that the end of the turn has left open.
func (t *translator) leaveCalls() {
	for _, id := range slices.Sorted(maps.Keys(t.calls)) {
		c := t.calls[id]
		if c.told || len(c.input) > 0 { // else the model has not said what it wants
			t.turn.stopping = true
			t.end(c, nil, true, "the turn ended before the tool did")
		}
	}
	clear(t.calls)
}
