package opencode

import (
	"strings"
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/seat"
)

// TestReplacedServer is that those who still have a server that died neither share nor
// end the one in its place.
func TestReplacedServer(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "good")
	l, err := s.d.launchOf(s.req, s.req.Settings)
	if err != nil {
		t.Fatal(err)
	}
	acquire := func() *lease {
		got, err := s.d.pool.acquire(t.Context(), l, "w1", patience, s.req.Log)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { got.release() })
		return got
	}
	first := acquire()
	if first.shared() {
		t.Error("one who is alone shares a server")
	}
	if second := acquire(); second.server != first.server || !first.shared() || second.release() {
		t.Error("two do not share a server")
	}
	_, _ = first.Kill()
	third := acquire()
	fourth := acquire()
	if third.server == first.server || third.server != fourth.server || !third.shared() || first.shared() {
		t.Error("the two who came after its end do not share a server of their own")
	}
	if !first.release() {
		t.Error("a server that died has not ended")
	}
	if fourth.release() || !third.Alive() || acquire().server != third.server {
		t.Error("the server in its place was ended or forgotten")
	}
}

// TestWhyItDied is that a call that fails because the server has ended says so, with what
// the server left behind.
func TestWhyItDied(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "good")
	a := s.open()
	at := a.Current()
	_, _ = at.lease.Kill()
	for range 50 { // it is not by chance
		for _, err := range []error{seat.ErrEnded, &callError{status: 500}} {
			if e := terret.AsError(at.diagnose(err)); e.Code != terret.CodeProcessFailed {
				t.Fatalf("%v was told as %v", err, e)
			}
		}
	}
}

// TestSpawnIsTold is that the arguments of a server are in the log, without secrets.
func TestSpawnIsTold(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "good")
	s.d.cfg.Args = []string{"--label", canary}
	s.open()
	spawn, _ := s.until("start of the server", func(ev terret.Event) bool { return ev.Kind() == terret.KindProcessSpawn }).Data.(terret.ProcessSpawn)
	if len(spawn.Argv) != 8 || spawn.Argv[1] != "serve" || spawn.Argv[6] != "--label" || spawn.PID == 0 {
		t.Errorf("%+v", spawn)
	}
}

// TestProbeWithBadSettings is that settings that cannot be read are what is to be fixed.
func TestProbeWithBadSettings(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "good")
	s.d.cfg.Environ = append(s.d.cfg.Environ, configVar+"=nonsense")
	if p, err := s.d.Probe(t.Context()); err != nil || p.Found || !strings.Contains(p.Fix, configVar) {
		t.Errorf("%+v, %v", p, err)
	}
}
