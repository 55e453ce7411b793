//go:build unix

package engine_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/engine"
)

// watch is what a viewer on the wrong node saw of a session.
type watch struct {
	node    string
	mu      sync.Mutex
	seqs    []int64
	late    int
	strays  int // said by an agent whose turn was over
	over    bool
	overAt  time.Time
	doubled int
}

func (w *watch) see(e terret.Entry) {
	ev, err := e.Decode()
	w.mu.Lock()
	defer w.mu.Unlock()
	if n := len(w.seqs); n > 0 && e.Seq <= w.seqs[n-1] {
		w.doubled++
	}
	w.seqs = append(w.seqs, e.Seq)
	if err == nil && time.Since(ev.Time.Time) > drillBound {
		w.late++
	}
	switch {
	case e.Kind == terret.KindTurnError:
		w.over, w.overAt = true, time.Now()
	case e.Kind == terret.KindTurnStart:
		w.over = false
	case w.over && strings.HasPrefix(string(e.Kind), "message."):
		w.strays++
	}
}

// TestDrill runs three nodes with many sessions, each watched on a node that does not have
// it; restarts the database, kills a node, pauses one and cuts one off. It prints what was
// lost, doubled or late, and how long takeovers took.
func TestDrill(t *testing.T) {
	if os.Getenv(drillEnv) == "" {
		t.Skip("it takes minutes; `make drill` runs it")
	}
	own, path := fleet(t), t.TempDir()
	viewer := named(t, own, path, "viewer", mock.Script{})
	links := newLinks(t, own)
	var nodes []*exec.Cmd
	for i, l := range links {
		t.Setenv(drillVia, l.addr())
		child, out := startChild(t, "drill", path, fmt.Sprintf("node-%d", i), l.inside()...)
		t.Cleanup(func() {
			_ = child.Process.Kill()
			_ = child.Wait()
		})
		if !out.Scan() || out.Text() != "ready" {
			t.Fatalf("node %d said %q", i, out.Text())
		}
		nodes = append(nodes, child)
	}
	watches, stop := viewer.watchAll(t)
	report(t, viewer, watches, "nothing yet", "", time.Time{})

	at := time.Now()
	if err := errors.Join(own.Halt(), own.Launch()); err != nil {
		t.Fatal(err)
	}
	report(t, viewer, watches, "database restarted", "", at)
	at = time.Now()
	if err := nodes[0].Process.Kill(); err != nil {
		t.Fatal(err)
	}
	report(t, viewer, watches, "node killed", "node-0", at)
	at = time.Now()
	if err := nodes[1].Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	waitOver(t, watches, "node-1")
	time.Sleep(time.Until(at.Add(drillPause(t))))
	if err := nodes[1].Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	report(t, viewer, watches, "node paused "+drillPause(t).String(), "node-1", at)
	at = time.Now()
	links[2].cut(t)
	waitOver(t, watches, "node-2")
	links[2].mend(t)
	report(t, viewer, watches, "node cut off", "node-2", at)
	stop()
}

// drillPause is how long a node is stopped: longer than four leases, a minute as `make
// drill` runs it.
func drillPause(t *testing.T) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(cmp.Or(os.Getenv("TERRET_DRILL_PAUSE"), "1m"))
	if err != nil {
		t.Fatal(err)
	}
	return max(d, 4*shortLease+time.Second)
}

// watchAll follows all sessions.
func (n node) watchAll(t *testing.T) (all map[string]*watch, stop func()) {
	t.Helper()
	page, err := n.store.ListSessions(t.Context(), terret.SessionFilter{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	all = map[string]*watch{}
	for _, s := range page.Items {
		w := &watch{node: s.Node}
		all[s.ID] = w
		group.Go(func() {
			after := int64(0)
			for ctx.Err() == nil { // a stream that breaks is resumed, as clients do
				for e, err := range n.Events(ctx, engine.EventQuery{Session: s.ID, After: after, Follow: true}) {
					if err != nil {
						break
					}
					w.see(e)
					after = e.Seq
				}
			}
		})
	}
	return all, func() {
		cancel()
		group.Wait()
	}
}

// waitOver waits until the turns of a node have ended.
func waitOver(t *testing.T, watches map[string]*watch, node string) {
	t.Helper()
	deadline := time.Now().Add(2 * patience)
	for _, w := range watches {
		for over := false; w.node == node && !over; time.Sleep(20 * time.Millisecond) {
			w.mu.Lock()
			over = w.over
			w.mu.Unlock()
			if time.Now().After(deadline) {
				t.Fatalf("nobody takes over the sessions of %s", node)
			}
		}
	}
}

// report waits until things have calmed down, and compares what was seen with the log.
func report(t *testing.T, n node, watches map[string]*watch, what, node string, at time.Time) {
	t.Helper()
	waitOver(t, watches, node)
	time.Sleep(2 * shortLease)
	var lost, doubled, late, strays, events int
	var took []time.Duration
	for id, w := range watches {
		s, err := n.store.Session(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		for range 500 { // what was committed arrives
			w.mu.Lock()
			reached := len(w.seqs) > 0 && w.seqs[len(w.seqs)-1] >= s.LastSeq
			w.mu.Unlock()
			if reached {
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
		w.mu.Lock()
		for i, seq := range w.seqs { // numbers are dense
			if seq > s.LastSeq {
				break
			}
			if seq != int64(i+1) {
				lost++
				break
			}
		}
		if len(w.seqs) == 0 || w.seqs[len(w.seqs)-1] < s.LastSeq {
			lost++
		}
		events, doubled, late, strays = events+len(w.seqs), doubled+w.doubled, late+w.late, strays+w.strays
		if w.node == node {
			took = append(took, w.overAt.Sub(at))
		}
		w.mu.Unlock()
	}
	line := fmt.Sprintf("%-20s %4d sessions %7d events: %d lost, %d doubled, %d late, %d of an old owner", what, len(watches), events, lost, doubled, late, strays)
	if len(took) > 0 {
		slices.SortFunc(took, cmp.Compare)
		line += fmt.Sprintf("; taken over after p50 %v, p99 %v", took[len(took)/2].Round(time.Millisecond), took[len(took)*99/100].Round(time.Millisecond))
	}
	fmt.Println(line)
	if lost+doubled+late+strays > 0 {
		t.Error(line)
	}
}
