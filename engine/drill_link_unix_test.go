//go:build unix

package engine_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/terret-dev/terret/internal/test/pgtest"
)

// link is what a node of the drill has between itself and the database.
type link interface {
	addr() string     // of the database, for the node
	inside() []string // the command that runs another one where the node is
	cut(t *testing.T) // from now on what is sent is lost, in both directions, and nobody is told
	mend(t *testing.T)
}

// newLinks makes a network namespace for each node or, where that is not allowed, a proxy.
func newLinks(t *testing.T, own *pgtest.Server) []link {
	t.Helper()
	var out []link
	if err := mayNamespace(); err != nil {
		fmt.Printf("without network namespaces (%v): a proxy cuts a node off\n", err)
		for range drillNodes {
			out = append(out, newWire(t, own.Addr()))
		}
		return out
	}
	var hosts []string
	_, port, err := net.SplitHostPort(own.Addr())
	if err != nil {
		t.Fatal(err)
	}
	for i := range drillNodes {
		n := newNamespace(t, i, port)
		hosts, out = append(hosts, n.host), append(out, n)
	}
	own.ListenOn(t, hosts...)
	fmt.Println("each node in a network namespace of its own")
	return out
}

// mayNamespace says why there can be no network namespaces.
func mayNamespace() error {
	if os.Getuid() != 0 {
		return errors.New("they need root")
	}
	name := fmt.Sprintf("terret-%d", os.Getpid())
	if err := ip("netns", "add", name); err != nil {
		return err
	}
	return ip("netns", "del", name)
}

func ip(args ...string) error {
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("ip %v: %w: %s", args, err, out)
	}
	return nil
}

// namespace is a network that holds a node and a cable to this machine.
type namespace struct{ name, cable, host, port string }

func newNamespace(t *testing.T, i int, port string) *namespace {
	t.Helper()
	pid := os.Getpid()
	n := &namespace{name: fmt.Sprintf("terret-%d-%d", pid, i), cable: fmt.Sprintf("td%d-%d", pid, i), host: fmt.Sprintf("10.99.%d.1", i), port: port}
	t.Cleanup(func() {
		if err := ip("netns", "del", n.name); err != nil { // and the cable with it
			t.Error(err)
		}
	})
	for _, args := range [][]string{
		{"netns", "add", n.name},
		{"link", "add", n.cable, "type", "veth", "peer", "name", "db", "netns", n.name},
		{"addr", "add", n.host + "/24", "dev", n.cable},
		{"link", "set", n.cable, "up"},
		{"-n", n.name, "addr", "add", fmt.Sprintf("10.99.%d.2/24", i), "dev", "db"},
		{"-n", n.name, "link", "set", "db", "up"},
		{"-n", n.name, "link", "set", "lo", "up"},
	} {
		if err := ip(args...); err != nil {
			t.Fatal(err)
		}
	}
	return n
}

func (n *namespace) addr() string     { return net.JoinHostPort(n.host, n.port) }
func (n *namespace) inside() []string { return []string{"ip", "netns", "exec", n.name} }

func (n *namespace) cut(t *testing.T)  { n.set(t, "down") }
func (n *namespace) mend(t *testing.T) { n.set(t, "up") }

// set plugs the cable in at our end, or pulls it: the node still sees a network.
func (n *namespace) set(t *testing.T, state string) {
	t.Helper()
	if err := ip("link", "set", n.cable, state); err != nil {
		t.Fatal(err)
	}
}

// wire is a connection to the database that can be cut.
type wire struct {
	listener net.Listener
	isCut    atomic.Bool
	mu       sync.Mutex
	open     []net.Conn
	group    sync.WaitGroup
}

func newWire(t *testing.T, to string) *wire {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{listener: l}
	w.group.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			d, err := net.Dial("tcp", to)
			if err != nil {
				_ = c.Close()
				continue
			}
			w.mu.Lock()
			w.open = append(w.open, c, d)
			w.mu.Unlock()
			w.group.Go(func() { w.carry(c, d) })
			w.group.Go(func() { w.carry(d, c) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		w.mu.Lock()
		for _, c := range w.open {
			_ = c.Close()
		}
		w.mu.Unlock()
		w.group.Wait()
	})
	return w
}

// carry copies until an end closes. While the wire is cut, what is sent is lost, as in a
// network that drops packets: nobody is told.
func (w *wire) carry(from, to net.Conn) {
	defer to.Close()
	buffer := make([]byte, 1<<16)
	for {
		n, err := from.Read(buffer)
		if w.isCut.Load() {
			n = 0
		}
		if _, werr := to.Write(buffer[:n]); err != nil || werr != nil {
			for w.isCut.Load() && errors.Is(err, io.EOF) { // not even that gets through
				time.Sleep(20 * time.Millisecond)
			}
			return
		}
	}
}

func (w *wire) addr() string     { return w.listener.Addr().String() }
func (w *wire) inside() []string { return nil }

func (w *wire) cut(*testing.T)  { w.isCut.Store(true) }
func (w *wire) mend(*testing.T) { w.isCut.Store(false) }
