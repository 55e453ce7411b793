package team

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/terret-dev/terret"
)

// told is a ledger that events can be told to.
type told struct {
	*ledger
	t   *testing.T
	seq int64
}

func newTold(t *testing.T) *told { return &told{ledger: newLedger(), t: t} }

// tell tells an event with the next number.
func (l *told) tell(d terret.Data) {
	l.seq++
	l.apply(terret.Event{Seq: l.seq, Time: terret.Time{Time: time.Unix(l.seq, 0)}, Data: d})
}

func (l *told) join(all ...string) {
	for _, one := range all {
		name, kind, _ := strings.Cut(one, ":")
		config := fmt.Sprintf(`{"name":%q,"agent_type":%q,"topics":["of-%s"]}`, name, kind, name)
		l.tell(terret.AgentStateChange{Name: name, State: terret.AgentIdle, Config: terret.JSON(config)})
	}
}

func (l *told) leave(name string) {
	l.tell(terret.AgentStateChange{Name: name, State: terret.AgentTerminated})
}

func (l *told) send(id, from, parent string, to ...string) {
	l.tell(terret.BusMessage{MessageID: id, From: from, To: to, Text: "hi", Type: string(Chat), InReplyTo: parent, Metadata: map[string]string{metaTalk: "m1"}})
}

func (l *told) receipt(id, by string, s Status) {
	l.tell(terret.BusReceipt{MessageID: id, By: by, Status: string(s), CostUSD: terret.USD})
}

// box is what a member has not dealt with.
func (l *told) box(name string) (out []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, m := range l.boxes[name] {
		out = append(out, m.ID)
	}
	return out
}

func closed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

// TestMailIsDealtWithOnce is that each message is in the box of each recipient until it
// is dealt with, whatever is said twice or too late.
func TestMailIsDealtWithOnce(t *testing.T) {
	t.Parallel()
	l := newTold(t)
	l.join("a:talker", "b:talker", "paul:"+Person)
	none, news := l.next("a")
	if none != nil || closed(news) {
		t.Fatalf("there is mail before there is any: %+v", none)
	}
	l.send("m1", "ann", "", "a", "b", "paul")
	if !closed(news) {
		t.Error("whoever waits for mail is not woken")
	}
	l.send("m2", "ann", "", "a")
	l.send("m1", "ann", "", "b") // again, by a process that died
	if got := [][]string{l.box("a"), l.box("b"), l.box("paul")}; !slices.Equal(got[0], []string{"m1", "m2"}) || !slices.Equal(got[1], []string{"m1"}) || got[2] != nil {
		t.Fatalf("the boxes hold %v", got)
	}
	for _, name := range []string{"a", "b"} {
		if m, _ := l.next(name); m == nil || m.ID != "m1" {
			t.Errorf("the oldest for %s is %+v", name, m)
		}
	}
	for _, s := range []Status{Delivered, Read, Failed, Delivered, Failed} {
		l.receipt("m1", "a", s)
	}
	l.apply(terret.Event{Seq: l.seq, Data: terret.BusReceipt{MessageID: "m1", By: "a", Status: string(Failed)}}) // was told already
	if got := l.mark("m1", "a"); got != (mark{Failed, 2}) || !slices.Equal(l.box("a"), []string{"m1", "m2"}) {
		t.Errorf("after two failures: %+v, the box holds %v", got, l.box("a"))
	}
	l.receipt("m1", "a", Answered)
	if !slices.Equal(l.box("a"), []string{"m2"}) {
		t.Errorf("after the first answer the box holds %v", l.box("a"))
	}
	cost := l.talk("m1").cost
	for _, late := range []Status{Failed, Stopped, Read} {
		l.receipt("m1", "a", late)
	}
	l.receipt("m1", "nobody", Answered)
	l.receipt("m9", "a", Answered)
	if got := l.mark("m1", "a"); got != (mark{Answered, 2}) || l.talk("m1").cost != cost || cost != 6*terret.USD {
		t.Errorf("what is said after the answer counts: %+v, $%s and then $%s", got, cost, l.talk("m1").cost)
	}
	if l.mark("m1", "nobody") != (mark{}) || l.mark("m9", "a") != (mark{}) {
		t.Error("something became of what nobody got")
	}
	l.receipt("m2", "a", Stopped)
	if l.box("a") != nil || !slices.Equal(l.box("b"), []string{"m1"}) {
		t.Errorf("a has %v, b has %v", l.box("a"), l.box("b"))
	}
}

// TestMailIsCounted is how much mail members are shown to have: agents what they have not
// dealt with, people what they have not seen.
func TestMailIsCounted(t *testing.T) {
	t.Parallel()
	l := newTold(t)
	l.join("a:talker", "paul:"+Person)
	for _, c := range []struct {
		what    string
		do      func()
		a, paul int
	}{
		{"a message to both", func() { l.send("m1", "ann", "", "a", "paul"); l.receipt("m1", "paul", Delivered) }, 1, 1},
		{"one to an agent", func() { l.send("m2", "ann", "", "a"); l.receipt("m2", "a", Delivered) }, 2, 1},
		{"a person has seen one", func() { l.receipt("m1", "paul", Read) }, 2, 0},
		{"an agent has seen one", func() { l.receipt("m1", "a", Read) }, 2, 0},
		{"an agent has answered", func() { l.receipt("m1", "a", Answered) }, 1, 0},
	} {
		c.do()
		a, _ := l.member("a")
		paul, ok := l.member("paul")
		if !ok || a.Mail != c.a || paul.Mail != c.paul {
			t.Errorf("%s: an agent has %d and a person %d, want %d and %d", c.what, a.Mail, paul.Mail, c.a, c.paul)
		}
	}
}

// TestTalk is which messages count as those of agents, and that one without a conversation
// begins one.
func TestTalk(t *testing.T) {
	t.Parallel()
	l := newTold(t)
	l.join("a:talker", "b:talker", "paul:"+Person)
	for i, from := range []string{"ann", "paul", "a", "b", busName} {
		l.send(fmt.Sprint("m", i+1), from, "", "a")
		want := []int{0, 0, 1, 2, 2}[i]
		if got := len(l.talk("m1").times); got != want {
			t.Errorf("after the message of %s, agents have written %d, want %d", from, got, want)
		}
	}
	l.tell(terret.BusMessage{MessageID: "m9", From: "ann", To: []string{"a"}, Type: string(Chat), Text: "hi"})
	if m := l.find("m9"); m.talk != "m9" || l.find("m2").talk != "m1" || m.hops != 0 {
		t.Errorf("%+v", m)
	}
	if got := len(l.talk("none").times); got != 0 {
		t.Errorf("a conversation that is not known has %d messages", got)
	}
}

// TestWhoIsInTheTeam is who joins and leaves by what the log says.
func TestWhoIsInTheTeam(t *testing.T) {
	t.Parallel()
	l := newTold(t)
	names := func() string {
		all, _ := l.list()
		var out []string
		for _, m := range all {
			out = append(out, m.Name+":"+m.Type+":"+string(m.State))
		}
		return strings.Join(out, " ")
	}
	for _, c := range []struct {
		what  string
		do    func()
		want  string
		moves bool // somebody came or went
	}{
		{"two join", func() { l.join("a:talker", "b:talker") }, "a:talker:idle b:talker:idle", true},
		{"the name is taken", func() { l.join("a:other") }, "a:talker:idle b:talker:idle", false},
		{"a state", func() { l.tell(terret.AgentStateChange{Name: "a", State: terret.AgentProcessing}) }, "a:talker:processing b:talker:idle", false},
		{"of nobody", func() { l.tell(terret.AgentStateChange{Name: "c", State: terret.AgentIdle}) }, "a:talker:processing b:talker:idle", false},
		{"one leaves", func() { l.leave("a") }, "b:talker:idle", true},
		{"and says something yet", func() { l.tell(terret.AgentStateChange{Name: "a", State: terret.AgentIdle}) }, "b:talker:idle", false},
		{"a later version's", func() {
			l.tell(terret.AgentStateChange{Name: "c", State: terret.AgentIdle, Config: terret.JSON(`[1]`)})
		}, "b:talker:idle", false},
		{"another of that name", func() { l.join("a:other") }, "b:talker:idle a:other:idle", true},
	} {
		_, joining := l.list()
		c.do()
		if got := names(); got != c.want || closed(joining) != c.moves {
			t.Errorf("%s: %s, want %s; those who watch are told: %v", c.what, got, c.want, closed(joining))
		}
	}
	if _, ok := l.member("c"); ok {
		t.Error("one who never joined is a member")
	}
	routes := terret.JSON(`{"kind":"custom","routes":{"a":["b"]}}`)
	for _, config := range []terret.JSON{routes, terret.JSON(`{"kind":"of a later version"}`), terret.JSON(`[1]`)} {
		l.tell(terret.AgentStateChange{Name: busName, State: terret.AgentIdle, Config: config})
		if l.flow.Kind != Custom {
			t.Errorf("after %s the topology is %+v", config, l.flow)
		}
	}
}

// TestWhoGetsIt is who gets a message, and whom a line may be addressed to.
func TestWhoGetsIt(t *testing.T) {
	t.Parallel()
	l := newTold(t)
	l.join("a:talker", "b:talker", "gone:talker", "paul:"+Person)
	l.leave("gone")
	l.send("m1", "ann", "", "a")
	l.flow = Topology{Kind: Custom, Routes: map[string][]string{"b": {All}}}
	for _, c := range []struct {
		from, to, want string
		always         []string
	}{
		{"ann", "all", "a b paul", nil}, // people reach everybody
		{"paul", "all", "a b", nil},
		{"a", "all", "paul", nil}, // and everybody reaches people
		{"b", "all", "a paul", nil},
		{"a", "b", "", nil},
		{"a", "b", "b", []string{"b"}}, // who wrote to it
		{"a", "ann", "ann", nil},
		{"ann", "gone", "", nil},
		{"ann", "#of-b", "b", nil},
		{"ann", "#of-gone", "", nil},
		{"a", "#of-b", "", nil},
		{"ann", "nobody", "", nil},
	} {
		got, err := l.resolve(Message{Sender: c.from, Recipients: strings.Fields(c.to), Type: Chat}, c.always)
		if strings.Join(got, " ") != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s to %s, who may always get %v: %v, %v; want %s", c.from, c.to, c.always, got, err, c.want)
		}
	}
	for name, want := range map[string]bool{"a": true, "paul": true, "ann": true, All: true, "#x": true, "gone": false, "nobody": false, "": false, busName: false} {
		if got := l.addressable(name); got != want {
			t.Errorf("@%s is an address: %v", name, got)
		}
	}
}

// TestAsker is whom an agent answers that addresses nobody.
func TestAsker(t *testing.T) {
	t.Parallel()
	l := newTold(t)
	l.join("a:talker", "b:talker", "c:talker")
	l.send("m1", "ann", "", "a") // ann asks a, which asks b, which asks c
	l.send("m2", "a", "m1", "b")
	l.send("m3", "b", "m2", "c")
	l.send("m4", "c", "m3", "b")
	l.send("m5", "b", "m2", "a")
	l.send("m6", "a", "", "b") // a begins a conversation
	l.send("m7", "b", "m6", "a")
	for _, c := range []struct{ handles, by, want string }{
		{"m1", "a", "m1"}, {"m2", "b", "m2"}, {"m3", "c", "m3"}, {"m4", "b", "m2"}, {"m5", "a", "m1"}, {"m7", "a", ""},
	} {
		got := ""
		if m := l.asker(l.find(c.handles), c.by); m != nil {
			got = m.ID
		}
		if got != c.want {
			t.Errorf("%s handles %s and answers %q, want %q", c.by, c.handles, got, c.want)
		}
	}
}

// TestLimits is when a conversation is stopped.
func TestLimits(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	ago := func(all ...int) (out talk) {
		for _, s := range all {
			out.add(now.Add(-time.Duration(s) * time.Second))
		}
		return out
	}
	limits := Limits{Hops: 3, PerMinute: 2, CostUSD: terret.USD}
	for _, c := range []struct {
		what   string
		limits Limits
		talk   talk
		hops   int
		want   bool
	}{
		{"new", limits, talk{}, 1, false},
		{"as many hops as may be", limits, talk{}, 3, false},
		{"one more", limits, talk{}, 4, true},
		{"one within a minute", limits, ago(59), 1, false},
		{"two within a minute", limits, ago(59, 1), 1, true},
		{"one is a minute old", limits, ago(60, 1), 1, false},
		{"both are", limits, ago(61, 60), 1, false},
		{"costs a little less", limits, talk{cost: terret.USD - 1}, 1, false},
		{"costs as much", limits, talk{cost: terret.USD}, 1, true},
		{"the smallest number of hops", Limits{Hops: 1}, talk{}, 2, true},
		{"the fewest messages", Limits{PerMinute: 1}, ago(1), 1, true},
		{"the least cost", Limits{CostUSD: 1}, talk{cost: 1}, 1, true},
		{"no limits", Limits{Hops: -1, PerMinute: -1, CostUSD: -1}.withDefaults(), talk{cost: 99 * terret.USD, times: ago(1, 1, 1).times}, 99, false},
	} {
		if why := c.limits.exceeded(c.talk, c.hops, now); (why != "") != c.want {
			t.Errorf("%s: %q", c.what, why)
		}
	}
	if kept := ago(100, 60, 41, 40).times; len(kept) != 3 { // what is a minute older than the last does not count again
		t.Errorf("kept are %v", kept)
	}
	for in, want := range map[Limits]Limits{
		{}:        {Hops: DefaultHops, PerMinute: DefaultPerMinute, CostUSD: DefaultCost},
		{1, 1, 1}: {1, 1, 1}, {-1, -1, -1}: {-1, -1, -1},
	} {
		if got := in.withDefaults(); got != want {
			t.Errorf("%+v means %+v, want %+v", in, got, want)
		}
	}
}

// TestWaitForTheLedger is that whoever waits for an event hears when it is there, and why
// it will never be.
func TestWaitForTheLedger(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newTold(t)
		broken := errors.New("the log cannot be read")
		waits := func(seq int64) <-chan error {
			got := make(chan error, 1)
			go func() { got <- l.await(t.Context(), seq) }()
			synctest.Wait()
			return got
		}
		second, third := waits(2), waits(3)
		l.join("a:talker")
		synctest.Wait()
		if len(second)+len(third) > 0 {
			t.Fatal("somebody was told before the event was there")
		}
		l.join("b:talker")
		if err := <-second; err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if len(third) > 0 {
			t.Error("somebody was told of the third event at the second")
		}
		l.fail(broken)
		if err := <-third; !errors.Is(err, broken) {
			t.Errorf("after the failure: %v", err)
		}
		if err := l.await(t.Context(), 1); err != nil {
			t.Errorf("for what was there before the failure: %v", err)
		}
	})
}
