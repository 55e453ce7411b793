package team

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine"
)

// More keys of a message's metadata.
const (
	metaTalk      = "conversation" // the id of its first message
	metaHops      = "hops"
	metaAddressed = "addressed_to" // as the sender wrote it
	metaReply     = "in_reply_to"
)

// LogSession is the session that holds the team's log.
var LogSession = derivedID("log")

// Bus carries messages between members of a team. It is safe for concurrent use.
type Bus struct {
	engine *engine.Engine
	store  Sessions
	ledger *ledger
	limits Limits

	opened sync.Once
	exists chan struct{} // closed when this process knows that there is a log
}

// Record is a message in the team's log.
type Record struct {
	Message
	Seq       int64  `json:"seq"` // of its event
	InReplyTo string `json:"in_reply_to,omitempty"`
	// Receipts says what has become of it at each recipient.
	Receipts map[string]Status `json:"receipts"`
}

// Send sends a person's message, or a program's: a member's name, all, or #topic for each
// recipient. What it replies to is in_reply_to in its metadata; id and time are set if
// they are missing. It returns when the message cannot be lost, with the recipients it
// has. What agents write goes through the registry, never through Send.
func (b *Bus) Send(ctx context.Context, m Message) (Record, error) {
	if m.ID == "" {
		m.ID = terret.NewID("")
	}
	if m.Type == "" {
		m.Type = Chat
	}
	m.Timestamp = time.Now().UTC()
	if err := m.Validate(); err != nil {
		return Record{}, err
	}
	if err := b.sync(ctx); err != nil {
		return Record{}, err
	}
	if m.Sender == busName || b.ledger.isAgent(m.Sender) {
		return Record{}, terret.Errorf(terret.CodeForbidden, "%s is an agent; nobody else writes in its name", m.Sender)
	}
	var parent *mail
	if reply := m.text(metaReply); reply != "" {
		if parent = b.ledger.find(reply); parent == nil {
			return Record{}, terret.Errorf(terret.CodeNotFound, "there is no message %s to reply to", reply)
		}
	}
	data, err := b.draft(m, parent, nil)
	if err != nil {
		return Record{}, err
	}
	if err := b.note(ctx, m.Sender, data...); err != nil {
		return Record{}, err
	}
	return b.Message(ctx, m.ID)
}

// draft makes the events that send a message: who gets it is decided here, once.
func (b *Bus) draft(m Message, parent *mail, always []string) ([]terret.Data, error) {
	to, err := b.ledger.resolve(m, always)
	if err != nil {
		return nil, err
	}
	meta := map[string]string{}
	for k, v := range m.Metadata {
		switch s, isText := v.(string); {
		case k == metaReply || k == metaTalk || k == metaHops || k == metaAddressed:
		case isText:
			meta[k] = s
		default:
			text, err := json.Marshal(v)
			if err != nil {
				return nil, terret.Invalid("metadata."+k, "%w", err)
			}
			meta[k] = string(text)
		}
	}
	meta[metaTalk], meta[metaHops] = m.ID, "0"
	out := terret.BusMessage{MessageID: m.ID, From: m.Sender, To: to, Type: string(m.Type), Text: m.Content, Metadata: meta}
	if parent != nil {
		out.InReplyTo = parent.ID
		meta[metaTalk], meta[metaHops] = parent.talk, strconv.Itoa(parent.hops+1)
	}
	if !slices.Equal(to, m.Recipients) {
		meta[metaAddressed] = strings.Join(m.Recipients, " ")
	}
	data := []terret.Data{out}
	for _, name := range to {
		if !b.ledger.isAgent(name) { // a person's mail is where the person looks for it
			data = append(data, terret.BusReceipt{MessageID: m.ID, By: name, Status: string(Delivered)})
		}
	}
	return data, nil
}

// resolve returns who gets a message, sorted. An agent reaches those in always whatever
// the topology says.
func (l *ledger) resolve(m Message, always []string) ([]string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	from := l.members[m.Sender]
	reaches := func(to *Member) bool {
		return from == nil || from.Type == Person || to.Type == Person || slices.Contains(always, to.Name) || l.flow.reaches(from.Config, to.Config, m.Type)
	}
	out := map[string]bool{}
	for _, r := range m.Recipients {
		topic, isTopic := strings.CutPrefix(r, topicMark)
		if isTopic || r == All {
			for _, to := range l.members {
				in := !isTopic || slices.Contains(to.Config.Topics, topic)
				if in && to.Name != m.Sender && to.State != terret.AgentTerminated && reaches(to) {
					out[to.Name] = true
				}
			}
			continue
		}
		switch to := l.members[r]; {
		case (to == nil || to.State == terret.AgentTerminated) && !l.people[r]:
			return nil, terret.Errorf(terret.CodeNotFound, "there is no member %q; `terret team list` lists them", r)
		case to != nil && to.State != terret.AgentTerminated && !reaches(to):
			return nil, terret.Errorf(terret.CodeForbidden, "%s may not write to %s in this team", m.Sender, r)
		}
		out[r] = true
	}
	if len(out) == 0 {
		return nil, terret.Invalid("recipients", "the message is for nobody: %s has no members that %s reaches", strings.Join(m.Recipients, ", "), m.Sender)
	}
	return slices.Sorted(maps.Keys(out)), nil
}

// topicMark begins the name of a topic, which stands for its subscribers.
const topicMark = "#"

// find returns a message, or nil.
func (l *ledger) find(id string) *mail {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mails[id]
}

// Topology says who reaches whom.
func (b *Bus) Topology(ctx context.Context) (Topology, error) {
	err := b.sync(ctx)
	b.ledger.mu.Lock()
	defer b.ledger.mu.Unlock()
	t := b.ledger.flow
	if t.Kind == "" {
		t.Kind = Broadcast
	}
	return t, err
}

// SetTopology changes who reaches whom, for what is sent from now on.
func (b *Bus) SetTopology(ctx context.Context, by string, t Topology) error {
	if err := t.Validate(); err != nil {
		return err
	}
	config, err := json.Marshal(t)
	if err != nil {
		return err
	}
	return b.note(ctx, by, terret.AgentStateChange{Name: busName, State: terret.AgentIdle, Config: config})
}

// Read notes that a person has seen a message.
func (b *Bus) Read(ctx context.Context, id, by string) error {
	if err := b.sync(ctx); err != nil {
		return err
	}
	m := b.ledger.find(id)
	if m == nil || m.marks[by] == nil {
		return terret.Errorf(terret.CodeNotFound, "there is no message %s for %s", id, by)
	}
	if b.ledger.isAgent(by) {
		return terret.Errorf(terret.CodeForbidden, "%s is an agent; it reads its mail itself", by)
	}
	if b.ledger.mark(id, by).status != Delivered {
		return nil
	}
	return b.note(ctx, by, terret.BusReceipt{MessageID: id, By: by, Status: string(Read)})
}

// Message returns a message.
func (b *Bus) Message(ctx context.Context, id string) (Record, error) {
	if err := b.sync(ctx); err != nil {
		return Record{}, err
	}
	m := b.ledger.find(id)
	if m == nil {
		return Record{}, terret.Errorf(terret.CodeNotFound, "there is no message %s", id)
	}
	for r, err := range b.History(ctx, HistoryQuery{After: m.seq - 1}) {
		return r, err
	}
	return Record{}, terret.Errorf(terret.CodeNotFound, "message %s is gone", id)
}

// HistoryQuery selects messages.
type HistoryQuery struct {
	After        int64  // only messages with a greater number
	Member       string // only those to or from that member
	Conversation string // only those of the conversation that this message began
	Follow       bool   // go on with what is sent from now on
}

// History yields messages, oldest first. The error comes last and once.
func (b *Bus) History(ctx context.Context, q HistoryQuery) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for ev, err := range b.events(ctx, q.After, q.Follow) {
			if err != nil {
				yield(Record{}, err)
				return
			}
			d, ok := ev.Data.(terret.BusMessage)
			if !ok {
				continue
			}
			if err := b.ledger.await(ctx, ev.Seq); err != nil {
				yield(Record{}, err)
				return
			}
			if b.ledger.repeats(d.MessageID, ev.Seq) {
				continue
			}
			m := messageOf(ev, d)
			if q.Member != "" && d.From != q.Member && !slices.Contains(d.To, q.Member) || q.Conversation != "" && m.talk != q.Conversation {
				continue
			}
			if !yield(Record{Message: m.Message, Seq: ev.Seq, InReplyTo: m.parent, Receipts: b.ledger.receipts(d)}, nil) {
				return
			}
		}
	}
}

// repeats reports whether an event says again what an earlier one said.
func (l *ledger) repeats(id string, seq int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	m := l.mails[id]
	return m != nil && m.seq < seq
}

func (l *ledger) receipts(d terret.BusMessage) map[string]Status {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := map[string]Status{}
	for _, to := range d.To {
		out[to] = ""
		if m := l.mails[d.MessageID]; m != nil && m.marks[to] != nil {
			out[to] = m.marks[to].status
		}
	}
	return out
}

// Await returns the answers to a message: one from each recipient that is an agent, or
// what the bus says if the conversation was stopped. It waits until they are there, or
// the context ends.
func (b *Bus) Await(ctx context.Context, id string) ([]Record, error) {
	m := b.ledger.find(id)
	if m == nil {
		return nil, terret.Errorf(terret.CodeNotFound, "there is no message %s", id)
	}
	missing := map[string]bool{}
	for _, to := range m.Recipients {
		if b.ledger.isAgent(to) {
			missing[to] = true
		}
	}
	var out []Record
	if len(missing) == 0 {
		return nil, nil
	}
	for r, err := range b.History(ctx, HistoryQuery{After: m.seq, Conversation: m.talk, Follow: true}) {
		if err != nil {
			return out, err
		}
		if r.InReplyTo != id || !slices.Contains(r.Recipients, m.Sender) || !missing[r.Sender] && r.Sender != busName {
			continue
		}
		out = append(out, r)
		if delete(missing, r.Sender); len(missing) == 0 || r.Sender == busName {
			break
		}
	}
	return out, nil
}

// note writes to the team's log, and waits until the ledger has it.
func (b *Bus) note(ctx context.Context, by string, data ...terret.Data) error {
	if err := b.engine.OpenLog(ctx, LogSession, "Team"); err != nil {
		return err
	}
	if err := b.engine.Note(ctx, LogSession, by, data...); err != nil {
		return err
	}
	return b.sync(ctx)
}

// sync waits until the ledger has everything that is in the log now, also what other
// processes wrote.
func (b *Bus) sync(ctx context.Context) error {
	s, err := b.store.Session(ctx, LogSession)
	if errors.Is(err, terret.ErrSessionNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	b.opened.Do(func() { close(b.exists) })
	return b.ledger.await(ctx, s.LastSeq)
}

// await waits until the ledger has the event with that number.
func (l *ledger) await(ctx context.Context, seq int64) error {
	for {
		l.mu.Lock()
		last, failure, news := l.last, l.failure, l.news
		l.mu.Unlock()
		if last >= seq {
			return nil
		}
		if failure != nil {
			return failure
		}
		select {
		case <-news:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// lookEvery is how often we look whether another process has made the team's log.
const lookEvery = time.Second

// events yields the events of the team's log after a number. While there is no log, a
// stream that follows waits for it.
func (b *Bus) events(ctx context.Context, after int64, follow bool) iter.Seq2[terret.Event, error] {
	return func(yield func(terret.Event, error) bool) {
		for {
			_, err := b.store.Session(ctx, LogSession)
			if err == nil {
				break
			}
			if !errors.Is(err, terret.ErrSessionNotFound) {
				yield(terret.Event{}, err)
				return
			}
			if !follow {
				return
			}
			again := time.NewTimer(lookEvery)
			select {
			case <-again.C:
			case <-b.exists:
			case <-ctx.Done():
				again.Stop()
				yield(terret.Event{}, context.Cause(ctx))
				return
			}
		}
		for entry, err := range b.engine.Events(ctx, engine.EventQuery{Session: LogSession, After: after, Follow: follow}) {
			ev := terret.Event{}
			if err == nil {
				ev, err = entry.Decode()
			}
			if !yield(ev, err) || err != nil {
				return
			}
		}
	}
}

// follow keeps the ledger up to date until the context ends. If the log cannot be read, it
// tries again: a database may be away for a while.
func (b *Bus) follow(ctx context.Context) {
	for {
		err := b.take(ctx)
		if engine.IsClosed(err) {
			b.ledger.fail(terret.Errorf(terret.CodeStartupRefused, "cannot follow the team's log: %w", err))
			return
		}
		b.ledger.fail(fmt.Errorf("cannot follow the team's log: %w", err))
		again := time.NewTimer(lookEvery)
		select {
		case <-again.C:
			b.ledger.fail(nil)
		case <-ctx.Done():
			again.Stop()
			return
		}
	}
}

// take takes in what is in the log, and what comes, until that fails.
func (b *Bus) take(ctx context.Context) error {
	for ev, err := range b.events(ctx, b.ledger.seen(), true) {
		if err != nil {
			return err
		}
		b.ledger.apply(ev)
	}
	return cmp.Or(context.Cause(ctx), errors.New("it has ended"))
}

func (l *ledger) seen() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}
