package team_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/work/team"
)

// TestHistory selects messages by member, conversation and number.
func TestHistory(t *testing.T) {
	t.Parallel()
	c := newCrew(t, newFixture(t, counting(1)))
	c.spawn(team.Config{Name: "a"}, team.Config{Name: "b"})
	c.run()
	first := c.send("number 1", "a")
	if _, err := c.Bus.Await(c.ctx, first.ID); err != nil {
		t.Fatal(err)
	}
	second := c.send("number 0", "b")
	if _, err := c.Bus.Await(c.ctx, second.ID); err != nil {
		t.Fatal(err)
	}
	one := []string{"ann>a number 1", "a>ann that was number 1"}
	two := []string{"ann>b number 0", "b>a number 1", "a>b that was number 1", "b>ann that was number 1"}
	for _, q := range []struct {
		what  string
		query team.HistoryQuery
		want  []string
	}{
		{"all", team.HistoryQuery{}, slices.Concat(one, two)},
		{"one conversation", team.HistoryQuery{Conversation: first.ID}, one},
		{"the other", team.HistoryQuery{Conversation: second.ID}, two},
		{"to and from b", team.HistoryQuery{Member: "b"}, two},
		{"to and from a", team.HistoryQuery{Member: "a"}, slices.Concat(one, two[1:3])},
		{"of a in one", team.HistoryQuery{Member: "a", Conversation: second.ID}, two[1:3]},
		{"of nobody", team.HistoryQuery{Member: "c"}, nil},
		{"after a number", team.HistoryQuery{After: second.Seq}, two[1:]},
	} {
		if diff := cmp.Diff(q.want, c.heard(q.query)); diff != "" {
			t.Errorf("%s: -want +got\n%s", q.what, diff)
		}
	}
}

// TestSendCompletes is that a message gets an id, a type and a time if it has none.
func TestSendCompletes(t *testing.T) {
	t.Parallel()
	c := newCrew(t, newFixture(t, counting(0)))
	c.spawn(team.Config{Name: "a"})
	for range 2 {
		r, err := c.Bus.Send(c.ctx, team.Message{Sender: "ann", Content: "hi", Recipients: []string{"a"}})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Validate(); err != nil || r.Type != team.Chat {
			t.Errorf("%+v: %v", r, err)
		}
	}
	if a, err := c.Get(c.ctx, "a"); err != nil || a.Mail != 2 {
		t.Errorf("%+v: %v", a, err)
	}
	for _, reply := range []string{"none", ""} {
		_, err := c.Bus.Send(c.ctx, team.NewMessage("ann", "hi", "a").ReplyTo(reply))
		if want := reply != ""; errors.Is(err, terret.ErrNotFound) != want || !want && err != nil {
			t.Errorf("in reply to %q: %v", reply, err)
		}
	}
}

// receipts counts those for a message in the team's log.
func (c *crew) receipts(id string) (n int) {
	c.t.Helper()
	for entry, err := range c.engine.Events(c.ctx, engine.EventQuery{Session: team.LogSession}) {
		if err != nil {
			c.t.Fatal(err)
		}
		ev, _ := entry.Decode()
		if d, ok := ev.Data.(terret.BusReceipt); ok && d.MessageID == id {
			n++
		}
	}
	return n
}

// TestSeen is that a person sees a message once, and that nobody sees one for an agent.
func TestSeen(t *testing.T) {
	t.Parallel()
	c := newCrew(t, newFixture(t, counting(0)))
	c.spawn(team.Config{Name: "a"}, team.Config{Name: "paul", Type: team.Person})
	m := c.send("look", "paul", "a")
	for range 2 {
		if err := c.Bus.Read(c.ctx, m.ID, "paul"); err != nil {
			t.Fatal(err)
		}
	}
	if n := c.receipts(m.ID); n != 2 { // delivered, and seen
		t.Errorf("there are %d receipts", n)
	}
	if err := c.Bus.Read(c.ctx, m.ID, "a"); err == nil || terret.AsError(err).Code != terret.CodeForbidden {
		t.Errorf("in the name of an agent: %v", err)
	}
	if a, err := c.Get(c.ctx, "a"); err != nil || a.Mail != 1 {
		t.Errorf("%+v: %v", a, err)
	}
	if err := c.Bus.Read(c.ctx, m.ID, "ann"); !errors.Is(err, terret.ErrNotFound) {
		t.Errorf("by one who did not get it: %v", err)
	}
}

// TestAwait waits for every agent that got the message, and for nobody else.
func TestAwait(t *testing.T) {
	t.Parallel()
	c := newCrew(t, newFixture(t, talker(func(_ context.Context, name, _ string) (string, error) { return name + " here", nil })))
	c.spawn(team.Config{Name: "a"}, team.Config{Name: "b"}, team.Config{Name: "paul", Type: team.Person})
	c.run()
	var got []string
	for _, r := range c.ask("who is there?", "all") {
		got = append(got, r.Content)
	}
	slices.Sort(got)
	if want := []string{"a here", "b here"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := c.ask("and you?", "paul"); got != nil { // it may take days
		t.Errorf("%+v", got)
	}
	if _, err := c.Bus.Await(c.ctx, "none"); !errors.Is(err, terret.ErrNotFound) {
		t.Errorf("for answers to no message: %v", err)
	}
}
