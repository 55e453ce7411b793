package access

import (
	"context"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"testing"

	"github.com/terret-dev/terret/internal/guard"
)

// TestHolders holds who counts as the caller when a connection changes hands: a new
// process holds all that its parent has open until it runs its program, and by then it
// may have an agent's mark.
func TestHolders(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	end := socketOf(netip.MustParseAddrPort(conn.LocalAddr().String()), netip.MustParseAddrPort(conn.RemoteAddr().String()))
	f, err := conn.(*net.TCPConn).File()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	agent, holder := startMarked(t), startMarked(t, f)
	self := os.Getpid()
	for _, c := range []struct {
		what string
		seen [][]int // by one look after the other; the last repeats
		want bool
	}{
		{"nobody", [][]int{{}}, seesAll()},
		{"nobody, and then this process", [][]int{{}, {}, {self}}, false},
		{"this process", [][]int{{self}}, false},
		{"an agent", [][]int{{holder}}, true},
		{"this process and an agent", [][]int{{self, holder}}, true},
		{"an agent that is being started", [][]int{{self, agent}, {self}}, false},
		{"several, one after the other", [][]int{{self, agent}, {agent, self}, {self}}, false},
		{"an agent that is being started, and one that calls", [][]int{{self, agent, holder}, {self}}, true},
		{"an agent that passes it on", [][]int{{agent}, {holder}}, true},
		{"an agent that passes it on again and again", [][]int{{agent}}, true},
		{"an agent that is gone", [][]int{{agent}, {}}, true},
	} {
		look := 0
		got := heldInside(end, func(string) []int {
			now := c.seen[min(look, len(c.seen)-1)]
			look++
			return slices.Clone(now)
		}, func() []int { return nil })
		if got != c.want {
			t.Errorf("%s: inside: %t", c.what, got)
		}
	}
	nobody := func(string) []int { return nil }
	other := end
	other.uid += "1"
	if heldInside(other, nobody, func() []int { return nil }) {
		t.Error("a process of another user, which we may not see, is inside")
	}
	if heldInside(end, nobody, func() []int { return []int{self, os.Getppid()} }) {
		t.Error("a process that we may not look into is inside")
	}
	if !heldInside(end, nobody, func() []int { return []int{self, holder} }) {
		t.Error("an agent that we may not look into is not inside")
	}
	if got := holders(end.inode); !slices.Contains(got, self) || !slices.Contains(got, holder) || slices.Contains(got, agent) {
		t.Errorf("%v hold the connection, want %d and %d", got, self, holder)
	}
}

// startMarked starts a process with an agent's mark.
func startMarked(t *testing.T, files ...*os.File) (pid int) {
	t.Helper()
	cmd := exec.CommandContext(context.Background(), "cat")
	cmd.Env = append(os.Environ(), guard.TreeEnv+"=some")
	cmd.ExtraFiles = files
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	})
	return cmd.Process.Pid
}
