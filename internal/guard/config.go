package guard

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// defaultGrace is the time between TERM and KILL when Config gives none.
const defaultGrace = 2 * time.Second

var (
	// ErrUnsupported is returned by Start where no process tree can be owned.
	ErrUnsupported = errors.New("agent processes are unsupported on this system")
	// ErrLost means that the guard process died before the agent's tree had
	// ended. The harness has then ended what carried the tree's mark; the
	// agent's exit status is not known.
	ErrLost = errors.New("the guard process was killed from outside; the agent was ended by its mark and its exit status is unknown")
	// ErrLeft means that processes of another user are left of the tree.
	ErrLeft = errors.New("processes that belong to another user could not be ended")
)

// Config says what to run. Path, Argv and Dir are required.
type Config struct {
	Path string   // absolute path of the program
	Argv []string // the program's arguments, Argv[0] included
	Dir  string   // absolute path of the working folder
	// Env is the agent's whole environment; nil is an empty one. The two
	// marks are added to it, and replace entries of the same names.
	Env   []string
	Owner string // worker id for the owner mark

	// The agent's standard files. Nil is the null device. The caller keeps
	// ownership and closes its copies once Start has returned.
	Stdin, Stdout, Stderr *os.File
	// Terminal says that Stdin is a terminal: the agent leads a session of its own, whose
	// terminal that is. Else it leads only a process group.
	Terminal bool

	// Grace is the time between TERM and KILL when the control pipe closes or
	// the agent ends by itself. Zero is 2 s; negative is none.
	Grace time.Duration
	// KeepDescendants leaves descendants alone when the agent ends by itself.
	// They then live until End, Close or the end of the harness.
	KeepDescendants bool
}

// Exit is how an agent ended.
type Exit struct {
	Code     int           // exit code; -1 when a signal ended it or it is unknown
	Signal   string        // name of the signal that ended it, as in "SIGTERM"
	Duration time.Duration // from the agent's start to its end
}

// String says how it ended, for people.
func (e Exit) String() string {
	if e.Signal != "" {
		return "ended by " + e.Signal
	}
	return "exit code " + strconv.Itoa(e.Code)
}

func (c *Config) validate() error {
	if len(c.Argv) == 0 || c.Argv[0] == "" {
		return errors.New("start agent: the argument list is empty; it must begin with the program")
	}
	if !filepath.IsAbs(c.Path) {
		return fmt.Errorf("start agent: program %q is not an absolute path", c.Path)
	}
	if !filepath.IsAbs(c.Dir) {
		return fmt.Errorf("start agent %s: folder %q is not an absolute path", c.Path, c.Dir)
	}
	if hasNUL(c.Path, c.Dir, c.Owner) {
		return errors.New("start agent: program, folder or owner contains a NUL byte")
	}
	if hasNUL(c.Argv...) {
		return fmt.Errorf("start agent %s: an argument contains a NUL byte", c.Path)
	}
	if hasNUL(c.Env...) {
		return fmt.Errorf("start agent %s: an environment entry contains a NUL byte", c.Path)
	}
	return nil
}

func hasNUL(list ...string) bool {
	for _, s := range list {
		if strings.IndexByte(s, 0) >= 0 {
			return true
		}
	}
	return false
}

func (c *Config) grace() time.Duration {
	if c.Grace == 0 {
		return defaultGrace
	}
	return max(c.Grace, 0)
}
