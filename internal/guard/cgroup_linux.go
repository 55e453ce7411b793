package guard

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// cgroup is the folder of a control group that holds one agent's tree, or "". The kernel
// keeps account of who is in it, whatever a process does to its environment and its
// parents, and ends all of them at once. Its name says whose it is, so that Sweep finds
// it when harness and guard are gone.
type cgroup string

const cgroupPrefix = "terret-"

// emptyTime bounds the wait for the end of killed processes.
const emptyTime = 5 * time.Second

// cgroupFor names the group of a tree, below that of the calling process.
func cgroupFor(o owner, tree string) cgroup {
	own, err := ownCgroup()
	if err != nil {
		return ""
	}
	return cgroup(filepath.Join(own.dir, fmt.Sprintf("%s%d-%d-%s-%s", cgroupPrefix, o.pid, o.start, pidSpace(), tree)))
}

// ownerOf reads the name of a group.
func (c cgroup) ownerOf() (o owner, space string, ok bool) {
	name, found := strings.CutPrefix(filepath.Base(string(c)), cgroupPrefix)
	part := strings.Split(name, "-")
	if !found || len(part) != 4 {
		return owner{}, "", false
	}
	o, ok = parseOwner(":" + part[0] + ":" + part[1])
	return o, part[2], ok
}

// enter makes the group, and makes attr start a process in it. The result closes what
// the start needed. If there can be no group, nothing happens.
func (c cgroup) enter(attr *syscall.SysProcAttr) (done func(), err error) {
	nothing := func() {}
	if c == "" {
		return nothing, errors.ErrUnsupported
	}
	if err := os.Mkdir(string(c), 0o755); err != nil {
		return nothing, err
	}
	if _, err := os.Stat(c.file("cgroup.kill")); err != nil {
		return nothing, errors.Join(errors.New("it needs Linux 5.14 or newer"), os.Remove(string(c)))
	}
	fd, err := unix.Open(string(c), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nothing, errors.Join(err, os.Remove(string(c)))
	}
	attr.UseCgroupFD, attr.CgroupFD = true, fd
	return func() { _ = unix.Close(fd) }, nil
}

func (c cgroup) file(name string) string { return filepath.Join(string(c), name) }

// populated reports whether a process is in the group or below it.
func (c cgroup) populated() bool {
	b, err := os.ReadFile(c.file("cgroup.events"))
	return err == nil && bytes.Contains(b, []byte("populated 1"))
}

// end kills the processes that are left in the group and removes it. It reports whether
// there were any, and whether there are none now; both are false if there is no group.
func (c cgroup) end() (found, gone bool) {
	if _, err := os.Stat(string(c)); c == "" || err != nil {
		return false, false
	}
	if found = c.populated(); found {
		_ = os.WriteFile(c.file("cgroup.kill"), []byte("1"), 0)
	}
	for deadline := time.Now().Add(emptyTime); c.populated(); time.Sleep(killPause) {
		if time.Now().After(deadline) {
			return found, false
		}
	}
	c.remove()
	return found, true
}

// remove removes the group and those that a harness inside of it made. Groups that are
// not empty stay.
func (c cgroup) remove() {
	entries, _ := os.ReadDir(string(c))
	for _, e := range entries {
		if e.IsDir() {
			cgroup(c.file(e.Name())).remove()
		}
	}
	_ = os.Remove(string(c))
}

// sweepCgroups ends the groups of owners that are gone, and returns how many of them
// held a process.
func sweepCgroups(alive func(owner) bool) (ended int) {
	own, err := ownCgroup()
	if err != nil {
		return 0
	}
	space := pidSpace()
	_ = filepath.WalkDir(own.mount, func(p string, e fs.DirEntry, err error) error {
		if err != nil || !e.IsDir() {
			return nil
		}
		o, in, ok := cgroup(p).ownerOf()
		if !ok || in != space || alive(o) || strings.HasPrefix(own.dir+"/", p+"/") {
			return nil
		}
		if found, _ := cgroup(p).end(); found {
			ended++
		}
		return fs.SkipDir
	})
	return ended
}

// cgroupPlace is where the group of the calling process is.
type cgroupPlace struct {
	mount string // of the hierarchy
	dir   string // of the group
}

// ownCgroup finds the group of the calling process in the hierarchy of version 2,
// wherever that is mounted.
func ownCgroup() (cgroupPlace, error) {
	groups, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return cgroupPlace{}, err
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return cgroupPlace{}, err
	}
	return placeOf(groups, mounts)
}

// placeOf reads /proc/self/cgroup, where the line "0::/path" is about version 2, and
// /proc/self/mountinfo, of which proc_pid_mountinfo(5) explains the fields.
func placeOf(groups, mounts []byte) (cgroupPlace, error) {
	own := ""
	for line := range strings.Lines(string(groups)) {
		if p, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "0::"); ok {
			own = p
		}
	}
	if !path.IsAbs(own) || strings.HasPrefix(own, "/..") {
		return cgroupPlace{}, errors.New("this process is in no group of version 2 that it can see")
	}
	for lines := bufio.NewScanner(bytes.NewReader(mounts)); lines.Scan(); {
		before, after, _ := strings.Cut(lines.Text(), " - ")
		at, kind := strings.Fields(before), strings.Fields(after)
		if len(at) < 5 || len(kind) == 0 || kind[0] != "cgroup2" {
			continue
		}
		root, mount := unescape(at[3]), unescape(at[4])
		rel, inside := strings.CutPrefix(own+"/", strings.TrimSuffix(root, "/")+"/")
		if inside {
			return cgroupPlace{mount: mount, dir: filepath.Join(mount, rel)}, nil
		}
	}
	return cgroupPlace{}, errors.New("cgroup v2 is not mounted")
}

// unescape reads \040 and the like, which stand for spaces in a path.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// Contained says whether agents run in control groups of their own, which a process
// cannot leave by dropping its environment and its parents. Nil is yes.
func Contained() error {
	self, err := selfMark("")
	if err != nil {
		return err
	}
	if _, err := ownCgroup(); err != nil {
		return err
	}
	c := cgroupFor(self, "doctor"+strconv.FormatInt(time.Now().UnixNano(), 36))
	done, err := c.enter(&syscall.SysProcAttr{})
	done()
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, unix.EROFS) {
		return errors.New("this user may not make a group below its own")
	}
	if err == nil {
		err = os.Remove(string(c))
	}
	return err
}
