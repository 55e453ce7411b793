package trust

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/terret-dev/terret/internal/gitcmd"
	"github.com/terret-dev/terret/internal/yamlfile"
)

// Bounds on what is inspected. A folder with more cannot be trusted.
const (
	maxFiles  = 2000
	maxFile   = 8 << 20
	maxTotal  = 64 << 20
	maxDepth  = 16
	maxAbove  = 32
	maxFolder = 10000 // entries
)

// File is a file that would take effect.
type File struct {
	Path string `json:"path"` // relative to the folder, with slashes
	Why  string `json:"why"`  // what it would do, in a few words
}

// State is what would take effect in a folder.
type State struct {
	Folder string `json:"folder"` // absolute, without symbolic links
	// Hash identifies the content of all the files. It is empty if there are none, or
	// if there is a problem.
	Hash  string `json:"hash,omitempty"`
	Files []File `json:"files"`
	// Problem says why the folder cannot be trusted at all.
	Problem string `json:"problem,omitempty"`
}

// Empty reports whether nothing would take effect.
func (s State) Empty() bool { return len(s.Files) == 0 && s.Problem == "" }

// gitTimeout bounds how long git may take to say what a repository's settings are.
const gitTimeout = 5 * time.Second

// settings are Terret's own. They act in their folder only, as personas do.
const settings = ".terret/config.jsonc"

// Place is where an agent's files can be: a file or, with a trailing slash, all files
// of a folder.
type Place struct{ Path, Why string }

// places are inspected whatever the drivers say of their agents. What they add is
// inspected too.
var places = []Place{
	{".terret/agents/", "subagents of the native agent"},
	{".terret/commands/", "commands of the native agent"},
	{".terret/plugins/", "programs that the native agent runs"},
	{".terret/skills/", "skills of the native agent"},
	{".mcp.json", "servers that agents start"},
	{".env", "variables that agents load"},
	{".claude/settings.json", "settings of Claude Code, with hooks and permissions"},
	{".claude/settings.local.json", "settings of Claude Code, with hooks and permissions"},
	{".claude/agents/", "agents of Claude Code"},
	{".claude/commands/", "commands of Claude Code"},
	{".claude/hooks/", "programs that Claude Code runs"},
	{".claude/output-styles/", "system prompts of Claude Code"},
	{".claude/plugins/", "plugins of Claude Code"},
	{".claude/skills/", "skills of Claude Code"},
	{".claude/workflows/", "workflows of Claude Code"},
	{"opencode.json", "settings of OpenCode"},
	{"opencode.jsonc", "settings of OpenCode"},
	{".opencode/", "settings and plugins of OpenCode"},
	{".codex/", "settings of Codex"},
	{".gemini/", "settings of Gemini"},
	{".qwen/", "settings of Qwen Code, with hooks"},
	{".github/hooks/", "programs that GitHub Copilot runs"},
	{".github/copilot/", "settings of GitHub Copilot"},
	{".github/mcp.json", "servers that GitHub Copilot starts"},
	{".agents/", "skills and plugins that agents read"},
}

// The names of persona files.
const (
	personaFolder = "agents"
	personaPrefix = "AGENT_"
	personaSuffix = ".md"
)

// granting are the settings of a persona that need trust. A test in package persona
// checks that these are all.
var granting = []string{"auto_approve_tools", "model", "agent", "policy"}

// Inspect finds what would take effect in a folder. The error is about the folder
// itself; anything odd inside it becomes the state's problem. More are places of agents
// beside those that are known here.
func Inspect(dir string, more ...Place) (State, error) { return inspectBelow(dir, home(), more...) }

// inspectBelow is Inspect for a person whose home folder is home.
func inspectBelow(dir, home string, more ...Place) (State, error) {
	folder, err := resolve(dir)
	if err != nil {
		return State{}, err
	}
	in := &inspection{places: withMore(more), sum: sha256.New(), state: State{Folder: folder, Files: []File{}}}
	fmt.Fprintf(in.sum, "terret trust 1\n")
	prefix := ""
	for _, d := range reach(folder, home) {
		in.folder(d, prefix)
		prefix += "../"
	}
	if in.state.Problem == "" && len(in.state.Files) > 0 {
		in.state.Hash = "sha256:" + hex.EncodeToString(in.sum.Sum(nil))
	}
	return in.state, nil
}

// withMore lists all places, each once, those that are known here first: the hash of a
// folder depends on their order.
func withMore(more []Place) []Place {
	all := slices.Clone(places)
	for _, p := range slices.SortedFunc(slices.Values(more), func(a, b Place) int { return strings.Compare(a.Path, b.Path) }) {
		if p.Path != "" && !slices.ContainsFunc(all, func(known Place) bool { return known.Path == p.Path }) {
			all = append(all, p)
		}
	}
	return all
}

// resolve returns the name under which decisions know a folder.
func resolve(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
}

// home is the person's home folder, or empty.
func home() string {
	dir, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	dir, err = resolve(dir)
	if err != nil {
		return ""
	}
	return dir
}

// reach lists the folder and those above it in the same repository. The home folder
// belongs to none.
func reach(folder, home string) []string {
	if folder == home {
		return nil
	}
	all := []string{folder}
	for d := folder; len(all) <= maxAbove; {
		if isRepository(d) {
			return all
		}
		up := filepath.Dir(d)
		if up == d || up == home {
			break
		}
		d = up
		all = append(all, d)
	}
	return all[:1]
}

// isRepository reports whether dir is the root of a repository or worktree. As for git,
// an empty folder named .git does not count: Codex's sandbox leaves such folders
// behind.
func isRepository(dir string) bool {
	git := filepath.Join(dir, ".git")
	info, err := os.Lstat(git)
	if err != nil {
		return false
	}
	if !info.IsDir() {
		return true
	}
	_, err = os.Lstat(filepath.Join(git, "HEAD"))
	return err == nil
}

// inspection collects what is found.
type inspection struct {
	places []Place
	state  State
	sum    hash.Hash
	total  int64
}

func (in *inspection) problem(name, format string, args ...any) {
	if in.state.Problem == "" {
		in.state.Problem = name + " " + fmt.Sprintf(format, args...)
	}
}

func (in *inspection) folder(dir, prefix string) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		in.problem(prefix+".", "cannot be opened: %v", err)
		return
	}
	defer func() { _ = root.Close() }()
	w := walk{inspection: in, root: root, prefix: prefix}
	if prefix == "" {
		w.visit(settings, "settings of Terret", false, 0)
		w.personas()
	}
	w.git(dir)
	for _, p := range in.places {
		w.visit(strings.TrimSuffix(p.Path, "/"), p.Why, strings.HasSuffix(p.Path, "/"), 0)
	}
}

// walk inspects one folder.
type walk struct {
	*inspection
	root   *os.Root
	prefix string
}

// stat finds out what is there, following links inside the folder.
func (w *walk) stat(name string) (fs.FileInfo, bool) {
	info, err := w.root.Stat(name)
	switch {
	case err == nil:
		return info, true
	case errors.Is(err, syscall.ENOTDIR):
		return nil, false
	case errors.Is(err, fs.ErrNotExist):
		// A dangling link may lead somewhere tomorrow.
		if _, err := w.root.Lstat(name); err == nil {
			w.problem(w.prefix+name, "is a link that leads nowhere")
		}
		return nil, false
	}
	w.unreadable(name, err)
	return nil, false
}

func (w *walk) unreadable(name string, err error) {
	if inner, ok := errors.AsType[*fs.PathError](err); ok && strings.Contains(inner.Err.Error(), "escapes") {
		w.problem(w.prefix+name, "leads out of the folder")
		return
	}
	if errors.Is(err, syscall.ELOOP) {
		w.problem(w.prefix+name, "is a link to itself")
		return
	}
	w.problem(w.prefix+name, "cannot be inspected: %v", err)
}

// visit adds a file, or all files of a folder.
func (w *walk) visit(name, why string, folder bool, depth int) {
	info, ok := w.stat(name)
	switch {
	case !ok:
	case info.Mode().IsRegular():
		w.file(name, why, info)
	case !info.IsDir() || !folder:
		w.problem(w.prefix+name, "is not a regular file")
	case depth == maxDepth:
		w.problem(w.prefix+name, "is too deep, or a link to itself")
	default:
		for _, entry := range w.entries(name) {
			if entry != "node_modules" {
				w.visit(path.Join(name, entry), why, true, depth+1)
			}
		}
	}
}

// entries lists a folder, in order.
func (w *walk) entries(name string) []string {
	if w.state.Problem != "" {
		return nil
	}
	dir, err := w.root.Open(name)
	if err != nil {
		w.unreadable(name, err)
		return nil
	}
	defer dir.Close()
	names, err := dir.Readdirnames(maxFolder + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		w.unreadable(name, err)
		return nil
	}
	if len(names) > maxFolder {
		w.problem(w.prefix+name, "contains more than %d files", maxFolder)
		return nil
	}
	slices.Sort(names)
	return names
}

// file adds a file to the list and to the hash.
func (w *walk) file(name, why string, info fs.FileInfo) {
	if content, ok := w.read(name, info); ok {
		w.add(name, why, content)
	}
}

func (w *walk) add(name, why string, content []byte) {
	if len(w.state.Files) == maxFiles {
		w.problem(w.prefix+name, "is one of more than %d files that would take effect", maxFiles)
		return
	}
	sum := sha256.Sum256(content)
	fmt.Fprintf(w.sum, "%q %x\n", w.prefix+name, sum)
	w.state.Files = append(w.state.Files, File{Path: w.prefix + name, Why: why})
}

// read returns the content of a file.
func (w *walk) read(name string, info fs.FileInfo) ([]byte, bool) {
	if w.state.Problem != "" {
		return nil, false
	}
	if info.Size() > maxFile || w.total+info.Size() > maxTotal {
		w.problem(w.prefix+name, "is too large to inspect")
		return nil, false
	}
	f, err := w.root.OpenFile(name, os.O_RDONLY|nonBlocking, 0)
	if err != nil {
		w.unreadable(name, err)
		return nil, false
	}
	defer f.Close()
	opened, err := f.Stat()
	if err != nil || !opened.Mode().IsRegular() {
		w.problem(w.prefix+name, "is not a regular file")
		return nil, false
	}
	content, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		w.unreadable(name, err)
		return nil, false
	}
	if w.total += int64(len(content)); len(content) > maxFile || w.total > maxTotal {
		w.problem(w.prefix+name, "is too large to inspect")
		return nil, false
	}
	return content, true
}

// git adds what a repository's own settings would run, and where its .git leads. Only
// those settings are part of the hash: the others change with every branch.
func (w *walk) git(dir string) {
	if !isRepository(dir) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), gitTimeout)
	defer cancel()
	if runs := gitcmd.Programs(ctx, dir); len(runs) > 0 {
		var keys []string
		for _, kv := range runs {
			key, _, _ := strings.Cut(kv, "=")
			keys = append(keys, key)
		}
		w.add(".git/config", "settings of git that run programs: "+strings.Join(slices.Compact(keys), ", "), []byte(strings.Join(runs, "\x00")))
	}
	w.hooks(dir)
	elsewhere := gitcmd.Elsewhere(dir)
	for _, name := range slices.Sorted(maps.Keys(elsewhere)) {
		w.add(name, "leads to another repository: "+elsewhere[name], []byte(elsewhere[name]))
	}
}

// personas adds the personas that grant something.
func (w *walk) personas() {
	if info, ok := w.stat(personaFolder); !ok || !info.IsDir() {
		return
	}
	for _, entry := range w.entries(personaFolder) {
		if !strings.HasPrefix(entry, personaPrefix) || !strings.HasSuffix(entry, personaSuffix) {
			continue
		}
		name := path.Join(personaFolder, entry)
		info, ok := w.stat(name)
		if !ok {
			continue
		}
		if !info.Mode().IsRegular() {
			w.problem(w.prefix+name, "is not a regular file")
			continue
		}
		content, ok := w.read(name, info)
		if !ok {
			continue
		}
		if grants := grantsOf(content); grants != "" {
			w.add(name, "a persona with "+grants, content)
		}
	}
}

// grantsOf names what a persona grants. One that cannot be read is never used, so it
// grants nothing.
func grantsOf(content []byte) string {
	doc, err := yamlfile.Frontmatter(content)
	if err != nil {
		return ""
	}
	var grants []string
	for _, f := range doc.Fields {
		if slices.Contains(granting, f.Key) {
			grants = append(grants, f.Key)
		}
	}
	return strings.Join(grants, ", ")
}
