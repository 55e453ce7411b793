package sim

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// Player plays a scenario: it answers requests with the steps, in-process.
//
// Steps are tried in the order of the file. A step that is not anywhere is used only
// after all such steps before it are used up. Choosing a step is one critical section,
// so parallel requests never get the same use of a step.
type Player struct {
	scenario *Scenario
	steps    []readyStep
	values   map[string]string // variables, and {{open}}

	mu        sync.Mutex
	requests  int
	tracks    map[string]*track // by conversation
	unmatched []string
	holds     map[string]chan struct{} // by name; closed when released
}

// readyStep is a step with the variables inserted into its condition.
type readyStep struct {
	step
	when condition
}

// track is the progress of one conversation.
type track struct{ used []int }

// NewPlayer plays the scenario from the start. Vars are the values of {{names}} in it;
// a missing one is an error.
func NewPlayer(s *Scenario, vars map[string]string) (*Player, error) {
	for name := range vars {
		if name == nameLast || name == nameOpen || placeholder.FindString("{{"+name+"}}") != "{{"+name+"}}" {
			return nil, fmt.Errorf("%s: %q cannot be a variable name", s.name, name)
		}
	}
	p := &Player{scenario: s, values: merge(vars, nil), tracks: map[string]*track{}, holds: map[string]chan struct{}{}}
	if p.values == nil {
		p.values = map[string]string{}
	}
	p.values[nameOpen] = "{{"
	for _, st := range s.steps {
		ready, err := p.ready(st)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", st.label, err)
		}
		p.steps = append(p.steps, ready)
	}
	return p, nil
}

func (p *Player) ready(st step) (readyStep, error) {
	m := st.match
	for _, text := range []string{m.User, m.ToolResult, m.First, m.System, m.Model, m.Reminder} {
		if err := checkNames(text, p.values); err != nil {
			return readyStep{}, err
		}
	}
	when, err := newCondition(m, p.values)
	if err != nil {
		return readyStep{}, err
	}
	known := merge(p.values, map[string]string{nameLast: ""})
	for _, name := range when.groups() {
		known[name] = ""
	}
	return readyStep{step: st, when: when}, st.answer.checkTemplates(known)
}

// Answer is the model's answer to the request. It takes as long as the step's wait; ctx
// bounds the call. The error is *Error, even if no step answers, or ErrDropped, or the
// cause of ctx. Trouble in mid-answer comes from the reply's Events.
func (p *Player) Answer(ctx context.Context, r Request) (Reply, error) {
	return p.choose(r).perform(ctx)
}

// choice is what a request will get.
type choice struct {
	step  string // label; "side call" or "no step"
	wait  time.Duration
	reply Reply
	err   error
}

// perform waits as long as the step says.
func (c choice) perform(ctx context.Context) (Reply, error) {
	if err := sleep(ctx, c.wait); err != nil {
		return Reply{}, err
	}
	return c.reply, c.err
}

// choose uses up a step. It does not wait.
func (p *Player) choose(r Request) choice {
	h := r.heard()
	side := r.aside(h) && !p.scenario.sideSteps
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests++
	// Clients treat two messages with the same id as one. The number of messages keeps
	// ids apart when a conversation continues with a new player.
	id := fmt.Sprintf("sim_%d_%d", len(r.Messages), p.requests)
	t := p.track(r)
	var expected []string
	blocked := false
	for i, st := range p.steps {
		if st.side != side || st.usedUp(t.used[i]) || blocked && !st.anywhere {
			continue
		}
		values := merge(p.values, map[string]string{nameLast: h.last()})
		if st.when.holds(r, h, values) {
			t.used[i]++
			reply, err := st.answer.say(r, id, values)
			if e, ok := errors.AsType[*Error](err); ok && st.answer.Error == nil {
				p.unmatched = append(p.unmatched, st.label+": "+e.Message)
			}
			if name := st.answer.Hold; name != "" {
				reply.hold = p.hold(name)
			}
			return choice{step: st.label, wait: st.answer.wait, reply: reply, err: err}
		}
		expected = append(expected, st.label+": "+st.when.String())
		blocked = blocked || !st.anywhere
	}
	if side {
		reply, err := answer{answerFile: answerFile{Text: p.sideAnswer(r)}}.say(r, id, nil)
		return choice{step: "side call", reply: reply, err: err}
	}
	return p.noStep(r, h, expected)
}

// sideAnswer is the answer to a side call: JSON, if the request asks for that.
func (p *Player) sideAnswer(r Request) string {
	text := p.scenario.sideAnswer
	if len(r.Schema) == 0 {
		return text
	}
	value, err := encode(parseSchema(r.Schema).example(text))
	if err != nil {
		return text
	}
	return string(value)
}

// Release lets all answers continue that are held under that name, now and later. It
// may be called repeatedly.
func (p *Player) Release(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.hold(name):
	default:
		close(p.holds[name])
	}
}

// hold is closed when the name is released. p.mu must be held.
func (p *Player) hold(name string) <-chan struct{} {
	if p.holds[name] == nil {
		p.holds[name] = make(chan struct{})
	}
	return p.holds[name]
}

func (s step) usedUp(used int) bool { return s.repeat != forever && used >= s.repeat }

// track finds the conversation that the request belongs to.
func (p *Player) track(r Request) *track {
	key := ""
	switch p.scenario.conversations {
	case byFirstText:
		key = r.first()
	case byID:
		key = r.Conversation
	}
	t := p.tracks[key]
	if t == nil {
		t = &track{used: make([]int, len(p.steps))}
		p.tracks[key] = t
	}
	return t
}

// noStep is the error for an unexpected request.
func (p *Player) noStep(r Request, h heard, expected []string) choice {
	came := "neither a user's text nor a tool result"
	switch {
	case len(h.user) > 0:
		came = fmt.Sprintf("the user's text %s", shorten(h.last()))
	case len(h.results) > 0:
		came = fmt.Sprintf("the tool result %s", shorten(h.last()))
	}
	want := "all steps are used up"
	if len(expected) > 0 {
		want = "expected " + strings.Join(expected, ", or ")
	}
	message := fmt.Sprintf("sim: no step of %s answers request %d: it came with %s for model %q; %s", p.scenario.name, p.requests, came, r.Model, want)
	p.unmatched = append(p.unmatched, message)
	e := &Error{Status: 400, Message: message, Headers: map[string]string{"x-should-retry": "false"}}
	return choice{step: "no step", err: e}
}

func shorten(s string) string {
	const most = 200
	if runes := []rune(s); len(runes) > most {
		return fmt.Sprintf("%q and %d characters more", string(runes[:most]), len(runes)-most)
	}
	return fmt.Sprintf("%q", s)
}

// Unmatched lists each request that no step answered, in order. Tests should fail if
// there are any.
func (p *Player) Unmatched() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.unmatched)
}

// Remaining lists the steps that are not used up, except those that repeat forever.
// With several conversations, each has its own.
func (p *Player) Remaining() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.tracks) == 0 {
		return p.left(&track{used: make([]int, len(p.steps))}, "")
	}
	var out []string
	for _, key := range slices.Sorted(maps.Keys(p.tracks)) {
		out = append(out, p.left(p.tracks[key], key)...)
	}
	return out
}

func (p *Player) left(t *track, conversation string) []string {
	var out []string
	for i, st := range p.steps {
		if st.repeat == forever || st.usedUp(t.used[i]) {
			continue
		}
		label := st.label
		if conversation != "" {
			label = "conversation " + shorten(conversation) + ": " + label
		}
		out = append(out, label)
	}
	return out
}
