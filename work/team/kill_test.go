package team_test

import (
	"bufio"
	"context"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/store/sqlite"
	"github.com/terret-dev/terret/work/team"
)

// Another process of the tests is this test binary again, with a home in its environment.
const (
	childHome = "TERRET_TEAM_HOME"
	childHold = "TERRET_TEAM_HOLD" // the number at which its agents hang
)

// childMain runs a team until it is killed, if this is a child.
func childMain() {
	home := os.Getenv(childHome)
	if home == "" {
		return
	}
	if err := runChild(context.Background(), home, os.Getenv(childHold)); err != nil {
		fmt.Println("error:", err)
	}
	os.Exit(1)
}

func runChild(ctx context.Context, home, hold string) error {
	agents := talker(func(ctx context.Context, name, prompt string) (string, error) {
		if number.FindStringSubmatch(prompt)[1] == hold {
			fmt.Println("holding")
			<-ctx.Done()
		}
		return counting(5)(ctx, name, prompt)
	})
	store, err := sqlite.Open(ctx, filepath.Join(home, "terret.db"), sqlite.Options{})
	if err != nil {
		return err
	}
	e, err := engine.New(ctx, engine.Config{Store: store, Drivers: []terret.Driver{agents}})
	if err != nil {
		return err
	}
	host := team.Host{Engine: e, Store: store}
	var providers team.Providers
	providers.Register("talker", func() team.Provider { return holder{team.FromDriver(host, agents, "talker"), hold} })
	r, err := team.Open(ctx, team.Options{Host: host, Providers: &providers, Lock: filepath.Join(home, "team.lock")})
	if err != nil {
		return err
	}
	go func() {
		for m, err := range r.Bus.History(ctx, team.HistoryQuery{Follow: true}) {
			fmt.Println(m.Content, err)
		}
	}()
	return r.Run(ctx)
}

// holder makes agents that hang when they have handled a message, before anybody knows.
type holder struct {
	team.Provider
	hold string
}

func (h holder) CreateAgent(ctx context.Context, c team.Config) (team.Agent, error) {
	a, err := h.Provider.CreateAgent(ctx, c)
	return holdingAgent{a, h.hold}, err
}

type holdingAgent struct {
	team.Agent
	hold string
}

func (h holdingAgent) HandleMessage(ctx context.Context, m team.Message) iter.Seq2[team.Message, error] {
	return func(yield func(team.Message, error) bool) {
		h.Agent.HandleMessage(ctx, m)(yield)
		if "after "+number.FindStringSubmatch(m.Content)[1] == h.hold {
			fmt.Println("holding")
			<-ctx.Done()
		}
	}
}

// killedAt runs a team in another process until it says a line that begins so, and kills
// it there as kill -9 does.
func killedAt(t *testing.T, home, hold, line string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childHome+"="+home, childHold+"="+hold)
	cmd.Stderr = os.Stderr
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	found := false
	for out := bufio.NewScanner(pipe); !found && out.Scan(); {
		found = strings.HasPrefix(out.Text(), line)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil || !found {
		t.Fatalf("the child did not say %q: %v", line, err)
	}
}

// TestKilled lets two agents exchange five messages while their process is killed again
// and again, between messages and in the middle of turns. No message may be lost, and
// none delivered twice.
func TestKilled(t *testing.T) {
	t.Parallel()
	for _, q := range []struct {
		name string
		mode string
		at   [][2]string // hold, line
	}{
		{"between", "client", [][2]string{{"", "number 1"}, {"", "number 2"}, {"", "number 4"}, {"", "number 5"}}},
		{"in turns", "client", [][2]string{{"0", "holding"}, {"2", "holding"}, {"2", "holding"}, {"5", "holding"}}},
		{"after turns", "client", [][2]string{{"after 0", "holding"}, {"after 0", "holding"}, {"after 3", "holding"}}},
		{"after queries", "query", [][2]string{{"after 0", "holding"}, {"after 3", "holding"}}},
		{"in queries", "query", [][2]string{{"1", "holding"}, {"", "number 3"}, {"4", "holding"}}},
	} {
		t.Run(q.name, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			first := begun(t, home, q.mode)
			held := map[string]int{}
			for _, at := range q.at {
				killedAt(t, home, at[0], at[1])
				held[at[0]]++
			}
			f := openFixture(t, home, counting(5))
			c := newCrew(t, f, func(o *team.Options) { o.Lock = filepath.Join(home, "team.lock") })
			stop := c.run()
			if _, err := c.Bus.Await(c.ctx, first); err != nil {
				t.Fatal(err)
			}
			stop()
			if diff := cmp.Diff(exchange, c.heard(team.HistoryQuery{})); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			wantOnce(t, c, held)
		})
	}
}

// begun makes a team and sends the first message, whose id it returns. Nobody runs it.
func begun(t *testing.T, home, mode string) string {
	t.Helper()
	store, err := sqlite.Open(t.Context(), filepath.Join(home, "terret.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	drivers := []terret.Driver{counting(5)}
	e, err := engine.New(t.Context(), engine.Config{Store: store, Drivers: drivers})
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{t: t, engine: e, store: store, home: home, dir: t.TempDir()}
	f.providers = team.FromDrivers(f.host(), drivers)
	c := newCrew(t, f)
	for _, name := range []string{"a", "b"} {
		c.spawn(team.Config{Name: name, Credentials: map[string]any{"mode": mode}, Restart: team.Restart{Limit: 9, BackoffMS: 1}})
	}
	m := c.send("number 0", "a")
	c.stop()
	if err := e.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	return m.ID
}

// wantOnce checks the logs: each message is there once, and each led to one turn that
// ended well, after those that the kills ended.
func wantOnce(t *testing.T, c *crew, held map[string]int) {
	t.Helper()
	messages := 0
	for entry, err := range c.engine.Events(c.ctx, engine.EventQuery{Session: team.LogSession}) {
		if err != nil {
			t.Fatal(err)
		}
		if entry.Kind == terret.KindBusMessage {
			messages++
		}
	}
	if messages != len(exchange) {
		t.Errorf("%d messages in the log, want %d", messages, len(exchange))
	}
	page, err := c.store.ListSessions(c.ctx, terret.SessionFilter{Agent: "talker", Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	good, bad := map[string]int{}, map[string]int{}
	for _, s := range page.Items {
		turns, err := c.store.Turns(c.ctx, s.ID)
		if err != nil {
			t.Fatal(err)
		}
		for _, turn := range turns {
			text := terret.TextOf(turn.Prompt)
			n := number.FindStringSubmatch(text)[1]
			if strings.Contains(text, "that was") {
				n = "the end"
			}
			if turn.State == terret.TurnCompleted {
				good[n]++
			} else {
				bad[n]++
			}
		}
	}
	want := map[string]int{"0": 1, "1": 1, "2": 1, "3": 1, "4": 1, "5": 1, "the end": 1}
	if diff := cmp.Diff(want, good); diff != "" {
		t.Errorf("turns that ended well: -want +got\n%s", diff)
	}
	for n, times := range held {
		if n != "" && !strings.HasPrefix(n, "after") && bad[n] < times {
			t.Errorf("%d turns with number %s were cut off, want %d", bad[n], n, times)
		}
	}
}
