//go:build linux || darwin

package guard

import "os"

// target is a process that may be signalled. It holds whatever the system
// offers to keep its pid from meaning another process; close releases that.
type target struct {
	pid, parent, group int
	start              uint64 // the kernel's start time, in the system's unit
	handle             int    // a pidfd on Linux, or -1
	guard              bool   // it is a guard
	groupSafe          bool   // its whole process group is of the tree
}

func (t target) key() key { return key{t.pid, t.start} }

// below appends the descendants of parent to out. It skips, with all below it,
// a process for which skip is true. parent must stay open meanwhile: a child is
// trusted to be one only if its parent was still there after the look.
func below(tb *table, parent target, skip func(target) bool, out []target) []target {
	first := len(out)
	for _, pid := range tb.children(parent.pid) {
		t, ok := open(pid)
		if !ok {
			continue
		}
		if t.parent != parent.pid || skip(t) {
			t.close()
			continue
		}
		out = append(out, t)
	}
	if !parent.alive() {
		for _, t := range out[first:] {
			t.close()
		}
		return out[:first] // they have a new parent now; the next round finds them
	}
	for _, t := range out[first:] {
		out = below(tb, t, skip, out)
	}
	return out
}

// self is the calling process as the root of below.
func self() target { return target{pid: os.Getpid(), handle: -1} }

// marked returns the processes of this user whose marks satisfy root, and their
// descendants, except those that spare names with all below them, the caller
// and its ancestors. The caller closes the targets.
func marked(root, spare func(marks, int) bool) ([]target, error) {
	tb, err := loadTable()
	if err != nil {
		return nil, err
	}
	own := ancestry()
	buf := make([]byte, 0, 64<<10)
	seen := map[int]bool{os.Getpid(): true}
	skip := func(t target) bool {
		if seen[t.pid] {
			return true
		}
		seen[t.pid] = true
		var m marks
		var found bool
		if buf, found = environ(t.pid, buf); found {
			m, found = parseMarks(buf)
		}
		return found && spare(m, t.pid)
	}
	var all []target
	for _, pid := range tb.pids {
		var found bool
		if buf, found = environ(pid, buf); !found {
			continue
		}
		if m, ok := parseMarks(buf); !ok || seen[pid] || !root(m, pid) {
			continue
		}
		t, ok := open(pid)
		if !ok {
			continue
		}
		// Looked at again now that the pid is pinned.
		if buf, found = environ(pid, buf); !found {
			t.close()
			continue
		}
		if m, ok := parseMarks(buf); !ok || !root(m, pid) {
			t.close()
			continue
		}
		seen[pid] = true
		all = below(tb, t, skip, append(all, t))
	}
	return without(all, own, buf), nil
}

// without drops the processes of own from all, and notes which are guards.
func without(all []target, own map[int]bool, buf []byte) []target {
	kept := all[:0]
	for _, t := range all {
		if own[t.pid] {
			t.close()
			continue
		}
		if b, found := environ(t.pid, buf); found {
			m, ok := parseMarks(b)
			t.guard = ok && m.guard
		}
		kept = append(kept, t)
	}
	return kept
}

// ancestry is the calling process and its ancestors.
func ancestry() map[int]bool {
	own := map[int]bool{}
	for pid := os.Getpid(); pid > 0 && !own[pid]; {
		own[pid] = true
		t, ok := open(pid)
		if !ok {
			break
		}
		t.close()
		pid = t.parent
	}
	return own
}
