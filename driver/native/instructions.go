package native

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/terret-dev/terret/internal/brief"
)

const (
	maxInstructions = 32 << 10 // bytes of one file
	maxAbove        = 20       // folders above the session's
)

// instructions are what people wrote down for agents: the user for all projects, and a
// trusted project in AGENTS.md, or else CLAUDE.md, of each folder from the repository's
// root down to the session's.
func (a *agent) instructions() string {
	var out strings.Builder
	add := func(dir string) {
		for _, name := range []string{"AGENTS.md", "CLAUDE.md"} {
			if text := instructionsIn(dir, name); text != "" && !strings.Contains(a.req.Settings.SystemAppend, text) { // a persona may have it
				out.WriteString("\n\nInstructions from " + filepath.Join(dir, name) + ":\n\n" + text)
				return
			}
		}
	}
	if own := a.driver.cfg.UserDir; own != "" {
		add(own)
	}
	if a.req.Trusted {
		for _, dir := range slices.Backward(upToRoot(a.req.Session.Cwd)) {
			add(dir)
		}
	}
	return out.String()
}

func instructionsIn(dir, name string) string {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return ""
	}
	defer func() { _ = root.Close() }() // it is only read
	text, err := readText(root, name)
	if err != nil {
		return "" // most have none
	}
	return strings.TrimSpace(brief.Cut(strings.ToValidUTF8(string(text), "\uFFFD"), maxInstructions))
}

// upToRoot are the folder and those above it, up to the one that holds .git. Outside of a
// repository it is the folder alone.
func upToRoot(dir string) []string {
	var out []string
	for at := dir; len(out) < maxAbove; at = filepath.Dir(at) {
		out = append(out, at)
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return out
		}
		if filepath.Dir(at) == at {
			break
		}
	}
	return []string{dir}
}
