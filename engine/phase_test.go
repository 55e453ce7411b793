package engine_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine"
)

// Of all pairs of phases exactly those in the table are transitions; the others panic
// in tests.
func TestEdgesAreTheTable(t *testing.T) {
	t.Parallel()
	table := engine.Edges()
	for from := range engine.Phases {
		for to := range engine.Phases {
			name, panics := engine.TryEdge(from, to)
			if want := !slices.Contains(table, name); panics != want {
				t.Errorf("%s: panics %v, want %v", name, panics, want)
			}
		}
	}
}

// walk runs an engine and gathers the transitions of its sessions.
type walk struct {
	*fixture
	p      *puppet
	faults *faults

	mu   sync.Mutex
	seen map[string]bool
}

func newWalk(t *testing.T) *walk {
	w := &walk{p: newPuppet(), seen: map[string]bool{}}
	w.fixture, w.faults = faultyFixture(t, w.p)
	engine.Trace(w.Engine, func(edge string) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.seen[edge] = true
	})
	return w
}

// begin prompts a new session and returns it with its agent, which has the turn.
func (w *walk) begin() (id, turn string, a *puppetAgent) {
	w.t.Helper()
	id = w.session()
	turn = w.prompt(id, "go").ID
	a = w.p.agent(w.t)
	a.prompted(w.t)
	return id, turn, a
}

// breaks makes the log of the session take nothing more.
func (w *walk) breaks(session string) {
	w.faults.failBatches(func(b terret.Batch) error {
		if b.Session == session {
			return errDisk
		}
		return nil
	})
}

// mends makes it take everything, and has the session put in order, so that what broke
// is gone.
func (w *walk) mends(session string) {
	w.t.Helper()
	w.faults.failBatches(nil)
	if err := w.CloseSession(w.t.Context(), session, ""); err != nil {
		w.t.Error(err)
	}
	title := "mended"
	if err := w.Update(w.t.Context(), session, terret.SessionUpdated{Title: &title}, ""); err != nil {
		w.t.Error(err)
	}
	if err := w.CloseSession(w.t.Context(), session, ""); err != nil {
		w.t.Error(err)
	}
	checkLog(w.t, w.store, session)
}

// Every transition of the table happens, and leaves a log that is in order.
func TestEveryEdgeIsWalked(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for name, walk := range map[string]func(*walk){
		"a turn":                  walkTurn,
		"stopped while it starts": walkStoppedStart,
		"failed start":            walkFailedStart,
		"interrupted":             walkInterrupted,
		"by itself":               walkBackground,
		"undo":                    walkUndo,
		"broken while idle":       walkBrokenIdle,
		"broken while starting":   walkBrokenStart,
		"broken while running":    walkBrokenRun,
		"broken while stopping":   walkBrokenStop,
		"broken while settling":   walkBrokenSettle,
		"broken while quiet":      walkBrokenQuiet,
		"broken while leaving":    walkBrokenLeave,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWalk(t)
			walk(w)
			w.close()
			w.mu.Lock()
			defer w.mu.Unlock()
			for edge := range w.seen {
				seen[edge] = true
			}
		})
	}
	for _, edge := range engine.Edges() {
		if !seen[edge] {
			t.Errorf("%s was never walked", edge)
		}
		delete(seen, edge)
	}
	for edge := range seen {
		t.Errorf("%s is not in the table", edge)
	}
}

func walkTurn(w *walk) {
	id, turn, a := w.begin()
	a.complete(w.t, turn)
	w.ended(id, turn)
	if err := w.CloseSession(w.t.Context(), id, ""); err != nil {
		w.t.Error(err)
	}
	checkLog(w.t, w.store, id)
}

// blockOpen keeps agents from opening until the context ends or open is closed.
func (w *walk) blockOpen() (opening chan struct{}) {
	opening = make(chan struct{})
	w.p.onOpen = func(ctx context.Context, _ *puppetAgent) error {
		close(opening)
		<-ctx.Done()
		return context.Cause(ctx)
	}
	return opening
}

func walkStoppedStart(w *walk) {
	opening := w.blockOpen()
	id := w.session()
	turn := w.prompt(id, "go").ID
	receive(w.t, opening)
	if err := w.Interrupt(w.t.Context(), id, "me"); err != nil {
		w.t.Error(err)
	}
	if e := last[terret.TurnError](w.t, w.ended(id, turn)).Error; e.Code != terret.CodeInterrupted {
		w.t.Errorf("ended with %+v", e)
	}
}

func walkFailedStart(w *walk) {
	w.p.onOpen = func(context.Context, *puppetAgent) error { return terret.Errorf(terret.CodeAgentNotFound, "no") }
	id := w.session()
	turn := w.prompt(id, "go").ID
	if e := last[terret.TurnError](w.t, w.ended(id, turn)).Error; e.Code != terret.CodeAgentNotFound {
		w.t.Errorf("ended with %+v", e)
	}
}

func walkInterrupted(w *walk) {
	id, turn, a := w.begin()
	if err := w.Interrupt(w.t.Context(), id, "me"); err != nil {
		w.t.Error(err)
	}
	receive(w.t, a.interrupts)
	a.complete(w.t, turn)
	w.ended(id, turn)
}

func walkBackground(w *walk) {
	id, turn, a := w.begin()
	a.complete(w.t, turn)
	w.ended(id, turn)
	a.say(w.t, terret.MessageComplete{MessageID: "m", Role: terret.RoleAssistant, Blocks: []terret.Block{terret.Text("by the way")}})
	a.complete(w.t, "")
	w.until(id, 0, func() func(terret.Event) bool {
		n := 0
		return func(ev terret.Event) bool {
			if ev.Kind().EndsTurn() {
				n++
			}
			return n == 2
		}
	}())
}

func walkUndo(w *walk) {
	_, err := w.Undo(w.t.Context(), w.session(), "", false)
	wantKind(w.t, err, terret.CodeConflict) // nothing to undo
}

func walkBrokenIdle(w *walk) {
	id := w.session()
	w.breaks(id)
	title := "t"
	if err := w.Update(w.t.Context(), id, terret.SessionUpdated{Title: &title}, ""); err == nil {
		w.t.Error("a lost update succeeded")
	}
	w.mends(id)
}

func walkBrokenStart(w *walk) {
	opening := w.blockOpen()
	id := w.session()
	w.prompt(id, "go")
	receive(w.t, opening)
	w.breaks(id)
	title := "t"
	if err := w.Update(w.t.Context(), id, terret.SessionUpdated{Title: &title}, ""); err == nil {
		w.t.Error("a lost update succeeded")
	}
	w.mends(id)
}

func walkBrokenRun(w *walk) {
	id, _, a := w.begin()
	w.breaks(id)
	a.say(w.t, terret.Notification{Text: "lost"})
	receive(w.t, a.closed)
	w.mends(id)
}

func walkBrokenStop(w *walk) {
	id, _, a := w.begin()
	if err := w.Interrupt(w.t.Context(), id, "me"); err != nil {
		w.t.Error(err)
	}
	receive(w.t, a.interrupts)
	w.breaks(id)
	a.say(w.t, terret.Notification{Text: "lost"})
	receive(w.t, a.closed)
	w.mends(id)
}

// The decision of a request that is open at the end of the turn cannot be written.
func walkBrokenSettle(w *walk) {
	id, turn, a := w.begin()
	answer := make(chan error, 1)
	go func() {
		_, err := a.ask("1", "make")
		answer <- err
	}()
	w.request(id, 1)
	w.breaks(id)
	a.complete(w.t, turn)
	if receive(w.t, answer) == nil {
		w.t.Error("the agent was answered by a session that had failed")
	}
	receive(w.t, a.closed)
	w.mends(id)
}

func walkBrokenQuiet(w *walk) {
	id := w.session()
	w.breaks(id)
	if _, err := w.Undo(w.t.Context(), id, "", false); err == nil {
		w.t.Error("undo succeeded on a broken log")
	}
	w.mends(id)
}

func walkBrokenLeave(w *walk) {
	id, turn, a := w.begin()
	a.complete(w.t, turn)
	w.ended(id, turn)
	w.breaks(id)
	if err := w.CloseSession(w.t.Context(), id, ""); err != nil {
		w.t.Error(err)
	}
	w.mends(id)
}
