package team

import (
	"encoding/json"
	"slices"
	"strconv"
	"sync"

	"github.com/terret-dev/terret"
)

// Person is the type of members that are people.
const Person = "person"

// Member is a member of a team.
type Member struct {
	Name     string            `json:"name"`
	Type     string            `json:"agent_type"`
	State    terret.AgentState `json:"state"`
	Detail   string            `json:"detail,omitempty"`  // of the state
	Session  string            `json:"session,omitempty"` // in client mode
	Mail     int               `json:"mail"`              // messages that it has not dealt with
	Config   Config            `json:"config"`
	JoinedAt terret.Time       `json:"joined_at"`
}

// Status is what has happened to a message at a recipient.
type Status string

// The statuses, in the order in which they follow each other.
const (
	Delivered Status = "delivered" // the recipient has it
	Read      Status = "read"      // it has begun to respond, or a person has seen it
	Failed    Status = "failed"    // it failed, and will try again
	Answered  Status = "answered"  // it has responded
	Stopped   Status = "stopped"   // it has given up
)

// settled reports whether nothing more will happen.
func (s Status) settled() bool { return s == Answered || s == Stopped }

// mail is a message and what has become of it.
type mail struct {
	Message
	seq    int64
	parent string // the message that it replies to
	talk   string // the first message of its conversation
	hops   int
	marks  map[string]*mark // by recipient
}

// mark is what has become of a message at one recipient.
type mark struct {
	status   Status
	failures int
}

// ledger is what the team's log says. It is safe for concurrent use.
type ledger struct {
	mu      sync.Mutex
	last    int64 // the number of the last event
	members map[string]*Member
	joined  []string        // names of members in the order they joined
	people  map[string]bool // who has written and is not an agent
	mails   map[string]*mail
	boxes   map[string][]*mail // what agents have not dealt with
	talks   map[string]*talk
	flow    Topology // who reaches whom
	failure error    // why it is not kept up to date

	news    chan struct{} // closed with each event
	joining chan struct{} // closed when members come or go
	waiting map[string]chan struct{}
}

func newLedger() *ledger {
	return &ledger{
		members: map[string]*Member{}, people: map[string]bool{}, mails: map[string]*mail{}, boxes: map[string][]*mail{},
		talks: map[string]*talk{}, news: make(chan struct{}), joining: make(chan struct{}), waiting: map[string]chan struct{}{},
	}
}

// apply takes in an event of the team's log. What was said before counts; what is said
// twice, because a process died or two were at work, counts once.
func (l *ledger) apply(ev terret.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if ev.Seq <= l.last {
		return
	}
	l.last = ev.Seq
	switch d := ev.Data.(type) {
	case terret.AgentStateChange:
		l.changed(ev, d)
	case terret.BusMessage:
		l.sent(ev, d)
	case terret.BusReceipt:
		l.received(d)
	}
	close(l.news)
	l.news = make(chan struct{})
}

// fail says why the ledger is no longer kept up to date; nil says that it is again.
func (l *ledger) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failure = err
	close(l.news)
	l.news = make(chan struct{})
}

func (l *ledger) changed(ev terret.Event, d terret.AgentStateChange) {
	if d.Name == busName {
		var t Topology
		if json.Unmarshal(d.Config, &t) == nil && t.Validate() == nil { // else it is a later version's
			l.flow = t
		}
		return
	}
	m := l.members[d.Name]
	gone := m == nil || m.State == terret.AgentTerminated
	switch {
	case len(d.Config) > 0 && gone:
		var c Config
		if json.Unmarshal(d.Config, &c) != nil {
			return // a later version's; not for us
		}
		m = &Member{Name: d.Name, Type: c.Type, Session: c.Session, Config: c, JoinedAt: ev.Time}
		l.members[d.Name] = m
		l.joined = append(slices.DeleteFunc(l.joined, func(n string) bool { return n == d.Name }), d.Name)
	case len(d.Config) > 0, gone:
		return // the name is taken, or nobody has it
	}
	m.State, m.Detail = d.State, d.Detail
	if len(d.Config) > 0 || d.State == terret.AgentTerminated {
		close(l.joining)
		l.joining = make(chan struct{})
	}
}

func (l *ledger) sent(ev terret.Event, d terret.BusMessage) {
	if l.mails[d.MessageID] != nil {
		return
	}
	m := messageOf(ev, d)
	m.marks = map[string]*mark{}
	l.mails[m.ID] = &m
	if l.talks[m.talk] == nil {
		l.talks[m.talk] = &talk{}
	}
	switch sender := l.members[d.From]; {
	case sender != nil && sender.Type != Person:
		l.talks[m.talk].add(m.Timestamp)
	case d.From != busName:
		l.people[d.From] = true
	}
	for _, to := range d.To {
		m.marks[to] = &mark{}
		if r := l.members[to]; r != nil && r.Type != Person {
			l.boxes[to] = append(l.boxes[to], &m)
			l.wake(to)
		}
	}
}

// messageOf is the message that an event holds.
func messageOf(ev terret.Event, d terret.BusMessage) mail {
	m := mail{seq: ev.Seq, parent: d.InReplyTo, talk: d.Metadata[metaTalk]}
	if m.talk == "" {
		m.talk = d.MessageID
	}
	m.hops, _ = strconv.Atoi(d.Metadata[metaHops])
	m.Message = Message{
		ID: d.MessageID, Sender: d.From, Recipients: d.To, Content: d.Text, Type: MessageType(d.Type),
		Timestamp: ev.Time.Time, Metadata: map[string]any{},
	}
	for k, v := range d.Metadata {
		m.Metadata[k] = v
	}
	return m
}

func (l *ledger) received(d terret.BusReceipt) {
	m := l.mails[d.MessageID]
	if m == nil || m.marks[d.By] == nil || m.marks[d.By].status.settled() {
		return
	}
	k := m.marks[d.By]
	k.status = Status(d.Status)
	if k.status == Failed {
		k.failures++
	}
	l.talks[m.talk].cost += d.CostUSD
	if k.status.settled() {
		l.boxes[d.By] = slices.DeleteFunc(l.boxes[d.By], func(o *mail) bool { return o == m })
	}
}

// wake wakes the goroutines that wait for mail of that member. l.mu must be held.
func (l *ledger) wake(name string) {
	if ch := l.waiting[name]; ch != nil {
		close(ch)
		delete(l.waiting, name)
	}
}

// next returns the oldest message that the member has not dealt with. If there is none,
// it returns a channel that is closed when there is.
func (l *ledger) next(name string) (*mail, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if box := l.boxes[name]; len(box) > 0 {
		return box[0], nil
	}
	if l.waiting[name] == nil {
		l.waiting[name] = make(chan struct{})
	}
	return nil, l.waiting[name]
}

// mark returns what has become of a message at a recipient.
func (l *ledger) mark(id, name string) mark {
	l.mu.Lock()
	defer l.mu.Unlock()
	if m := l.mails[id]; m != nil && m.marks[name] != nil {
		return *m.marks[name]
	}
	return mark{}
}

// member returns a member that is still in the team.
func (l *ledger) member(name string) (Member, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	m := l.members[name]
	if m == nil || m.State == terret.AgentTerminated {
		return Member{}, false
	}
	return l.shown(m), true
}

// shown is the member as others see it. l.mu must be held.
func (l *ledger) shown(m *Member) Member {
	out := *m
	out.Mail = len(l.boxes[m.Name])
	if m.Type == Person {
		for _, mail := range l.mails {
			if k := mail.marks[m.Name]; k != nil && k.status == Delivered {
				out.Mail++
			}
		}
	}
	return out
}

// list returns the members, and a channel that is closed when members come or go.
func (l *ledger) list() ([]Member, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := []Member{}
	for _, name := range l.joined {
		if m := l.members[name]; m.State != terret.AgentTerminated {
			out = append(out, l.shown(m))
		}
	}
	return out, l.joining
}

// isAgent reports whether the name is, or was, an agent's.
func (l *ledger) isAgent(name string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	m := l.members[name]
	return m != nil && m.Type != Person
}

// asker is the message that a member answers when it handles m and addresses nobody: m
// itself, or, if m is an answer to something the member asked, the message because of
// which it asked. It is nil if the member began the conversation.
func (l *ledger) asker(m *mail, name string) *mail {
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		asked := l.mails[m.parent]
		if asked == nil || asked.Sender != name {
			return m
		}
		if m = l.mails[asked.parent]; m == nil {
			return nil
		}
	}
}
