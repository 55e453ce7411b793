package acp

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/seat"
)

// diffLimit is how many bytes of a file on either side a difference is made of.
const diffLimit = 1 << 20

// diff is what a call changes in files: as the agent shows it, or else as its input
// says, while the call has not run.
func (t *turn) diff(c *tool) string {
	var out strings.Builder
	for _, part := range c.content {
		if part.Type == "diff" {
			before, after := inFile(part)
			out.WriteString(unified(part.Path, before, after))
		}
	}
	if out.Len() == 0 && c.planned == "" && !c.done && t.classOf(c) == terret.ClassEdit {
		c.planned = t.plannedDiff(c)
	}
	if out.Len() == 0 {
		return c.planned
	}
	return out.String()
}

// inFile is the whole file before and after a change, of which some agents show only
// what is replaced. The file may have been changed already.
func inFile(part callContent) (before, after string) {
	now, ok := readFile(part.Path)
	switch {
	case !ok || part.Old == "" || now == part.Old || now == part.New:
	case strings.Contains(now, part.Old):
		return now, strings.Replace(now, part.Old, part.New, 1)
	case part.New != "" && strings.Contains(now, part.New):
		return strings.Replace(now, part.New, part.Old, 1), now
	}
	return part.Old, part.New
}

func unified(path, before, after string) string {
	if len(before) > diffLimit || len(after) > diffLimit {
		return ""
	}
	name := strings.TrimPrefix(filepath.ToSlash(path), "/")
	return udiff.Unified("a/"+name, "b/"+name, before, after)
}

// editInput is the input of tools that change files, as different agents call things.
type editInput struct {
	FilePath  string  `json:"file_path"`
	FilePath2 string  `json:"filePath"`
	Path      string  `json:"path"`
	Content   *string `json:"content"`
	FileText  *string `json:"file_text"`
	Old       string  `json:"old_string"`
	Old2      string  `json:"oldString"`
	Old3      string  `json:"old_str"`
	Before    string  `json:"before"`
	New       string  `json:"new_string"`
	New2      string  `json:"newString"`
	New3      string  `json:"new_str"`
	After     string  `json:"after"`
}

// plannedDiff is what a call would change, by its input and the file as it is.
func (t *turn) plannedDiff(c *tool) string {
	var in editInput
	if !seat.Decode(c.input, &in) {
		return ""
	}
	path := cmp.Or(in.FilePath, in.FilePath2, in.Path)
	if path == "" {
		return ""
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(t.cwd, path)
	}
	now, ok := readFile(path)
	if content := cmp.Or(in.Content, in.FileText); content != nil {
		return unified(path, now, *content)
	}
	before, after := cmp.Or(in.Old, in.Old2, in.Old3, in.Before), cmp.Or(in.New, in.New2, in.New3, in.After)
	if !ok || before == "" || !strings.Contains(now, before) {
		return ""
	}
	return unified(path, now, strings.Replace(now, before, after, 1))
}

// readFile is the content of a file that is not too long.
func readFile(path string) (string, bool) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > diffLimit {
		return "", false
	}
	b, err := os.ReadFile(path)
	return string(b), err == nil
}
