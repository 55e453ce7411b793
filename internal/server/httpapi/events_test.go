package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/internal/server/httpapi"
	"github.com/terret-dev/terret/internal/sse"
)

// talk is a session in which one turn has been held, and its events.
func talk(t *testing.T, f *fixture, more ...func(map[string]any)) (terret.Session, []terret.Entry) {
	t.Helper()
	s := f.session(more...)
	f.prompt(s.ID, "go")
	end := f.wait(s.ID, "turn.complete")
	return s, stored(t, f, s.ID, end.Seq)
}

// stored are the events of a session up to a number.
func stored(t *testing.T, f *fixture, session string, to int64) []terret.Entry {
	t.Helper()
	var all []terret.Entry
	for e, err := range f.engine.Events(t.Context(), engine.EventQuery{Session: session, Raw: true}) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Seq <= to {
			all = append(all, e)
		}
	}
	return all
}

var chatter = script(mock.Step{Think: "hm <b> & \u2028"}, mock.Step{Text: "one two three"}, mock.Step{
	Tool: &mock.Tool{Name: "Read", Input: terret.JSON(`{"path":"a"}`), Result: "x\r\ny"},
}, mock.Step{Text: "done"})

// collect reads a stream until it has so many events.
func collect(t *testing.T, f *fixture, n int, path string, header ...string) []sse.Event {
	t.Helper()
	var out []sse.Event
	if n == 0 {
		return nil
	}
	for ev, err := range f.events(path, header...) {
		if err != nil {
			t.Fatal(err)
		}
		ev.Data = bytes.Clone(ev.Data)
		if out = append(out, ev); len(out) == n {
			break
		}
	}
	return out
}

func TestEvents(t *testing.T) {
	t.Parallel()
	f := newFixture(t, chatter)
	s, all := talk(t, f)
	at := "/v1/sessions/" + s.ID + "/events"
	check := func(name string, got []sse.Event, want []terret.Entry) {
		t.Helper()
		if len(got) != len(want) {
			t.Fatalf("%s: %d events, want %d", name, len(got), len(want))
		}
		for i, e := range want {
			e.Raw = nil
			if body := e.AppendJSON(nil); !bytes.Equal(got[i].Data, body) {
				t.Errorf("%s: event %d is %s, stored is %s", name, e.Seq, got[i].Data, body)
			}
			if got[i].ID != strconv.FormatInt(e.Seq, 10) || got[i].Name != string(e.Kind) {
				t.Errorf("%s: event %d has id %q and name %q", name, e.Seq, got[i].ID, got[i].Name)
			}
		}
	}
	if a := f.do("HEAD", at, nil).want(200, nil); a.header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("head %v", a.header)
	}
	check("all", collect(t, f, len(all), at), all)
	check("after", collect(t, f, len(all)-3, at+"?after=3"), all[3:])
	check("last", collect(t, f, len(all)-5, at+"?after=3", "Last-Event-ID", "5"), all[5:])

	pick := func(keep func(terret.Entry) bool) []terret.Entry {
		return slices.DeleteFunc(slices.Clone(all), func(e terret.Entry) bool { return !keep(e) })
	}
	whole := pick(func(e terret.Entry) bool { return !e.Kind.Delta() })
	check("without deltas", collect(t, f, len(whole), at+"?deltas=0"), whole)
	some := pick(func(e terret.Entry) bool { return e.Kind == "turn.start" || e.Kind == "turn.complete" })
	check("kinds", collect(t, f, 2, at+"?kinds=turn.start,turn.complete"), some)

	a := f.do("GET", at, nil, "Accept", "application/x-ndjson").want(200, nil)
	if got := a.header.Get("Content-Type"); got != "application/x-ndjson" {
		t.Errorf("content type %q", got)
	}
	lines := strings.Split(strings.TrimSuffix(string(a.body), "\n"), "\n")
	for i, e := range all {
		e.Raw = nil
		if lines[i] != string(e.AppendJSON(nil)) {
			t.Errorf("line %d: %s", i, lines[i])
		}
	}
}

func TestRawEvents(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	s := f.session(func(b map[string]any) { b["keep_raw"] = true })
	claim, err := f.store.Claim(t.Context(), s.ID)
	if err != nil {
		t.Fatal(err)
	}
	raw := "{\n \"a\": 1,\r\n \"b\": \"<\"\n}"
	_, err = f.store.Commit(t.Context(), []terret.Batch{{Session: s.ID, Epoch: claim.Session.Epoch, Events: []terret.Event{
		{Session: s.ID, Time: terret.Now(), Data: terret.Notification{Text: "hi"}, Raw: []byte(raw)},
		{Session: s.ID, Time: terret.Now(), Data: terret.Notification{Text: "ho"}, Raw: []byte("not JSON\n")},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.store.Release(t.Context(), s.ID, claim.Session.Epoch); err != nil {
		t.Fatal(err)
	}
	at := "/v1/sessions/" + s.ID + "/events"
	for _, ev := range collect(t, f, 2, at) {
		if bytes.Contains(ev.Data, []byte(`"raw"`)) {
			t.Errorf("not asked for: %s", ev.Data)
		}
	}
	check := func(data []byte, want any) {
		t.Helper()
		var got struct{ Raw any }
		if err := json.Unmarshal(data, &got); err != nil || !cmp.Equal(got.Raw, want) {
			t.Errorf("raw %v in %s (%v)", got.Raw, data, err)
		}
	}
	want := []any{map[string]any{"a": 1.0, "b": "<"}, "not JSON\n"}
	for i, ev := range collect(t, f, 2, at+"?raw=1") {
		check(ev.Data, want[i])
	}
	lines := bytes.Split(bytes.TrimSpace(f.do("GET", at+"?raw=1", nil, "Accept", "application/x-ndjson").want(200, nil).body), []byte("\n"))
	if len(lines) != 2 {
		t.Fatalf("lines %q", lines)
	}
	for i, line := range lines {
		check(line, want[i])
	}
}

func TestViews(t *testing.T) {
	t.Parallel()
	f := newFixture(t, chatter)
	s, _ := talk(t, f)
	at := "/v1/sessions/" + s.ID + "/events?view=chirality"
	var all []sse.Event
	for ev, err := range f.events(at) {
		if err != nil {
			t.Fatal(err)
		}
		ev.Data = bytes.Clone(ev.Data)
		if all = append(all, ev); ev.Name == "process:exit" {
			break
		}
	}
	var names []string
	for _, ev := range all {
		names = append(names, ev.Name)
	}
	if names[0] != "session:init" || !slices.Contains(names, "chat:delta") || !slices.Contains(names, "tool:result") {
		t.Errorf("messages %v", names)
	}
	// Whoever goes on sees the rest, with what the view knew before.
	i := slices.Index(names, "tool:result")
	var rest []string
	for ev, err := range f.events(at, "Last-Event-ID", all[i].ID) {
		if err != nil {
			t.Fatal(err)
		}
		if rest = append(rest, ev.Name); ev.Name == "process:exit" {
			break
		}
	}
	if diff := cmp.Diff(names[i+1:], rest); diff != "" {
		t.Error(diff)
	}
	f.do("GET", "/v1/sessions/"+s.ID+"/events?view=latin", nil).problem(422, terret.CodeInvalidRequest, "view")
}

func TestBadEvents(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	s, _ := talk(t, f)
	at := "/v1/sessions/" + s.ID + "/events"
	for query, field := range map[string]string{
		"?after=-1": "after", "?after=x": "after", "?after=999999": "after", "?kinds=turn.start,nonsense": "kinds",
		"?deltas=2": "deltas", "?raw=yes": "raw", "?follow=1": "follow", "?after=99999999999999999999": "after",
	} {
		f.do("GET", at+query, nil).problem(422, terret.CodeInvalidRequest, field)
	}
	for _, last := range []string{"x", "-1", "999999", "1.5"} {
		f.do("GET", at, nil, "Last-Event-ID", last).problem(422, terret.CodeInvalidRequest, "Last-Event-ID")
	}
	f.do("GET", "/v1/sessions/"+terret.NewSessionID()+"/events", nil).problem(404, terret.CodeSessionNotFound, "")
	for query, field := range map[string]string{"?cursor=x": "cursor", "?cursor=7": "cursor", "?raw=1": "raw"} {
		f.do("GET", "/v1/events"+query, nil).problem(422, terret.CodeInvalidRequest, field)
	}
	f.do("GET", "/v1/events?sessions="+s.ID+","+terret.NewSessionID(), nil).problem(404, terret.CodeSessionNotFound, "")
	// A cursor of a server that has seen more.
	f.do("GET", "/v1/events", nil, "Last-Event-ID", "cG9zOjk5OTk5OTk5").problem(422, terret.CodeInvalidRequest, "Last-Event-ID")
}

// TestDeletedSession holds that a reader is told why its stream ends.
func TestDeletedSession(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	s, all := talk(t, f)
	n := 0
	for ev, err := range f.events("/v1/sessions/" + s.ID + "/events") {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n == len(all) {
			f.do("DELETE", "/v1/sessions/"+s.ID+"?force=true", nil).want(204, nil)
		}
		if ev.Name == "stream.end" {
			var p httpapi.Problem
			if err := json.Unmarshal(ev.Data, &p); err != nil || p.Kind != terret.CodeSessionNotFound {
				t.Errorf("end %s", ev.Data)
			}
			return
		}
	}
	t.Error("the stream ended without a word")
}

func TestAllEvents(t *testing.T) {
	t.Parallel()
	f := newFixture(t, chatter)
	a, allA := talk(t, f)
	b, allB := talk(t, f)
	c, _ := talk(t, f)
	want := map[string]int{a.ID: len(allA), b.ID: len(allB)}
	seen := map[string]int64{}
	cursor, n := "", 0
	// One event for each connection: every place is one to go on from.
	for n < len(allA)+len(allB) {
		header := []string{}
		if cursor != "" {
			header = []string{"Last-Event-ID", cursor}
		}
		got := collect(t, f, 2, "/v1/events?deltas=1&sessions="+a.ID+","+b.ID, header...)
		if got[0].Name != "stream.start" || cursor != "" && got[0].ID != cursor {
			t.Fatalf("begins with %+v", got[0])
		}
		var e terret.Event
		if err := json.Unmarshal(got[1].Data, &e); err != nil {
			t.Fatal(err)
		}
		if want[e.Session] == 0 || e.Seq != seen[e.Session]+1 {
			t.Fatalf("event %d of session %s after %d", e.Seq, e.Session, seen[e.Session])
		}
		seen[e.Session] = e.Seq
		cursor = got[1].ID
		n++
	}
	if lines := f.do("GET", "/v1/events?sessions="+c.ID+"&kinds=turn.start", nil, "Accept", "application/x-ndjson").want(200, nil); bytes.Count(lines.body, []byte("\n")) != 1 {
		t.Errorf("lines %s", lines.body)
	}
	// From now on: what came before is not sent.
	started := false
	for ev, err := range f.events("/v1/events?cursor=now") {
		if err != nil {
			t.Fatal(err)
		}
		if ev.Name == "stream.start" {
			started = true
			f.prompt(a.ID, "again")
			continue
		}
		var e terret.Event
		if err := json.Unmarshal(ev.Data, &e); err != nil || !started || e.Session != a.ID || e.Seq <= int64(len(allA)) {
			t.Errorf("event %s %v", ev.Data, err)
		}
		if ev.Name == "turn.complete" {
			break
		}
	}
}

// TestExactlyOnce has clients that disconnect at random while events stream: each
// sees every event exactly once.
func TestExactlyOnce(t *testing.T) {
	t.Parallel()
	clients, events := 200, 10_000
	if testing.Short() || raceEnabled {
		events = 1000
	}
	steps := make([]mock.Step, events)
	for i := range steps {
		steps[i].Event = &mock.RawEvent{Kind: "notification", Data: terret.JSON(fmt.Sprintf(`{"text":"%d"}`, i))}
	}
	f := newFixture(t, script(steps...))
	s := f.session()
	var ready, wait sync.WaitGroup
	totals := make([]int, clients)
	for i := range clients {
		ready.Add(1)
		wait.Go(func() {
			r := reader{f: f, session: s.ID, rnd: rand.New(rand.NewPCG(uint64(i), 7)), events: events, connected: sync.OnceFunc(ready.Done)}
			defer r.connected()
			for !r.over {
				if err := r.read(t.Context()); err != nil {
					t.Errorf("client %d: %v", i, err)
					return
				}
			}
			totals[i] = r.notes
		})
	}
	ready.Wait()
	f.prompt(s.ID, "go")
	wait.Wait()
	for i, n := range totals {
		if n != events {
			t.Errorf("client %d saw %d of %d events", i, n, events)
		}
	}
}

// reader reads a session with many connections, and counts.
type reader struct {
	f         *fixture
	session   string
	rnd       *rand.Rand
	events    int
	connected func()
	last      int64
	notes     int
	over      bool
}

// read reads some events, and leaves.
func (r *reader) read(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	res, err := r.f.client.Do(r.f.request(ctx, "GET", "/v1/sessions/"+r.session+"/events", nil, "Last-Event-ID", strconv.FormatInt(r.last, 10)))
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != 200 {
		return fmt.Errorf("status %d", res.StatusCode)
	}
	r.connected()
	stop := 1 + r.rnd.IntN(r.events)
	for ev, err := range sse.Read(res.Body, 1<<20) {
		if err != nil {
			return err
		}
		id, err := strconv.ParseInt(ev.ID, 10, 64)
		if err != nil || id != r.last+1 {
			return fmt.Errorf("event %q after %d", ev.ID, r.last)
		}
		r.last = id
		switch ev.Name {
		case "notification":
			if want := fmt.Sprintf(`"text":"%d"`, r.notes); !bytes.Contains(ev.Data, []byte(want)) {
				return fmt.Errorf("note %d is %s", r.notes, ev.Data)
			}
			r.notes++
		case "turn.complete":
			r.over = true
			return nil
		}
		if stop--; stop == 0 {
			return nil
		}
	}
	return errors.New("the stream ended")
}

// TestSlowReaders holds that a reader that does not read is cut, and that the turn
// goes on meanwhile.
func TestSlowReaders(t *testing.T) {
	t.Parallel()
	steps := make([]mock.Step, 200)
	for i := range steps {
		steps[i].Event = &mock.RawEvent{Kind: "notification", Data: terret.JSON(`{"text":"` + strings.Repeat("x", 60_000) + `"}`)}
	}
	f := newFixture(t, script(steps...), limits(httpapi.Limits{Write: 50 * time.Millisecond}))
	s := f.session()
	res, err := f.client.Do(f.request(t.Context(), "GET", "/v1/sessions/"+s.ID+"/events", nil))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close() // which is never read
	f.prompt(s.ID, "go")
	for {
		var turns terret.Page[terret.Turn]
		f.do("GET", "/v1/sessions/"+s.ID+"/turns", nil).want(200, &turns)
		metrics := f.do("GET", "/metrics", nil).want(200, nil).body
		if turns.Items[0].State == terret.TurnCompleted && bytes.Contains(metrics, []byte("\nterret_streams_cut_total 1\n")) {
			return
		}
	}
}
