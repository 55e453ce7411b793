package guard

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Guaranteed reports whether no descendant of an agent can outlive its harness
// on this system. macOS has no subreaper: see the package comment.
func Guaranteed() bool { return false }

const (
	waitAny     = 0
	stateZombie = 5 // SZOMB of sys/proc.h
	samplePause = 500 * time.Millisecond
)

func executable() (string, error) { return os.Executable() }

func becomeReaper() error { return nil }

func nameProcess(string) {}

func duplicate(from, to int) error { return unix.Dup2(from, to) }

// closeInherited keeps what the harness inherited from the agent; the guard
// itself keeps holding it, since nothing here lists open descriptors safely.
func closeInherited(first int) {
	for fd := first; fd < 256; fd++ {
		unix.CloseOnExec(fd)
	}
}

// tracker remembers who was seen to descend from the guard, since an orphan is
// adopted by launchd and its descent is then no longer to be seen.
type tracker struct {
	known  map[key]target
	looked time.Time
}

func (tr *tracker) none() bool {
	tr.update()
	return len(tr.known) == 0
}

func (tr *tracker) sample() <-chan time.Time {
	if time.Since(tr.looked) >= samplePause {
		tr.update()
	}
	return time.After(samplePause)
}

func (tr *tracker) descendants() []target {
	tr.update()
	list := make([]target, 0, len(tr.known))
	for _, t := range tr.known {
		list = append(list, t)
	}
	return list
}

// update drops who has ended and adds who has a known parent or a known group.
// The guard leads a session, so a group of the tree holds nobody else.
func (tr *tracker) update() {
	tr.looked = time.Now()
	tb, err := loadTable()
	if err != nil {
		return
	}
	group := unix.Getpgrp()
	parents, groups := map[int]bool{os.Getpid(): true}, map[int]bool{}
	known := map[key]target{}
	add := func(t target) {
		t.groupSafe = t.group > 1 && t.group != group
		known[t.key()] = t
		parents[t.pid] = true
		groups[t.group] = t.groupSafe
	}
	for _, t := range tb.all {
		if _, ok := tr.known[t.key()]; ok {
			add(t)
		}
	}
	for before := -1; before != len(known); {
		before = len(known)
		for _, t := range tb.all {
			if t.pid != os.Getpid() && (parents[t.parent] || groups[t.group]) {
				add(t)
			}
		}
	}
	tr.known = known
}

// open looks at a process. Nothing pins it: signal looks again.
func open(pid int) (target, bool) {
	t, err := inspect(pid)
	return t, err == nil
}

func (t target) close() {}

func (t target) signal(sig unix.Signal) error {
	if !t.alive() {
		return unix.ESRCH
	}
	return unix.Kill(t.pid, sig)
}

func (t target) alive() bool {
	if t.pid == os.Getpid() {
		return true
	}
	now, err := inspect(t.pid)
	return err == nil && now.start == t.start
}

func missing(err error) bool { return errors.Is(err, unix.ESRCH) }

func inspect(pid int) (target, error) {
	list, err := unix.SysctlKinfoProcSlice("kern.proc.pid", pid)
	if err != nil {
		return target{}, err
	}
	if len(list) == 0 || list[0].Proc.P_stat == stateZombie {
		return target{}, unix.ESRCH
	}
	return targetOf(&list[0]), nil
}

func targetOf(k *unix.KinfoProc) target {
	at := k.Proc.P_starttime
	return target{
		pid:    int(k.Proc.P_pid),
		parent: int(k.Eproc.Ppid),
		group:  int(k.Eproc.Pgid),
		start:  uint64(at.Sec)*1e6 + uint64(at.Usec), // a time after 1970
		handle: -1,
	}
}

// table is a look at the process table; pids are those of this user.
type table struct {
	pids []int
	all  []target
}

func loadTable() (*table, error) {
	list, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil, err
	}
	tb := &table{}
	for i := range list {
		if list[i].Proc.P_stat == stateZombie {
			continue
		}
		t := targetOf(&list[i])
		tb.all = append(tb.all, t)
		if int(list[i].Eproc.Ucred.Uid) == os.Geteuid() {
			tb.pids = append(tb.pids, t.pid)
		}
	}
	return tb, nil
}

func (tb *table) children(pid int) []int {
	var list []int
	for _, t := range tb.all {
		if t.parent == pid {
			list = append(list, t.pid)
		}
	}
	return list
}

// environ reads the environment that a process was started with. The kernel
// shows it to the same user only, and not for Apple's own binaries. The layout
// is: argument count, path, padding, arguments, environment, each NUL-ended.
func environ(pid int, buf []byte) ([]byte, bool) {
	raw, err := unix.SysctlRaw("kern.procargs2", pid)
	if err != nil || len(raw) < 4 {
		return buf[:0], false
	}
	argc := binary.NativeEndian.Uint32(raw)
	_, rest, ok := bytes.Cut(raw[4:], []byte{0})
	rest = bytes.TrimLeft(rest, "\x00")
	for ; argc > 0 && ok; argc-- {
		_, rest, ok = bytes.Cut(rest, []byte{0})
	}
	return append(buf[:0], rest...), ok && len(rest) > 0
}

// There are no pid namespaces.
func pidSpace() string   { return "0" }
func spaceOf(int) string { return "0" }
func tableIsOurs() error { return nil }
