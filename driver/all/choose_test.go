package all

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/native"
)

// prober is a driver of which only its probe matters.
type prober struct {
	name  string
	probe terret.Probe
	can   *terret.Capabilities
	err   error
	asked int
}

func (p *prober) Name() string { return p.name }

func (p *prober) Describe() terret.Description {
	return terret.Description{Title: "The " + p.name, Modes: map[string]terret.Policy{"plan": terret.PolicyPlan, "ask": terret.PolicyAsk}, Program: p.name != "inside", Can: p.can, Env: []string{"A_KEY", "AB_*"}}
}

func (p *prober) Open(context.Context, terret.OpenRequest) (terret.Agent, error) {
	return nil, errors.New("not here")
}

func (p *prober) Probe(context.Context) (terret.Probe, error) {
	p.asked++
	p.probe.Agent = p.name
	return p.probe, p.err
}

// TestDeclared holds that programs are not asked for what they can do where that is known,
// and left out where it is not.
func TestDeclared(t *testing.T) {
	t.Parallel()
	can := terret.Capabilities{Abilities: map[terret.Capability]terret.Ability{terret.CanSteer: {OK: true}}}
	known, unknown := &prober{name: "known", can: &can}, &prober{name: "unknown"}
	inside := &prober{name: "inside", probe: terret.Probe{Found: true, Capabilities: can}}
	got := Declared(t.Context(), []terret.Driver{known, unknown, inside}, nil)
	if known.asked+unknown.asked > 0 {
		t.Error("a program was asked")
	}
	if len(got) != 2 || got[0].Agent != "known" || got[0].Title != "The known" || !got[0].Capabilities.Has(terret.CanSteer) || len(got[0].Modes) != 2 {
		t.Errorf("got %+v", got)
	}
	if len(got) != 2 || got[1].Agent != "inside" || !got[1].Found || !got[1].Capabilities.Has(terret.CanSteer) {
		t.Errorf("got %+v", got)
	}
}

// TestDeclaredIsProbed holds that every driver declares what its probe says.
func TestDeclaredIsProbed(t *testing.T) {
	t.Parallel()
	drivers, err := Drivers(Config{Env: []string{"HOME=/"}})
	if err != nil {
		t.Fatal(err)
	}
	missing := map[string]Agent{} // no program of this machine is asked
	for _, d := range drivers {
		if terret.DescriptionOf(d).Program {
			missing[d.Name()] = Agent{Path: filepath.Join(t.TempDir(), "missing")}
		}
	}
	if drivers, err = Drivers(Config{Env: []string{"HOME=/"}, Agents: missing}); err != nil {
		t.Fatal(err)
	}
	declared := map[string]terret.Probe{}
	for _, p := range Declared(t.Context(), drivers, nil) {
		declared[p.Agent] = p
	}
	if len(declared) != len(drivers) {
		t.Errorf("%d of %d agents say what they can do", len(declared), len(drivers))
	}
	for _, p := range Probes(t.Context(), drivers) {
		if got := declared[p.Agent]; !reflect.DeepEqual(got.Capabilities, p.Capabilities) || got.Title != p.Title || !slices.Equal(got.Modes, p.Modes) {
			t.Errorf("%s declares %+v, and its probe says %+v", p.Agent, got, p)
		}
	}
}

func TestChoose(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "agent")
	if err := os.WriteFile(program, nil, 0o700); err != nil {
		t.Fatal(err)
	}
	ready := terret.Probe{Found: true, Auth: "ok", Path: program}
	tests := map[string]struct {
		drivers []terret.Driver
		want    string
	}{
		"none":              {nil, native.Name},
		"not installed":     {[]terret.Driver{&prober{name: "a"}}, native.Name},
		"not signed in":     {[]terret.Driver{&prober{name: "a", probe: terret.Probe{Found: true, Auth: "missing"}}}, native.Name},
		"sign-in not known": {[]terret.Driver{&prober{name: "a", probe: terret.Probe{Found: true, Auth: "unknown"}}}, native.Name},
		"broken":            {[]terret.Driver{&prober{name: "a", probe: ready, err: errors.New("broken")}, &prober{name: "b", probe: ready}}, "b"},
		"the first":         {[]terret.Driver{&prober{name: "a"}, &prober{name: "b", probe: ready}, &prober{name: "c", probe: ready}}, "b"},
		"only programs":     {[]terret.Driver{&prober{name: "inside", probe: ready}}, native.Name},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := filepath.Join(t.TempDir(), "data")
			for range 2 { // as found out, and as remembered
				if got := Choose(t.Context(), tt.drivers, data, nil); got != tt.want {
					t.Errorf("%s, want %s", got, tt.want)
				}
			}
		})
	}
}

func TestChooseRemembers(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "agent")
	if err := os.WriteFile(program, nil, 0o700); err != nil {
		t.Fatal(err)
	}
	p := &prober{name: "a", probe: terret.Probe{Found: true, Auth: "ok", Path: program}}
	drivers, data := []terret.Driver{p}, t.TempDir()
	choose := func(environ ...string) string { return Choose(t.Context(), drivers, data, environ) }
	expect := func(asked int) {
		t.Helper()
		if p.asked != asked {
			t.Errorf("asked %d times, want %d", p.asked, asked)
		}
	}
	choose()
	choose()
	expect(1)
	if err := os.Chtimes(program, time.Time{}, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	choose() // another version
	expect(2)
	choose("HOME=/elsewhere") // somebody else
	expect(3)
	choose("HOME=/elsewhere", "AB_TOKEN=x") // with a key
	expect(4)
	choose("HOME=/elsewhere", "AB_TOKEN=x", "UNRELATED=y")
	expect(4)
	if err := os.WriteFile(filepath.Join(data, "agents.json"), []byte("garbage"), 0o600); err != nil {
		t.Fatal(err)
	}
	choose()
	expect(5)
	Remember([]terret.Probe{{Agent: "a", Found: true, Auth: "missing"}}, drivers, data, nil)
	if got := choose(); got != native.Name {
		t.Errorf("%s after signing out", got)
	}
	expect(5)
	Remember([]terret.Probe{{Agent: "a", Found: true, Auth: "ok", Path: program}}, drivers, data, nil)
	if got := choose(); got != "a" {
		t.Errorf("%s after signing in", got)
	}

	// What can be used need not be asked again, whether or not it says who is signed in.
	recall := func() (terret.Probe, bool) { return Recall("a", drivers, data, nil) }
	for auth, usable := range map[string]bool{"ok": true, "unknown": true, "missing": false} {
		about := terret.Probe{Agent: "a", Found: true, Auth: auth, Path: program, Capabilities: terret.Capabilities{Oversight: terret.OversightAsked}}
		Remember([]terret.Probe{about}, drivers, data, nil)
		if p, ok := recall(); ok != usable || ok && (!p.Usable() || p.Capabilities.Oversight != terret.OversightAsked) {
			t.Errorf("%s: recalled %+v, %v", auth, p, ok)
		}
	}
	Remember([]terret.Probe{{Agent: "a", Found: true, Auth: "ok", Path: program, Capabilities: terret.Capabilities{Oversight: terret.OversightAll}}}, drivers, data, nil)
	if err := os.Remove(program); err != nil {
		t.Fatal(err)
	}
	if p, ok := recall(); ok {
		t.Errorf("recalled %+v of a program that is gone", p)
	}
}

// asking is a driver whose probe waits until others are asked too.
type asking struct {
	prober
	others *sync.WaitGroup
}

func (a *asking) Probe(ctx context.Context) (terret.Probe, error) {
	a.others.Done()
	a.others.Wait()
	return a.prober.Probe(ctx)
}

func TestChooseAsksAllAtOnce(t *testing.T) {
	t.Parallel()
	var others sync.WaitGroup
	var drivers []terret.Driver
	for _, name := range []string{"a", "b", "c"} {
		others.Add(1)
		drivers = append(drivers, &asking{prober{name: name}, &others})
	}
	if got := Choose(t.Context(), drivers, t.TempDir(), nil); got != native.Name {
		t.Errorf("chose %s", got)
	}
}

// hanging is a driver whose probe ends with its context.
type hanging struct{ prober }

func (h *hanging) Probe(ctx context.Context) (terret.Probe, error) {
	<-ctx.Done()
	return terret.Probe{}, ctx.Err()
}

func TestChooseWaitsForNobodyAfterTheChosen(t *testing.T) {
	t.Parallel()
	first := &prober{name: "a", probe: terret.Probe{Found: true, Auth: "ok", Path: os.Args[0]}}
	data := t.TempDir()
	if got := Choose(t.Context(), []terret.Driver{first, &hanging{prober{name: "b"}}}, data, nil); got != "a" {
		t.Errorf("chose %s", got)
	}
	if m := load(filepath.Join(data, "agents.json"), envKey([]terret.Driver{first}, nil)); len(m.Agents) != 1 {
		t.Errorf("remembers %+v of an agent that did not answer", m.Agents)
	}
}

// slow is a driver that says in time that its program is there, and not who is signed in.
type slow struct{ hanging }

func (s *slow) Probe(ctx context.Context) (terret.Probe, error) {
	_, err := s.hanging.Probe(ctx)
	return terret.Probe{Agent: s.name, Found: true, Version: "1.0.0", Path: os.Args[0]}, err
}

// TestProbesInTime holds that what is known in time counts, and that the rest is said
// in words.
func TestProbesInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		got := Probes(t.Context(), []terret.Driver{&slow{hanging{prober{name: "a"}}}, &hanging{prober{name: "b"}}})
		if p := got[0]; p.Agent != "a" || !p.Usable() || p.Auth != "unknown" || p.Version != "1.0.0" || p.Fix != "" || p.Title != "The a" || !slices.Equal(p.Modes, []string{"ask", "plan"}) {
			t.Errorf("%+v", p)
		}
		if p := got[1]; p.Agent != "b" || p.Found || !strings.HasPrefix(p.Fix, "it did not answer within 10s") {
			t.Errorf("%+v", p)
		}
	})
}

func TestChooseIsBounded(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if got := Choose(t.Context(), []terret.Driver{&hanging{prober{name: "a"}}}, data, nil); got != native.Name {
			t.Errorf("chose %s", got)
		}
		if took := time.Since(began); took != probeLimit {
			t.Errorf("took %s", took)
		}
	})
}
