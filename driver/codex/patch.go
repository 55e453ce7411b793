package codex

import (
	"strings"

	"github.com/terret-dev/terret"
)

// Marks of Codex's own format of patches.
const (
	patchAdd    = "*** Add File: "
	patchDelete = "*** Delete File: "
	patchUpdate = "*** Update File: "
	patchMove   = "*** Move to: "
)

// patchDiff shows a patch as a unified difference, without the numbers of lines, which
// the patch does not have. It returns the paths as well.
func patchDiff(patch string) (diff string, paths []string) {
	var out strings.Builder
	for line := range strings.Lines(patch) {
		line = strings.TrimRight(line, "\r\n")
		if mark, path, ok := patchFile(line); ok {
			paths = append(paths, path)
			before, after := "a/"+strings.TrimPrefix(path, "/"), "b/"+strings.TrimPrefix(path, "/")
			switch mark {
			case patchAdd:
				out.WriteString("--- /dev/null\n+++ " + after + "\n@@\n")
			case patchDelete:
				out.WriteString("--- " + before + "\n+++ /dev/null\n")
			case patchUpdate:
				out.WriteString("--- " + before + "\n+++ " + after + "\n")
			case patchMove:
				out.WriteString("rename to " + path + "\n")
			}
			continue
		}
		if strings.HasPrefix(line, "*** ") { // begin, end, end of file
			continue
		}
		out.WriteString(line + "\n")
	}
	return out.String(), paths
}

func patchFile(line string) (mark, path string, ok bool) {
	for _, mark := range []string{patchAdd, patchDelete, patchUpdate, patchMove} {
		if path, ok := strings.CutPrefix(line, mark); ok {
			return mark, strings.TrimSpace(path), true
		}
	}
	return "", "", false
}

// changesDiff shows changes that Codex tells of as one unified difference. Of new and
// removed files it tells the content.
func changesDiff(changes []fileChange) string {
	var out strings.Builder
	for _, c := range changes {
		before, after := "a/"+strings.TrimPrefix(c.Path, "/"), "b/"+strings.TrimPrefix(c.Path, "/")
		body := c.Diff
		switch c.Kind.Type {
		case "add":
			before, body = "/dev/null", "@@\n"+marked("+", c.Diff)
		case "delete":
			after, body = "/dev/null", "@@\n"+marked("-", c.Diff)
		}
		out.WriteString("--- " + before + "\n+++ " + after + "\n" + strings.TrimSuffix(body, "\n") + "\n")
	}
	return out.String()
}

// marked puts a mark before each line.
func marked(mark, text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		out.WriteString(mark + strings.TrimSuffix(line, "\n") + "\n")
	}
	return out.String()
}

func changedPaths(changes []fileChange) []string {
	var out []string
	for _, c := range changes {
		out = append(out, c.Path)
		if c.Kind.MovePath != "" {
			out = append(out, c.Kind.MovePath)
		}
	}
	return out
}

// filesChanged tells of the files that a patch has changed.
func filesChanged(tool string, changes []fileChange) []terret.Data {
	words := map[string]string{"add": "created", "delete": "deleted"}
	var out []terret.Data
	for _, c := range changes {
		word := words[c.Kind.Type]
		if word == "" {
			word = "modified"
		}
		out = append(out, terret.FileChanged{Path: c.Path, Change: word, ToolID: tool})
		if c.Kind.MovePath != "" {
			out[len(out)-1] = terret.FileChanged{Path: c.Path, Change: "deleted", ToolID: tool}
			out = append(out, terret.FileChanged{Path: c.Kind.MovePath, Change: "created", ToolID: tool})
		}
	}
	return out
}
