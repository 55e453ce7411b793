package claude

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/terret-dev/terret/internal/brief"
)

const (
	diffInput = 2 << 20   // the largest content, in bytes, that is diffed
	diffLimit = 256 << 10 // the largest diff, in bytes
)

// toolOutcome is what the agent reports about a tool's result besides the text for the
// model. Which fields are set depends on the tool.
type toolOutcome struct {
	// Edits.
	Type            string      `json:"type"` // create, update
	FilePath        string      `json:"filePath"`
	Content         fileContent `json:"content"`
	OriginalFile    *string     `json:"originalFile"`
	StructuredPatch []patchHunk `json:"structuredPatch"`
	// Commands.
	Interrupted      bool   `json:"interrupted"`
	BackgroundTaskID string `json:"backgroundTaskId"`
	// Subagents.
	IsAsync   bool   `json:"isAsync"`
	AgentID   string `json:"agentId"`
	AgentType string `json:"agentType"`
	// To-do lists.
	Task struct {
		ID      string `json:"id"`
		Subject string `json:"subject"`
	} `json:"task"`
	Tasks []struct {
		ID      string `json:"id"`
		Subject string `json:"subject"`
		Status  string `json:"status"`
	} `json:"tasks"`
}

// fileContent is the content of a written file. Subagents use the same name for their
// message, in blocks.
type fileContent struct {
	text   string
	ok     bool
	blocks rawContent
}

// UnmarshalJSON implements json.Unmarshaler.
func (c *fileContent) UnmarshalJSON(b []byte) error {
	c.ok = len(b) > 0 && b[0] == '"' && json.Unmarshal(b, &c.text) == nil
	if !c.ok {
		return c.blocks.UnmarshalJSON(b)
	}
	return nil
}

type patchHunk struct {
	OldStart int      `json:"oldStart"`
	OldLines int      `json:"oldLines"`
	NewStart int      `json:"newStart"`
	NewLines int      `json:"newLines"`
	Lines    []string `json:"lines"`
}

// diff is the change in unified format; empty if there is none or it is unknown.
func (o toolOutcome) diff(cwd string) string {
	if o.FilePath == "" {
		return ""
	}
	from, to := labels(o.FilePath, cwd)
	switch {
	case len(o.StructuredPatch) > 0:
		var out strings.Builder
		fmt.Fprintf(&out, "--- %s\n+++ %s\n", from, to)
		for _, h := range o.StructuredPatch {
			fmt.Fprintf(&out, "@@ -%d,%d +%d,%d @@\n", h.OldStart, h.OldLines, h.NewStart, h.NewLines)
			for _, line := range h.Lines {
				out.WriteString(line + "\n")
			}
		}
		return limitDiff(out.String())
	case o.Content.ok && o.OriginalFile == nil && o.Type == "create":
		return unified("/dev/null", to, "", o.Content.text)
	case o.Content.ok && o.OriginalFile != nil:
		return unified(from, to, *o.OriginalFile, o.Content.text)
	}
	return ""
}

// diff is what the tool would change, according to its input: the whole change if read
// returns the file, otherwise the piece that an edit names.
func (f toolInput) diff(name, cwd string, read func(string) (string, bool)) string {
	path := f.FilePath
	if path == "" {
		return ""
	}
	var edits []inputEdit
	switch {
	case name == "Write" && f.Content != nil:
	case name == "Edit" && f.NewString != nil:
		edits = []inputEdit{{f.OldString, *f.NewString, f.ReplaceAll}}
	case name == "MultiEdit" && len(f.Edits) > 0:
		edits = f.Edits
	default:
		return ""
	}
	from, to := labels(path, cwd)
	if read != nil {
		old, ok := read(path)
		switch {
		case !ok && len(edits) == 0:
			return unified("/dev/null", to, "", *f.Content)
		case ok && len(edits) == 0:
			return unified(from, to, old, *f.Content)
		case ok:
			if now, fits := apply(old, edits); fits {
				return unified(from, to, old, now)
			}
		}
	}
	var out strings.Builder
	for _, e := range edits {
		piece := unified(from, to, e.OldString, e.NewString)
		if out.Len() > 0 {
			piece = strings.TrimPrefix(piece, fmt.Sprintf("--- %s\n+++ %s\n", from, to))
		}
		out.WriteString(piece)
	}
	return limitDiff(out.String())
}

// fileReader reads files that are about to change, relative to a folder. It reads no
// more than a diff needs, and only regular files.
func fileReader(dir string) func(path string) (string, bool) {
	return func(path string) (string, bool) {
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		info, err := os.Stat(path)
		if err != nil || !info.Mode().IsRegular() {
			return "", false
		}
		f, err := os.Open(path)
		if err != nil {
			return "", false
		}
		defer f.Close()
		b, err := io.ReadAll(io.LimitReader(f, diffInput+1))
		return string(b), err == nil
	}
}

// apply applies the edits, and reports whether all of them fit.
func apply(s string, edits []inputEdit) (string, bool) {
	for _, e := range edits {
		switch {
		case e.OldString == "" && s == "":
			s = e.NewString
			continue
		case e.OldString == "" || !strings.Contains(s, e.OldString):
			return "", false
		}
		n := 1
		if e.ReplaceAll {
			n = -1
		}
		s = strings.Replace(s, e.OldString, e.NewString, n)
		if len(s) > diffInput {
			return "", false
		}
	}
	return s, true
}

// labels are the names of a file before and after a change.
func labels(path, cwd string) (from, to string) {
	name := strings.TrimPrefix(filepath.ToSlash(brief.Path(path, cwd)), "/")
	name = strings.NewReplacer("\n", "\\n", "\r", "\\r").Replace(name)
	return "a/" + name, "b/" + name
}

func unified(from, to, old, now string) string {
	switch {
	case old == now:
		return ""
	case strings.ContainsRune(old, 0) || strings.ContainsRune(now, 0):
		return fmt.Sprintf("Binary files %s and %s differ\n", from, to)
	case len(old) > diffInput || len(now) > diffInput:
		return fmt.Sprintf("--- %s\n+++ %s\n[too large for a diff: %d bytes become %d]\n", from, to, len(old), len(now))
	}
	diff, err := udiff.ToUnified(from, to, old, udiff.Lines(old, now), udiff.DefaultContextLines)
	if err != nil {
		return fmt.Sprintf("--- %s\n+++ %s\n[no diff: %v]\n", from, to, err)
	}
	return limitDiff(diff)
}

func limitDiff(diff string) string {
	diff = strings.ToValidUTF8(diff, "\uFFFD")
	if len(diff) <= diffLimit {
		return diff
	}
	end := strings.LastIndexByte(diff[:diffLimit], '\n') + 1
	return fmt.Sprintf("%s[... %d bytes of the diff cut ...]\n", diff[:end], len(diff)-end)
}
