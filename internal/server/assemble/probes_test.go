package assemble

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/server/config"
)

// slow is an agent whose program takes as long as is said to answer.
type slow struct {
	name  string
	takes *time.Duration
	path  string
	asked *int
}

func (s slow) Name() string { return s.name }

func (s slow) Describe() terret.Description { return terret.Description{Program: true} }

func (s slow) Open(context.Context, terret.OpenRequest) (terret.Agent, error) {
	return nil, errors.New("not here")
}

func (s slow) Probe(ctx context.Context) (terret.Probe, error) {
	*s.asked++
	select {
	case <-time.After(*s.takes):
		return terret.Probe{Agent: s.name, Found: true, Auth: "ok", Version: "1.0.0", Path: s.path}, nil
	case <-ctx.Done():
		return terret.Probe{Agent: s.name}, context.Cause(ctx)
	}
}

func slowly(takes *time.Duration, path string) (slow, *int) {
	asked := new(int)
	return slow{name: "slow", takes: takes, path: path, asked: asked}, asked
}

// TestAgents holds that the answers are kept for a while, since asking takes long, and that
// nobody waits for a program whose last answer is known.
func TestAgents(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		takes := 5 * time.Second
		d, asked := slowly(&takes, "")
		a := NewAgents([]terret.Driver{d, deaf{}})
		defer a.Close()
		begin := time.Now()
		if got := a.Probe(t.Context()); len(got) != 2 || !got[0].Found || got[0].Checking || got[1].Agent != "deaf" || !got[1].Found {
			t.Errorf("the first answer is %+v", got)
		}
		if waited := time.Since(begin); waited != takes {
			t.Errorf("what had never been asked came after %s", waited)
		}
		a.Probe(t.Context())
		if _, found := a.One(t.Context(), "slow"); !found || *asked != 1 {
			t.Errorf("found %v, asked %d times", found, *asked)
		}
		time.Sleep(probeFor)
		begin = time.Now()
		if got := a.Probe(t.Context()); !got[0].Found || !got[0].Checking || time.Since(begin) != 0 {
			t.Errorf("the old answer came after %s: %+v", time.Since(begin), got[0])
		}
		synctest.Wait()
		time.Sleep(takes)
		synctest.Wait()
		if got := a.Probe(t.Context()); !got[0].Found || got[0].Checking || *asked != 2 {
			t.Errorf("asked %d times, and then it is %+v", *asked, got[0])
		}
		time.Sleep(probeFor)
		begin = time.Now()
		if got := a.Ask(t.Context()); got[0].Checking || time.Since(begin) != takes {
			t.Errorf("who asks got %+v after %s", got[0], time.Since(begin))
		}
		if _, found := a.One(t.Context(), "nobody"); found {
			t.Error("found nobody")
		}
	})
}

// TestAgentsTooSlow holds that an agent that is there stays there if its program does not
// answer in time, and that closing ends what is asked.
func TestAgentsTooSlow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		takes := time.Second
		d, _ := slowly(&takes, "")
		a := NewAgents([]terret.Driver{d})
		a.Probe(t.Context())
		takes = time.Hour
		time.Sleep(probeFor)
		if got := a.Ask(t.Context()); !got[0].Found || got[0].Version != "1.0.0" {
			t.Errorf("after no answer it is %+v", got[0])
		}
		time.Sleep(probeFor)
		a.Probe(t.Context())
		begin := time.Now()
		a.Close()
		if time.Since(begin) != 0 {
			t.Errorf("it closed after %s", time.Since(begin))
		}
	})
}

// TestAgentsModel holds that the built-in agent says which model it will use, so that nobody
// pays for one that was called a demo.
func TestAgentsModel(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]Options{
		"demo":                        {Env: []string{"PATH="}},
		"anthropic/claude-sonnet-4-5": {Env: []string{"PATH=", "ANTHROPIC_API_KEY=key"}},
		"ollama/small":                {Env: []string{"PATH=", "ANTHROPIC_API_KEY=key"}, Config: config.Config{Model: "ollama/small"}},
	} {
		a, err := newAgents(o)
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		if p, _ := a.One(t.Context(), "native"); p.Model != want {
			t.Errorf("it says %q, and uses %q", p.Model, want)
		}
	}
}

// TestAgentsRemembered holds that what is known is shown at once after a restart, as long as
// the program is the same.
func TestAgentsRemembered(t *testing.T) {
	t.Parallel()
	takes := time.Duration(0)
	home := t.TempDir()
	program := filepath.Join(home, "program")
	if err := os.WriteFile(program, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	d, asked := slowly(&takes, program)
	begin := func() *Agents {
		a := NewAgents([]terret.Driver{d})
		a.options.Home = home
		t.Cleanup(a.Close)
		return a
	}
	if got := begin().Declared(t.Context()); len(got) != 0 {
		t.Errorf("before anything is known: %+v", got)
	}
	begin().Ask(t.Context())
	if got := begin().Declared(t.Context()); len(got) != 1 || !got[0].Found || got[0].Version != "1.0.0" || *asked != 1 {
		t.Errorf("after a restart, asked %d times: %+v", *asked, got)
	}
	if err := os.Remove(program); err != nil {
		t.Fatal(err)
	}
	if got := begin().Declared(t.Context()); len(got) != 0 {
		t.Errorf("the program is gone: %+v", got)
	}
}
