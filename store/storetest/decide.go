package storetest

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/terret-dev/terret"
)

// testAnswerRace lets fifty people answer the same request through several
// instances and another process.
func testAnswerRace(t *testing.T, s *suite) {
	const answers, instances = 50, 4
	dir := t.TempDir()
	owner := s.open(t, dir)
	ctx := within(t)
	w, other := newWriter(t, owner), newWriter(t, owner)
	request := ask("")
	id := request.Expects.RequestID
	w.must(t, request)
	if n := wantSession(t, owner, w.session); n.OpenRequests != 1 {
		t.Errorf("%d open requests, want 1", n.OpenRequests)
	}
	doors := []terret.Store{owner}
	for range instances - 1 {
		doors = append(doors, s.open(t, dir))
	}
	process := s.spawn(t, dir).ready()
	process.tell(job{Do: "answer", Decision: decision(id, terret.BehaviorAllow, "process")})

	errs := make([]error, answers)
	var wg sync.WaitGroup
	for i := range answers {
		wg.Go(func() {
			errs[i] = doors[i%instances].Answer(ctx, decision(id, terret.BehaviorAllow, fmt.Sprint("person ", i)))
		})
	}
	wg.Wait()
	won := ""
	if r := process.answer("answer"); r.Error == "" {
		won = "process"
	} else if r.Kind != terret.CodeAlreadyDecided {
		t.Errorf("the other process: %s: %s", r.Kind, r.Error)
	}
	for i, err := range errs {
		if err != nil {
			wantError(t, "answer", err, terret.CodeAlreadyDecided)
			continue
		}
		if won != "" {
			t.Errorf("person %d won, and so did %s", i, won)
		}
		won = fmt.Sprint("person ", i)
	}
	if won == "" {
		t.Fatal("nobody won")
	}
	for _, err := range errs {
		if err != nil && !strings.Contains(err.Error(), won) {
			t.Errorf("%q does not say that it was %s", err, won)
		}
	}
	process.close()
	afterAnswer(t, owner, w, other, id, won)
}

// afterAnswer is the owner's part: it may commit the answer that won and no other.
func afterAnswer(t *testing.T, owner terret.Store, w, other *writer, id, won string) {
	ctx := t.Context()
	answered, err := owner.Answered(ctx)
	if err != nil || len(answered) != 1 || answered[0].RequestID != id || answered[0].Decision == nil || answered[0].Decision.By != won {
		t.Fatalf("answered: %+v, %v", answered, err)
	}
	if answered[0].State != terret.RequestDecided || answered[0].Delivered {
		t.Errorf("an answered request: %+v", answered[0])
	}
	late := decision(id, terret.BehaviorDeny, "")
	late.Source = terret.ByTimeout
	results, err := owner.Commit(ctx, []terret.Batch{w.batch(note("before"), event("", late.Data())), other.batch(note("other"))})
	if err != nil {
		t.Fatal(err)
	}
	wantError(t, "owner's own decision", results[0].Err, terret.CodeAlreadyDecided)
	if results[1].Err != nil {
		t.Errorf("the rest of the group: %v", results[1].Err)
	}
	if err := dense(mustRead(t, owner, w.session), 1); err != nil {
		t.Errorf("refused decision: %v", err)
	}
	w.must(t, event("", answered[0].Decision.Data()))
	_, err = w.append(ctx, event("", answered[0].Decision.Data()))
	wantError(t, "the same decision again", err, terret.CodeAlreadyDecided)
	wantError(t, "answer after all", owner.Answer(ctx, decision(id, terret.BehaviorAllow, "late")), terret.CodeAlreadyDecided)
	if answered, err := owner.Answered(ctx); err != nil || len(answered) != 0 {
		t.Errorf("still answered: %v, %v", answered, err)
	}
	b := w.batch()
	b.Delivered = []string{id}
	if _, err := w.commit(ctx, b); err != nil {
		t.Fatal(err)
	}
	r, err := owner.Request(ctx, id)
	if err != nil || !r.Delivered || r.State != terret.RequestDecided || r.Decision.By != won {
		t.Errorf("request: %+v, %v", r, err)
	}
	if n := wantSession(t, owner, w.session); n.OpenRequests != 0 {
		t.Errorf("%d open requests, want 0", n.OpenRequests)
	}
}

// testOwnerRace lets the owner decide while another process answers: the log holds one
// decision, and it is the winner's.
func testOwnerRace(t *testing.T, s *suite) {
	st := s.fresh(t)
	ctx := within(t)
	w := newWriter(t, st)
	wins := map[string]int{}
	for range 30 {
		request := ask("")
		id := request.Expects.RequestID
		w.must(t, request)
		own := decision(id, terret.BehaviorDeny, "owner")
		var answer error
		var wg sync.WaitGroup
		wg.Go(func() { answer = st.Answer(ctx, decision(id, terret.BehaviorAllow, "person")) })
		_, commit := w.append(ctx, event("", own.Data()))
		wg.Wait()
		if (answer == nil) == (commit == nil) {
			t.Fatalf("owner: %v, person: %v: exactly one must win", commit, answer)
		}
		winner := "owner"
		if answer == nil {
			winner = "person"
			wantError(t, "owner", commit, terret.CodeAlreadyDecided)
			answered, err := st.Answered(ctx)
			if err != nil || len(answered) != 1 {
				t.Fatalf("answered: %v, %v", answered, err)
			}
			w.must(t, event("", answered[0].Decision.Data()))
		} else {
			wantError(t, "person", answer, terret.CodeAlreadyDecided)
		}
		wins[winner]++
		r, err := st.Request(ctx, id)
		if err != nil || r.Decision == nil || r.Decision.By != winner {
			t.Errorf("%s won, but the request says %+v, %v", winner, r.Decision, err)
		}
	}
	decided := map[string]int{}
	for _, e := range mustRead(t, st, w.session) {
		ev, err := e.Decode()
		if err != nil {
			t.Fatal(err)
		}
		if d, ok := ev.Data.(terret.PermissionDecision); ok {
			decided[d.RequestID]++
		}
	}
	for id, n := range decided {
		if n != 1 {
			t.Errorf("request %s has %d decisions", id, n)
		}
	}
	t.Logf("who won: %v", wins)
}

// testRequests checks what is known of a request, and the list.
func testRequests(t *testing.T, s *suite) {
	st := s.fresh(t)
	ctx := t.Context()
	w, other := newWriter(t, st), newWriter(t, st)
	turn := terret.NewID(terret.PrefixTurn)
	w.must(t, start(turn))
	soon := terret.TimeOf(time.Now().Add(time.Hour))
	question := event(turn, terret.QuestionRequest{RequestID: "req_0", Questions: []terret.Question{{ID: "q", Text: "why?"}}})
	question.Expects = &terret.Expects{RequestID: "req_0", Gate: terret.GateQuestion, Fallback: terret.BehaviorReject, ExpiresAt: &soon}
	w.must(t, note("first"), question)

	got, err := st.Request(ctx, "req_0")
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "request", got, terret.Request{
		RequestID: "req_0", Session: w.session, Turn: turn, Seq: 3, Gate: terret.GateQuestion, State: terret.RequestOpen,
		CreatedAt: question.Time, ExpiresAt: &soon, Data: []byte(`{"request_id":"req_0","questions":[{"id":"q","text":"why?"}]}`),
	})
	_, err = st.Request(ctx, "req_none")
	wantError(t, "unknown request", err, terret.CodeNotFound)
	wantError(t, "answer to an unknown request", st.Answer(ctx, decision("req_none", terret.BehaviorAllow, "")), terret.CodeNotFound)

	// A decision survives the round trip whole, and so does a request whose event
	// is large. An event of any kind can wait for a decision.
	answer := terret.Decision{
		RequestID: "req_0", Gate: terret.GateQuestion, Behavior: terret.BehaviorAnswer, Source: terret.ByUser, By: "me",
		Reason: "broken \xff text", Answers: map[string]terret.Choice{"q": {"a", "b"}, "r": {"c"}},
	}
	w.must(t, event(turn, answer.Data()))
	got, err = st.Request(ctx, "req_0")
	answer.Reason = "broken \uFFFD text"
	if err != nil || got.Decision == nil {
		t.Fatalf("request: %+v, %v", got, err)
	}
	diff(t, "decision", *got.Decision, answer)

	hook := event("", terret.Opaque{Name: "later.hook", JSON: []byte(`{"big":"` + strings.Repeat("z", 100_000) + `"}`)})
	hook.Expects = &terret.Expects{RequestID: "req_1", Gate: terret.GatePreTool, Fallback: terret.BehaviorPassthrough}
	other.must(t, hook)
	if got, err = st.Request(ctx, "req_1"); err != nil || len(got.Data) < 100_000 {
		t.Errorf("large request: %d bytes, %v", len(got.Data), err)
	}
	late := ask("")
	late.Expects.RequestID = "req_2"
	over := terret.TimeOf(time.Now().Add(-time.Minute))
	late.Expects.ExpiresAt = &over
	other.must(t, late)
	wantError(t, "answer after the time", st.Answer(ctx, decision("req_2", terret.BehaviorAllow, "")), terret.CodeAlreadyDecided)
	for i := 3; i < 8; i++ {
		e := ask("")
		e.Expects.RequestID = fmt.Sprint("req_", i)
		other.must(t, e)
	}

	list := func(f terret.RequestFilter) []string {
		t.Helper()
		var ids []string
		for {
			page, err := st.ListRequests(ctx, f)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range page.Items {
				ids = append(ids, r.RequestID)
			}
			if f.Cursor = page.Next; page.Next == "" {
				return ids
			}
		}
	}
	diff(t, "all, by twos", list(terret.RequestFilter{Limit: 2}),
		[]string{"req_0", "req_1", "req_2", "req_3", "req_4", "req_5", "req_6", "req_7"})
	diff(t, "open ones", list(terret.RequestFilter{State: terret.RequestOpen, Limit: 3}),
		[]string{"req_1", "req_2", "req_3", "req_4", "req_5", "req_6", "req_7"})
	diff(t, "decided ones", list(terret.RequestFilter{State: terret.RequestDecided}), []string{"req_0"})
	diff(t, "one session's", list(terret.RequestFilter{Session: w.session}), []string{"req_0"})
}
