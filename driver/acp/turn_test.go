package acp

import (
	"cmp"
	"encoding/json"
	"errors"
	"reflect"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/seat"
	"github.com/terret-dev/terret/internal/redact"
	"github.com/terret-dev/terret/internal/rpc"
)

// TestWatch holds that a turn is stopped when the agent says nothing, but not while a
// tool runs or somebody is asked.
func TestWatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &agent{d: New(Profile{Argv: []string{"x"}, Idle: time.Minute}, Config{})}
		turn := newTurn(a.d.p, nil, terret.Settings{}, "/")
		var told, gaveUp atomic.Int64
		began := time.Now()
		note := func(at *atomic.Int64) func() { return func() { at.Store(int64(time.Since(began))) } }
		w := a.watch(turn, note(&told), note(&gaveUp))
		defer w.stop()
		change := func(f func()) {
			a.telling.Lock()
			defer a.telling.Unlock()
			f()
			turn.heard = time.Now()
		}
		time.Sleep(50 * time.Second)
		change(func() { turn.tools = []*tool{{told: true}} })
		time.Sleep(time.Hour)
		change(func() { turn.tools[0].done, turn.open = true, 1 })
		time.Sleep(time.Hour)
		change(func() { turn.open = 0 })
		last := time.Since(began)
		time.Sleep(59 * time.Second)
		if after := told.Load(); after != 0 {
			t.Fatalf("told to stop after %v", time.Duration(after))
		}
		time.Sleep(time.Hour)
		after, end := time.Duration(told.Load()), time.Duration(gaveUp.Load())
		if after < last+time.Minute || after > last+2*time.Minute || end != after+stopGrace {
			t.Errorf("told to stop after %v, given up after %v, last heard of after %v", after, end, last)
		}
	})
}

// TestToldToStopOnce holds that only an agent that has not begun is told to stop again:
// one that was at work may have ended the turn by then, and would take it for the next.
func TestToldToStopOnce(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		before func(*turn)
		again  bool
	}{
		"nothing yet":     {func(*turn) {}, true},
		"it thinks":       {func(t *turn) { t.text("", "hm", true) }, false},
		"it speaks":       {func(t *turn) { t.text("", "Let me", false) }, false},
		"it has spoken":   {func(t *turn) { t.text("", "Let me", false); t.complete() }, false},
		"it calls a tool": {func(t *turn) { t.upsert(call{ID: "t1"}) }, false},
	} {
		turn := newTurn(Profile{}, nil, terret.Settings{}, "/")
		tt.before(turn)
		turn.stop()
		if !turn.cancelled || turn.again == tt.again {
			t.Errorf("%s: to be told again: %v", name, !turn.again)
		}
	}
}

// TestModeChanged is that a mode which the agent changes by itself stays that of the
// session only if it is no answer to us.
func TestModeChanged(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		turn *turn
		mode string
		told bool
	}{
		"no turn":             {nil, "yolo", false},
		"as the turn begins":  {&turn{}, "yolo", false},
		"while it asks":       {&turn{steps: 1, open: 1}, "yolo", false},
		"in the turn":         {&turn{steps: 1}, "yolo", true},
		"the one that it has": {&turn{steps: 1}, "ask", false},
		"none":                {&turn{steps: 1}, "", false},
	} {
		a := &agent{turn: tt.turn, state: state{mode: "ask"}, session: picked{mode: "ask"}}
		events := a.modeChanged(tt.mode)
		if told := len(events) == 1 && *events[0].Data.(terret.SessionUpdated).PermissionMode == tt.mode; told != tt.told {
			t.Errorf("%s: %+v", name, events)
		}
		if kept := a.session.mode == "yolo"; kept != tt.told {
			t.Errorf("%s: the session has the mode %s", name, a.session.mode)
		}
	}
}

// TestAskable is in which turns an agent may ask.
func TestAskable(t *testing.T) {
	t.Parallel()
	p := &process{}
	for name, tt := range map[string]struct {
		change func(*agent)
		want   bool
	}{
		"its own":            {func(*agent) {}, true},
		"none":               {func(a *agent) { a.turn = nil }, false},
		"of another process": {func(a *agent) { a.turn.p = &process{} }, false},
		"to be ended":        {func(a *agent) { a.turn.cancelled = true }, false},
		"over":               {func(a *agent) { a.turn.withdraw(errOver) }, false},
	} {
		a := &agent{turn: newTurn(Profile{}, p, terret.Settings{}, "/")}
		tt.change(a)
		if got := a.askable(p) != nil; got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestCost is that a turn costs what the agent has counted since it began, also if it
// counts anew.
func TestCost(t *testing.T) {
	t.Parallel()
	a := &agent{state: state{cost: 5}}
	a.count(4) // no turn runs
	a.turn = &turn{spent: 4}
	for _, tt := range []struct{ total, want terret.Cost }{{4, 0}, {6, 2}, {6, 2}, {1, 1}, {3, 3}} {
		a.count(tt.total)
		if got := a.soFar().CostUSD; got != tt.want {
			t.Errorf("at %v it costs %v, want %v", tt.total, got, tt.want)
		}
	}
}

// TestFailureOf is why a turn failed, by the answer that ended it.
func TestFailureOf(t *testing.T) {
	t.Parallel()
	d := New(Profile{Argv: []string{"x"}}, Config{})
	open, closed := newAgent(d, terret.OpenRequest{}), newAgent(d, terret.OpenRequest{})
	if err := closed.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	refusal := func(code int, data string) error {
		return &rpc.Error{Code: int64(code), Message: "Internal error", Data: json.RawMessage(data)}
	}
	denied := []terret.Denial{{Tool: "bash"}}
	for name, tt := range map[string]struct {
		agent  *agent
		turn   *turn
		reason string
		err    error
		want   terret.Error
	}{
		"well":                      {reason: "end_turn"},
		"interrupted":               {reason: "cancelled", want: terret.Error{Code: terret.CodeInterrupted}},
		"denied":                    {reason: "cancelled", turn: &turn{denials: denied}},
		"denied and interrupted":    {reason: "cancelled", turn: &turn{denials: denied, cancelled: true}, want: terret.Error{Code: terret.CodeInterrupted}},
		"interrupted with an error": {err: refusal(-32603, ""), turn: &turn{cancelled: true}, want: terret.Error{Code: terret.CodeInterrupted}},
		"too many steps":            {reason: "max_turn_requests", want: terret.Error{Code: terret.CodeMaxTurns}},
		"refused by the model":      {reason: "refusal", want: terret.Error{Code: terret.CodeModelError}},
		"closed":                    {reason: "end_turn", agent: closed, want: terret.Error{Code: terret.CodeProcessFailed}},
		"silent":                    {reason: "cancelled", turn: &turn{silent: true}, want: terret.Error{Code: terret.CodeTimeout, Retryable: true}},
		"silent with an error":      {err: refusal(-32603, ""), turn: &turn{cancelled: true, silent: true}, want: terret.Error{Code: terret.CodeTimeout, Retryable: true}},
		"silent with a reason":      {err: refusal(-32603, `{"statusCode":402}`), turn: &turn{cancelled: true, silent: true}, want: terret.Error{Code: terret.CodeBilling, HTTPStatus: 402}},
		"not readable":              {err: errors.New("odd"), want: terret.Error{Code: terret.CodeMalformedOutput}},
		"status as the code":        {err: refusal(402, ""), want: terret.Error{Code: terret.CodeBilling, HTTPStatus: 402}},
		"status in the data":        {err: refusal(-32603, `{"statusCode":503}`), want: terret.Error{Code: terret.CodeModelError, HTTPStatus: 503, Retryable: true}},
		"error of the API":          {err: refusal(-32603, `{"errorName":"APIError"}`), want: terret.Error{Code: terret.CodeModelError}},
		"no status":                 {err: refusal(600, `{}`), want: terret.Error{Code: terret.CodeExecutionError}},
		"not signed in":             {err: refusal(codeAuthRequired, `{}`), want: terret.Error{Code: terret.CodeNotAuthenticated}},
		"not signed in there":       {err: refusal(-32603, `{"errorName":"ProviderAuthError"}`), want: terret.Error{Code: terret.CodeNotAuthenticated}},
	} {
		turn := cmp.Or(tt.turn, &turn{})
		turn.p = &process{title: "It", Process: &seat.Process{Redact: redact.New(nil)}}
		var got terret.Error
		if e := turn.failureOf(cmp.Or(tt.agent, open), prompted{StopReason: tt.reason}, tt.err); e != nil {
			got = terret.Error{Code: e.Code, HTTPStatus: e.HTTPStatus, Retryable: e.Retryable}
		}
		if !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
