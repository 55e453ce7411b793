package tools

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/terret-dev/terret/internal/lazyregexp"
)

const (
	maxKept      = 200      // variables that are kept from one command for the next
	maxKeptBytes = 64 << 10 // of them
	maxSpill     = 64 << 20 // bytes of a command's output that are kept in a file
)

// State is what a conversation's calls have to do with each other: where commands have
// gone and what they have exported, and which files were seen as they are. It is safe for
// concurrent use. Close removes the files that it holds.
type State struct {
	temp *temp

	mu   sync.Mutex
	dir  string             // where the next command begins; empty is Env.Dir
	kept map[string]*string // variables that commands have changed; nil is unset
	seen map[string][sha256.Size]byte
}

// NewState makes a state in which nothing has happened.
func NewState() *State {
	return &State{temp: &temp{}, kept: map[string]*string{}, seen: map[string][sha256.Size]byte{}}
}

// Fork makes a state for another conversation, in which nothing has happened. Its files
// are removed with those of s.
func (s *State) Fork() *State {
	f := NewState()
	f.temp = s.temp
	return f
}

// Folder is where the rest of long output is, which counts as inside; empty if there is
// none so far.
func (s *State) Folder() string {
	s.temp.mu.Lock()
	defer s.temp.mu.Unlock()
	return s.temp.dir
}

// Close removes what was kept in files.
func (s *State) Close() error { return s.temp.remove() }

// Fill adds to the input of Bash where the command begins and which variables it takes
// over, unless the input says it: whoever decides about a use must see both.
func (s *State) Fill(env Env, input json.RawMessage) json.RawMessage {
	s.mu.Lock()
	dir, names := s.dir, slices.Sorted(maps.Keys(s.kept))
	s.mu.Unlock()
	var fields map[string]json.RawMessage
	if json.Unmarshal(input, &fields) != nil || fields == nil {
		return input // Prepare says what is wrong with it
	}
	add := func(name string, value any) {
		if _, ok := fields[name]; ok {
			return
		}
		text, err := json.Marshal(value)
		if err != nil {
			return // names and paths always encode
		}
		rest := bytes.TrimSpace(bytes.TrimSpace(input)[1:])
		comma := ","
		if len(fields) == 0 {
			comma = ""
		}
		input = slices.Concat([]byte(fmt.Sprintf("{%q:%s%s", name, text, comma)), rest)
		fields[name] = text
	}
	if len(names) > 0 {
		add("env", names)
	}
	if dir != "" && env.resolvesTo(dir) {
		add("cwd", env.show(dir))
	}
	return input
}

// resolvesTo reports whether a folder is there, and inside.
func (e Env) resolvesTo(dir string) bool {
	p, err := e.locate("cwd", dir)
	return err == nil && p.inside && isFolder(p) == nil
}

// environ is the environment of a command that takes over these variables.
func (s *State) environ(from, names []string) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := slices.Clone(from)
	for _, name := range names {
		value, ok := s.kept[name]
		if !ok {
			return nil, fmt.Errorf("no earlier command has exported %s", plain(name))
		}
		out = slices.DeleteFunc(out, func(kv string) bool { return strings.HasPrefix(kv, name+"=") })
		if value != nil {
			out = append(out, name+"="+*value)
		}
	}
	return out, nil
}

// variable is the name of a variable that can be kept.
var variable = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)

// ofShell are variables that each shell sets by itself.
var ofShell = []string{"_", "SHLVL", "PWD", "OLDPWD"}

// learn takes what a command left behind: the folder and its environment, each ended by a
// NUL. It returns what the model should know.
func (s *State) learn(env Env, report []byte) (note string) {
	parts := strings.Split(string(report), "\x00")
	if len(parts) < 2 {
		return "" // it was replaced, or killed
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	note = s.goTo(env, strings.TrimSuffix(parts[0], "\n"))
	if len(parts) < 3 {
		return note // no env program told us
	}
	now, was := variables(parts[1:]), variables(env.Environ)
	kept, size := map[string]*string{}, 0
	for name, value := range now {
		if old, ok := was[name]; !ok || old != value {
			kept[name] = &value
			size += len(name) + len(value)
		}
	}
	for name := range was {
		if _, ok := now[name]; !ok {
			kept[name] = nil
		}
	}
	if len(kept) > maxKept || size > maxKeptBytes {
		return strings.TrimPrefix(note+"\n[it exported too much to be kept for later commands]", "\n")
	}
	s.kept = kept
	return note
}

func (s *State) goTo(env Env, dir string) (note string) {
	home, err := resolve(filepath.Clean(env.Dir))
	before := s.dir
	switch {
	case err != nil || !filepath.IsAbs(dir):
		return ""
	case dir == home:
		s.dir = ""
	case env.resolvesTo(dir):
		s.dir = dir
	default:
		s.dir = ""
		return fmt.Sprintf("[%s is outside the session's folders: the next command begins in %s again]", plain(dir), plain(home))
	}
	if s.dir != before {
		return fmt.Sprintf("[the next command begins in %s]", plain(dir))
	}
	return ""
}

// variables are the variables of an environment that can be kept.
func variables(environ []string) map[string]string {
	out := map[string]string{}
	for _, kv := range environ {
		name, value, ok := strings.Cut(kv, "=")
		if ok && variable.MatchString(name) && !slices.Contains(ofShell, name) && !strings.HasPrefix(name, "TERRET_") {
			out[name] = value
		}
	}
	return out
}

// saw notes the content of a file that the model has seen, or has written.
func (s *State) saw(path string, sum [sha256.Size]byte) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen[path] = sum
}

// changed reports whether a file is another than the one that the model has seen.
func (s *State) changed(path string, now state) bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	sum, ok := s.seen[path]
	return ok && (now.info == nil || sum != now.sum)
}

// temp is a folder that is made when it is needed.
type temp struct {
	mu  sync.Mutex
	dir string
}

// create makes a file in the folder that only we can read.
func (t *temp) create() (*os.File, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.dir == "" {
		dir, err := os.MkdirTemp("", "terret-output-")
		if err != nil {
			return nil, err
		}
		if dir, err = filepath.EvalSymlinks(dir); err != nil {
			return nil, err
		}
		t.dir = dir
	}
	return os.CreateTemp(t.dir, "output-*.txt")
}

func (t *temp) remove() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.dir == "" {
		return nil
	}
	dir := t.dir
	t.dir = ""
	return os.RemoveAll(dir)
}

// spill is a file with all of a command's output, as far as it fits.
type spill struct {
	create func() (*os.File, error) // nil means that there must be none
	file   *os.File
	left   int64
	failed bool
}

// write adds to the file, which begins with what came before.
func (s *spill) write(before [][]byte, b []byte) {
	if s.create == nil || s.failed {
		return
	}
	if s.file == nil {
		file, err := s.create()
		if err != nil {
			s.failed = true
			return
		}
		s.file, s.left = file, maxSpill
		b = slices.Concat(append(before, b)...)
	}
	n := min(int64(len(b)), s.left)
	s.left -= n
	if _, err := io.Copy(s.file, bytes.NewReader(b[:n])); err != nil {
		s.failed = true
	}
}

// close ends the file, and says where it is; empty if there is none.
func (s *spill) close() string {
	if s.file == nil {
		return ""
	}
	if err := s.file.Close(); err != nil || s.failed {
		_ = errors.Join(err, os.Remove(s.file.Name())) // a part would mislead
		return ""
	}
	return s.file.Name()
}
