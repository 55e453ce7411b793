package drivertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/test/logcheck"
)

// all are the events' data of one kind.
func all[T terret.Data](events []terret.Event) []T {
	var out []T
	for _, ev := range events {
		if d, ok := ev.Data.(T); ok {
			out = append(out, d)
		}
	}
	return out
}

// last is the last of one kind. There must be one.
func last[T terret.Data](f *fixture, events []terret.Event) T {
	f.Helper()
	found := all[T](events)
	if len(found) == 0 {
		var zero T
		f.Fatalf("there is no %s", terret.Event{Data: zero}.Kind())
	}
	return found[len(found)-1]
}

const shown = 300

// cut shortens a text for people.
func cut(s string) string {
	if r := []rune(s); len(r) > shown {
		return string(r[:shown]) + fmt.Sprintf("… (%d characters)", len(r))
	}
	return s
}

// dump is the events for people: what, by whom if not by the agent itself, and what
// it waits for.
func dump(events []terret.Event) string {
	var out strings.Builder
	for _, ev := range events {
		data, err := json.Marshal(ev.Data)
		if err != nil {
			data = []byte(err.Error())
		}
		fmt.Fprintf(&out, "%4d %s", ev.Seq, ev.Kind())
		if ev.Actor != "" && ev.Actor != terret.ActorRoot {
			out.WriteString(" of " + ev.Actor)
		}
		if ev.Expects != nil {
			fmt.Fprintf(&out, " at the gate %s", ev.Expects.Gate)
		}
		if ev.Turn == "" {
			out.WriteString(" outside a turn")
		}
		fmt.Fprintf(&out, " %s\n", cut(string(data)))
	}
	return out.String()
}

// sessions are the ids of all sessions in the store.
func (f *fixture) sessions() []string {
	f.t.Helper()
	if len(f.seats) == 0 {
		return nil
	}
	page, err := f.seats[0].store.ListSessions(context.Background(), terret.SessionFilter{Limit: 100})
	if err != nil {
		f.t.Errorf("%v", err)
	}
	var out []string
	for _, s := range page.Items {
		out = append(out, s.ID)
	}
	return out
}

// read is a session's whole log.
func (f *fixture) read(session string) ([]terret.Event, error) {
	var out []terret.Event
	for after := int64(0); ; {
		page, err := f.seats[0].store.Read(context.Background(), terret.ReadQuery{Session: session, After: after})
		if err != nil || len(page) == 0 {
			return out, err
		}
		for _, entry := range page {
			ev, err := entry.Decode()
			if err != nil {
				return out, err
			}
			if strings.Contains(string(entry.Body), canary) {
				return out, fmt.Errorf("the key is in event %d of session %s", entry.Seq, session)
			}
			out = append(out, ev)
			after = entry.Seq
		}
	}
}

// unexpected reports whether something failed that should not have.
func (f *fixture) unexpected() bool {
	return f.t.Failed() || f.Failed() && f.patience != trialPatience
}

// finish ends the scenario, and holds what must be true after each of them, whether
// it passed or not.
func (f *fixture) finish() {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var err error
	for _, s := range f.seats {
		err = errors.Join(err, s.engine.Close(ctx))
	}
	for _, id := range f.sessions() {
		events, rErr := f.read(id)
		err = errors.Join(err, rErr)
		if found := logcheck.Problems(events); len(found) > 0 || f.unexpected() {
			f.t.Logf("the log of session %s:\n%s", id, dump(events))
			for _, p := range found {
				f.t.Errorf("session %s: %s", id, p)
			}
		}
	}
	for _, s := range f.seats {
		err = errors.Join(err, s.store.Close())
	}
	if f.model != nil {
		err = errors.Join(err, f.model.running.Close())
		if left := f.model.server.Player().Unmatched(); len(left) > 0 {
			f.Errorf("the model was asked something odd: %s", strings.Join(left, "\n"))
		}
	}
	if err != nil {
		f.t.Errorf("%v", err)
	}
	for range 100 { // what a killed harness left behind is ended by its guard
		if len(alive(f.t, f.place.Home)) == 0 {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if left := alive(f.t, f.place.Home); len(left) > 0 {
		f.t.Errorf("processes are left: %s", strings.Join(left, "\n"))
	}
	if strings.Contains(f.log.String(), canary) {
		f.t.Errorf("the key is in the operator's log")
	}
	if f.unexpected() {
		f.t.Logf("the operator's log:\n%s", f.log)
	}
}

// decisionFor is what was decided about the request.
func decisionFor(f *fixture, events []terret.Event, request string) terret.Decision {
	f.Helper()
	for _, ev := range events {
		if d, ok := terret.DecisionOf(ev.Data); ok && d.RequestID == request {
			return d
		}
	}
	f.Fatalf("request %s was not decided", request)
	return terret.Decision{}
}
