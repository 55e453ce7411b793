package guard

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// Names of the marks in an agent's environment.
const (
	// OwnerEnv holds "<worker id>:<harness pid>:<harness start time>". The
	// start time is the kernel's, and tells a reused pid from the owner.
	OwnerEnv = "TERRET_OWNER"
	// TreeEnv holds "<random tree id>.<pid namespace of the harness>".
	TreeEnv = "TERRET_GUARD"

	// guardEnv stands in the guard's own environment in place of TreeEnv.
	guardEnv = "TERRET_GUARD_FOR"
)

// owner is a parsed owner mark.
type owner struct {
	worker string
	pid    int
	start  uint64
}

func (o owner) String() string {
	return fmt.Sprintf("%s:%d:%d", o.worker, o.pid, o.start)
}

// parseOwner reads a mark from the right, so that a worker id may hold colons.
func parseOwner(mark string) (owner, bool) {
	rest, start, ok1 := cutLast(mark, ":")
	worker, pid, ok2 := cutLast(rest, ":")
	if !ok1 || !ok2 {
		return owner{}, false
	}
	o := owner{worker: worker}
	var err1, err2 error
	o.pid, err1 = strconv.Atoi(pid)
	o.start, err2 = strconv.ParseUint(start, 10, 64)
	return o, err1 == nil && err2 == nil && o.pid > 0
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// marks are what an environment says about the tree that a process is of.
type marks struct {
	owner owner
	tree  string // tree id, empty when the environment names none
	space string // pid namespace that the owner's pid is a number of, or empty
	guard bool   // the environment is that of a guard process
}

// parseMarks looks for an owner mark in a NUL-separated environment.
func parseMarks(environ []byte) (marks, bool) {
	value, ok := lookupEnv(environ, OwnerEnv)
	if !ok {
		return marks{}, false
	}
	var m marks
	if m.owner, ok = parseOwner(value); !ok {
		return marks{}, false
	}
	tree, ok := lookupEnv(environ, TreeEnv)
	if !ok {
		tree, m.guard = lookupEnv(environ, guardEnv)
	}
	m.tree, m.space, _ = strings.Cut(tree, ".")
	return m, true
}

func lookupEnv(environ []byte, name string) (string, bool) {
	prefix := append([]byte(name), '=')
	for rest := environ; ; {
		i := bytes.Index(rest, prefix)
		if i < 0 {
			return "", false
		}
		at := len(environ) - len(rest) + i
		rest = rest[i+len(prefix):]
		if at == 0 || environ[at-1] == 0 {
			value, _, _ := bytes.Cut(rest, []byte{0})
			return string(value), true
		}
	}
}

// setEnv returns env with name set once, as its first entry.
func setEnv(env []string, name, value string) []string {
	out := []string{name + "=" + value}
	for _, entry := range env {
		if !strings.HasPrefix(entry, name+"=") {
			out = append(out, entry)
		}
	}
	return out
}
