package guard

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Guaranteed reports whether no descendant of an agent can outlive its harness
// on this system.
func Guaranteed() bool { return true }

const waitAny = unix.WALL

// executable is the running binary itself, also when its file was replaced.
func executable() (string, error) { return "/proc/self/exe", nil }

func becomeReaper() error {
	return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
}

// nameProcess sets what ps and top show; the kernel took "exe" from the path.
func nameProcess(name string) {
	_ = os.WriteFile("/proc/self/comm", []byte(name), 0)
}

func duplicate(from, to int) error { return unix.Dup3(from, to, 0) }

// closeInherited closes what the harness itself had inherited: every descriptor
// from first on that is not close-on-exec. Those of the Go runtime all are.
func closeInherited(first int) {
	dir, err := os.Open("/proc/self/fd")
	if err != nil {
		return
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		fd, err := strconv.Atoi(name)
		if err != nil || fd < first {
			continue
		}
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 { // a descriptor
			_ = unix.Close(fd)
		}
	}
}

// tracker finds the guard's descendants. Here the kernel keeps account of them.
type tracker struct{}

func (*tracker) none() bool               { return true }
func (*tracker) sample() <-chan time.Time { return nil }

func (*tracker) descendants() []target {
	group := unix.Getpgrp()
	all := below(&table{}, self(), func(target) bool { return false }, nil)
	for i := range all {
		all[i].groupSafe = all[i].group > 1 && all[i].group != group
	}
	return all
}

// open pins the process of a pid and looks at it. Zombies do not count.
func open(pid int) (target, bool) {
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return target{}, false
	}
	if err != nil {
		fd = -1 // an old kernel, a sandbox, too many open files
	}
	t, err := inspect(pid)
	t.handle = fd
	if err != nil {
		t.close()
		return target{}, false
	}
	return t, true
}

func (t target) close() {
	if t.handle >= 0 {
		_ = unix.Close(t.handle)
	}
}

func (t target) signal(sig unix.Signal) error {
	if t.handle >= 0 {
		if err := unix.PidfdSendSignal(t.handle, sig, nil, 0); !errors.Is(err, unix.ENOSYS) {
			return err
		}
	}
	return unix.Kill(t.pid, sig)
}

func (t target) alive() bool {
	return t.pid == os.Getpid() || !errors.Is(t.signal(0), unix.ESRCH)
}

// missing reports whether err of inspect says that there is no such process,
// and not that it could not be looked at.
func missing(err error) bool {
	return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ESRCH) || errors.Is(err, errZombie)
}

var errZombie = errors.New("process has ended")

// inspect reads /proc/<pid>/stat; the fields are those of proc_pid_stat(5).
func inspect(pid int) (target, error) {
	b, err := readFile("/proc/"+strconv.Itoa(pid)+"/stat", make([]byte, 0, 1024))
	if err != nil {
		return target{}, err
	}
	// The name, in parentheses, may hold anything: count from its end.
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(fields) < 20 {
		return target{}, fmt.Errorf("malformed stat of process %d", pid)
	}
	threads := string(fields[17])
	if state := fields[0][0]; (state == 'Z' || state == 'X') && (threads == "0" || threads == "1") {
		return target{}, errZombie // with more threads only its first has ended
	}
	t := target{pid: pid, handle: -1}
	var errs [3]error
	t.parent, errs[0] = strconv.Atoi(string(fields[1]))
	t.group, errs[1] = strconv.Atoi(string(fields[2]))
	t.start, errs[2] = strconv.ParseUint(string(fields[19]), 10, 64)
	return t, errors.Join(errs[:]...)
}

// table is a look at the process table.
type table struct {
	pids []int
	byPP map[int][]int // by parent; made only when the kernel lists no children
}

func loadTable() (*table, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	tb := &table{pids: make([]int, 0, len(names))}
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			tb.pids = append(tb.pids, pid)
		}
	}
	return tb, nil
}

// children lists the children of every thread of pid. The list can miss some
// while processes come and go; the code that ends a tree looks again.
func (tb *table) children(pid int) []int {
	if tb.byPP != nil {
		return tb.byPP[pid]
	}
	base := "/proc/" + strconv.Itoa(pid) + "/task"
	dir, err := os.Open(base)
	if err != nil {
		return nil
	}
	tids, _ := dir.Readdirnames(-1)
	_ = dir.Close()
	var list []int
	buf := make([]byte, 0, 4096)
	for _, tid := range tids {
		buf, err = readFile(base+"/"+tid+"/children", buf)
		if errors.Is(err, unix.ENOENT) && pid == os.Getpid() {
			return tb.scanParents(pid) // a kernel without CONFIG_PROC_CHILDREN
		}
		for field := range strings.FieldsSeq(string(buf)) {
			if child, err := strconv.Atoi(field); err == nil {
				list = append(list, child)
			}
		}
	}
	return list
}

func (tb *table) scanParents(pid int) []int {
	if all, err := loadTable(); err == nil {
		tb.byPP = map[int][]int{}
		for _, p := range all.pids {
			if t, err := inspect(p); err == nil {
				tb.byPP[t.parent] = append(tb.byPP[t.parent], p)
			}
		}
	}
	return tb.byPP[pid]
}

// environ reads the environment that a process of this user was started with
// into buf, which it returns, grown or not.
func environ(pid int, buf []byte) ([]byte, bool) {
	b, err := readOwned("/proc/"+strconv.Itoa(pid)+"/environ", buf, os.Geteuid())
	return b, err == nil && len(b) > 0
}

func readFile(path string, buf []byte) ([]byte, error) { return readOwned(path, buf, -1) }

// readOwned reads a file of /proc without the poller that os.File brings. With
// uid at least zero it refuses the file of another user.
func readOwned(path string, buf []byte, uid int) ([]byte, error) {
	buf = buf[:0]
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return buf, err
	}
	defer unix.Close(fd) //nolint:errcheck // read only
	if uid >= 0 {
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil {
			return buf, err
		}
		if int(st.Uid) != uid {
			return buf, unix.EPERM
		}
	}
	for {
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
		n, err := unix.Read(fd, buf[len(buf):cap(buf)])
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || n <= 0 {
			return buf, err
		}
		buf = buf[:len(buf)+n]
	}
}

// pidSpace names the pid namespace of the calling process.
func pidSpace() string { return spaceOf(os.Getpid()) }

func spaceOf(pid int) string {
	link, _ := os.Readlink("/proc/" + strconv.Itoa(pid) + "/ns/pid")
	return strings.Trim(link, "pid:[]")
}

// tableIsOurs refuses a /proc whose pids are not those of the caller.
func tableIsOurs() error {
	link, err := os.Readlink("/proc/self")
	if err != nil {
		return fmt.Errorf("read /proc: %w", err)
	}
	if link != strconv.Itoa(os.Getpid()) {
		return fmt.Errorf("/proc is of another pid namespace: it calls process %d %s; mount the right one", os.Getpid(), link)
	}
	return nil
}
