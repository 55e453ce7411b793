package access

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/terret-dev/terret/internal/guard"
)

// peerInside finds the processes that hold the other end of a connection, and reports
// whether one of them, or an ancestor, carries the mark of a guarded tree that this
// process does not carry itself. (A server that an agent starts is as much inside as
// its callers.) A caller on this machine that is not found counts as inside: it let go of
// the connection, or passes it on.
func peerInside(remote, local netip.AddrPort) bool {
	a := remote.Addr().Unmap().WithZone("")
	here := a.IsLoopback() || seesAll() && isOwn(a)
	for range looks { // a table that changes while it is read may miss a line
		switch s := socketOf(remote, local); {
		case s.inode != "":
			return heldInside(s, holders, hidden)
		case s.found:
			return true
		case !here:
			return false
		}
	}
	return true
}

// isOwn reports whether an address is one of this machine's.
func isOwn(a netip.Addr) bool {
	own, err := net.InterfaceAddrs()
	return err != nil || slices.ContainsFunc(own, func(n net.Addr) bool {
		p, err := netip.ParsePrefix(n.String())
		return err == nil && p.Addr().Unmap() == a
	})
}

// seesAll reports whether this process sees all processes of the machine. In a container the
// caller may well be outside, behind a proxy that passes connections on.
func seesAll() bool {
	space, err := os.Readlink("/proc/self/ns/pid")
	return err == nil && space == "pid:[4026531836]" // PROC_PID_INIT_INO of the kernel
}

// peerLine are the processes that hold the other end of a connection, and their ancestors.
func peerLine(remote, local netip.AddrPort) []int {
	s := socketOf(remote, local)
	if s.inode == "" {
		return nil
	}
	var line []int
	for _, pid := range holders(s.inode) {
		for depth := 0; pid > 1 && depth < 256 && pid != os.Getpid(); depth++ {
			line = append(line, pid)
			pid = parentOf(pid)
		}
	}
	return line
}

// looks is how often to look for who holds a connection, if it changes hands.
const looks = 10

// heldInside reports whether a process inside an agent holds the connection. It looks again
// if the process no longer does: a new process holds what its parent has open until it runs
// its program, and may have an agent's mark by then; the parent still holds the connection.
// A process that passes the connection on again and again is inside. So is one of our own
// user whose connection nobody holds, where we would see who does. It may be one that we may
// not look into, as sshd with a tunnel: then what counts is whether such a one is inside.
func heldInside(s socket, holders func(inode string) []int, hidden func() []int) bool {
	own, seen := treeOf(os.Getpid()), false
	for range looks {
		all := holders(s.inode)
		if len(all) == 0 {
			if !seen && !suspect(s, own, hidden()) {
				return false
			}
			seen = true
			continue
		}
		marked := slices.DeleteFunc(all, func(pid int) bool { return !isInside(pid, own) })
		if len(marked) == 0 {
			return false
		}
		if slices.ContainsFunc(marked, func(pid int) bool { return holds(pid, s.inode) }) {
			return true
		}
		seen = true
	}
	return seen
}

// suspect reports whether a connection that nobody seems to hold may be an agent's.
func suspect(s socket, own string, hidden []int) bool {
	switch {
	case s.uid != strconv.Itoa(os.Getuid()):
		return false
	case len(hidden) > 0:
		return slices.ContainsFunc(hidden, func(pid int) bool { return isInside(pid, own) })
	}
	return seesAll()
}

// isInside reports whether a process or an ancestor carries a mark other than our own.
// What this process has started is inside only by its own mark.
func isInside(pid int, own string) bool {
	for depth := 0; pid > 1 && depth < 256 && pid != os.Getpid(); depth++ {
		if tree := treeOf(pid); tree != "" && tree != own {
			return true
		}
		pid = parentOf(pid)
	}
	return false
}

// socket is the caller's end of a connection.
type socket struct {
	found      bool
	inode, uid string // no inode: no process has it open any more
}

// socketOf returns the socket that is bound to remote and connected to local, if this
// machine has it.
func socketOf(remote, local netip.AddrPort) (s socket) {
	for _, table := range []string{"/proc/self/net/tcp", "/proc/self/net/tcp6"} {
		f, err := os.Open(table)
		if err != nil {
			continue
		}
		s = findSocket(bufio.NewScanner(f), remote, local)
		f.Close()
		if s.found {
			break
		}
	}
	return s
}

// findSocket searches a table in the format of proc_pid_net(5): "sl local_address
// rem_address st tx:rx tr:when retrnsmt uid timeout inode ...".
func findSocket(table *bufio.Scanner, from, to netip.AddrPort) (s socket) {
	from, to = unmap(from), unmap(to)
	for table.Scan() {
		f := strings.Fields(table.Text())
		if len(f) < 10 {
			continue
		}
		a, ok := parseEndpoint(f[1])
		if !ok || a != from {
			continue
		}
		if b, ok := parseEndpoint(f[2]); !ok || b != to {
			continue
		}
		s = socket{found: true, uid: f[7]}
		if f[9] != "0" {
			s.inode = f[9]
			break // one that is closed may have been there before, at the same address
		}
	}
	return s
}

func unmap(a netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(a.Addr().Unmap().WithZone(""), a.Port())
}

// parseEndpoint reads "0100007F:1D09": words of the address in the machine's
// byte order, then the port.
func parseEndpoint(s string) (netip.AddrPort, bool) {
	addr, port, ok := strings.Cut(s, ":")
	b, err := hex.DecodeString(addr)
	p, portErr := strconv.ParseUint(port, 16, 16)
	if !ok || err != nil || portErr != nil || len(b)%4 != 0 {
		return netip.AddrPort{}, false
	}
	for i := 0; i < len(b); i += 4 {
		binary.NativeEndian.PutUint32(b[i:], binary.BigEndian.Uint32(b[i:]))
	}
	ip, ok := netip.AddrFromSlice(b)
	return netip.AddrPortFrom(ip.Unmap(), uint16(p)), ok
}

// holders returns the processes that have the socket open, as far as we may look.
func holders(inode string) []int {
	var list []int
	for _, name := range names("/proc") {
		if pid, err := strconv.Atoi(name); err == nil && holds(pid, inode) {
			list = append(list, pid)
		}
	}
	return list
}

func holds(pid int, inode string) bool {
	dir, want := "/proc/"+strconv.Itoa(pid)+"/fd", "socket:["+inode+"]"
	return slices.ContainsFunc(names(dir), func(fd string) bool {
		to, err := os.Readlink(dir + "/" + fd)
		return err == nil && to == want
	})
}

// hidden returns the processes of our own user that we may not look into.
func hidden() []int {
	var list []int
	own := strconv.Itoa(os.Getuid())
	for _, name := range names("/proc") {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		f, err := os.Open("/proc/" + name + "/fd")
		if err == nil {
			f.Close()
			continue
		}
		if errors.Is(err, fs.ErrPermission) && userOf(name) == own {
			list = append(list, pid)
		}
	}
	return list
}

// userOf is the real user of a process: "Uid:" of proc_pid_status(5).
func userOf(pid string) string {
	status, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "Uid:"); ok {
			if f := strings.Fields(rest); len(f) > 0 {
				return f[0]
			}
		}
	}
	return ""
}

func names(dir string) []string {
	f, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer f.Close()
	list, _ := f.Readdirnames(-1) // as much as could be read
	return list
}

// treeOf returns the mark of the guarded tree that a process was started in, or "".
func treeOf(pid int) string {
	environ, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return ""
	}
	owner, tree := "", ""
	for entry := range bytes.SplitSeq(environ, []byte{0}) {
		name, value, _ := strings.Cut(string(entry), "=")
		switch name {
		case guard.OwnerEnv:
			owner = value
		case guard.TreeEnv:
			tree = value
		}
	}
	if owner == "" && tree == "" {
		return ""
	}
	return owner + " " + tree
}

// parentOf returns the parent of a process, or 0. The name, in parentheses, may hold
// anything, so fields are counted from its end.
func parentOf(pid int) int {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0
	}
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 2 {
		return 0
	}
	parent, _ := strconv.Atoi(string(fields[1])) // 0 if it is not a number
	return parent
}
