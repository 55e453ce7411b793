package assemble

import (
	"context"
	"sync"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/all"
	"github.com/terret-dev/terret/driver/native"
)

// probeFor is how long an answer counts: asking starts the agent's program, which may take
// seconds.
const probeFor = 15 * time.Second

// probes remembers what the agents' drivers said, and asks them behind what it answers.
type probes struct {
	mu     sync.Mutex // guards what follows
	last   map[string]*answer
	life   context.Context // of all questions; made with the first one
	end    context.CancelFunc
	closed bool

	wait sync.WaitGroup // the questions that are open
	file sync.Mutex     // held while an answer is written down
}

// answer is what a driver said last.
type answer struct {
	probe terret.Probe
	at    time.Time     // when it said it; zero if it has not yet
	news  int           // how often agents had come and gone when it was asked
	asked chan struct{} // closed when it has answered; nil unless it is being asked
}

// Probe says what the drivers said last, without waiting, and asks those again whose
// answer is old; these are marked as being checked. It waits only for those that have
// never answered, until the context ends.
func (a *Agents) Probe(ctx context.Context) []terret.Probe {
	return a.probe(ctx, a.Drivers(), func(last answer) bool { return last.at.IsZero() })
}

// Ask asks all drivers that have not been asked just now, at the same time, and waits for
// their answers.
func (a *Agents) Ask(ctx context.Context) []terret.Probe {
	return a.probe(ctx, a.Drivers(), func(answer) bool { return true })
}

// One asks one driver, or remembers what it said just now. It reports whether there is such
// an agent.
func (a *Agents) One(ctx context.Context, name string) (terret.Probe, bool) {
	for _, d := range a.Drivers() {
		if d.Name() == name {
			return a.probe(ctx, []terret.Driver{d}, func(answer) bool { return true })[0], true
		}
	}
	return terret.Probe{}, false
}

// Declared says at once what is known of agents without starting their programs: what
// they said last, also to a process before this one, or else what they can do; agents of
// which only their program knows that are left out until it has said so.
func (a *Agents) Declared(ctx context.Context) []terret.Probe {
	drivers, news := a.Drivers(), a.changes()
	var said map[string]terret.Probe
	if a.options.Home != "" {
		said = all.Recalled(drivers, a.options.Home, a.options.Env)
	}
	a.probes.mu.Lock()
	for name, last := range a.probes.last {
		if last.of(news, a.fixed) && !last.at.IsZero() {
			if said == nil {
				said = map[string]terret.Probe{}
			}
			said[name] = last.probe
		}
	}
	a.probes.mu.Unlock()
	return a.marked(all.Declared(ctx, drivers, said))
}

// Forget has an agent be asked again, although its last answer still counts.
func (a *Agents) Forget(name string) {
	a.probes.mu.Lock()
	defer a.probes.mu.Unlock()
	if last := a.probes.last[name]; last != nil && last.asked == nil {
		last.at = last.at.Add(-probeFor)
	}
}

// Close ends what is being asked, and waits for it. Nothing is asked afterwards.
func (a *Agents) Close() {
	p := &a.probes
	p.mu.Lock()
	if p.end != nil {
		p.end()
	}
	p.closed = true
	p.mu.Unlock()
	p.wait.Wait()
}

// probe returns what these drivers say, waiting for those of which wanted says so if they
// are being asked.
func (a *Agents) probe(ctx context.Context, drivers []terret.Driver, wanted func(answer) bool) []terret.Probe {
	news := a.changes()
	for _, d := range drivers {
		a.ask(d, news)
	}
	out := make([]terret.Probe, len(drivers))
	for i, d := range drivers {
		last := a.last(d)
		if last.asked != nil && wanted(last) {
			select {
			case <-last.asked:
			case <-ctx.Done():
			}
			last = a.last(d)
		}
		out[i] = last.probe
		out[i].Checking = last.asked != nil
	}
	return a.marked(out)
}

// last is what a driver said last; all that is known before is its name.
func (a *Agents) last(d terret.Driver) answer {
	a.probes.mu.Lock()
	defer a.probes.mu.Unlock()
	if last := a.probes.last[d.Name()]; last != nil {
		return *last
	}
	return answer{probe: terret.Probe{Agent: d.Name()}}
}

// of reports whether it is of the agent that has this name now: one that was added may
// have been replaced by another.
func (last *answer) of(news int, fixed []terret.Driver) bool {
	return last != nil && (last.news == news || isOne(fixed, last.probe.Agent))
}

// ask begins to ask a driver, unless its answer still counts or it is being asked.
func (a *Agents) ask(d terret.Driver, news int) {
	p := &a.probes
	p.mu.Lock()
	defer p.mu.Unlock()
	last := p.last[d.Name()]
	same := last.of(news, a.fixed)
	if p.closed || same && (last.asked != nil || time.Since(last.at) < probeFor) {
		return
	}
	if p.last == nil {
		p.last = map[string]*answer{}
		p.life, p.end = context.WithCancel(context.Background())
	}
	next := &answer{probe: terret.Probe{Agent: d.Name()}, news: news, asked: make(chan struct{})}
	if same {
		next.probe, next.at = last.probe, last.at
	}
	p.last[d.Name()] = next
	p.wait.Go(func() {
		said, answered := all.Ask(p.life, d)
		a.note(next, said, answered)
	})
}

// note takes over what a driver said. One that was there and only did not answer in time is
// still there.
func (a *Agents) note(next *answer, said terret.Probe, answered bool) {
	p := &a.probes
	if home := a.options.Home; answered && home != "" {
		p.file.Lock()
		all.Remember([]terret.Probe{said}, a.Drivers(), home, a.options.Env)
		p.file.Unlock()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if answered || !next.probe.Found {
		next.probe = said
	}
	next.at = time.Now()
	close(next.asked)
	next.asked = nil
}

// marked says which agents the user added, and which model the configuration names.
func (a *Agents) marked(out []terret.Probe) []terret.Probe {
	a.list.Lock()
	defer a.list.Unlock()
	own := native.Config{Providers: a.providers()}
	for i := range out {
		_, out[i].Added = a.user[out[i].Agent]
		out[i].Added = out[i].Added && a.added[out[i].Agent] != nil
		if model := a.options.Config.Model; out[i].Agent == native.Name && own.Has(model) {
			out[i].Model = model
		}
	}
	return out
}
