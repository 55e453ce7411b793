package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/terret-dev/terret"
)

// testReadPages reads with limits and filters.
func testReadPages(t *testing.T, s *suite) {
	st := s.fresh(t)
	ctx := t.Context()
	w := newWriter(t, st)
	var events []terret.Event
	for i := range 25 {
		events = append(events, note("%d", i), event("", terret.DiagWarning{Text: fmt.Sprint(i)}))
	}
	all := w.must(t, events...)
	read := func(q terret.ReadQuery) []terret.Entry {
		t.Helper()
		q.Session = w.session
		got, err := st.Read(ctx, q)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	same(t, read(terret.ReadQuery{}), all)
	same(t, read(terret.ReadQuery{Limit: 7}), all[:7])
	same(t, read(terret.ReadQuery{Limit: 7, After: 7}), all[7:14])
	same(t, read(terret.ReadQuery{Limit: 7, After: 48}), all[48:])
	same(t, read(terret.ReadQuery{After: 50}), nil)
	same(t, read(terret.ReadQuery{After: 5000}), nil)
	same(t, read(terret.ReadQuery{After: -1, Limit: 1}), all[:1])
	var warnings []terret.Entry
	for _, e := range all {
		if e.Kind == terret.KindDiagWarning {
			warnings = append(warnings, e)
		}
	}
	same(t, read(terret.ReadQuery{Kinds: []terret.Kind{terret.KindDiagWarning}}), warnings)
	same(t, read(terret.ReadQuery{Kinds: []terret.Kind{terret.KindDiagWarning}, After: 10, Limit: 3}), warnings[5:8])
	same(t, read(terret.ReadQuery{Kinds: []terret.Kind{terret.KindDiagWarning, "notification"}, Limit: 4}), all[:4])
	same(t, read(terret.ReadQuery{Kinds: []terret.Kind{"no.such.kind"}}), nil)

	_, err := st.Read(ctx, terret.ReadQuery{Session: terret.NewSessionID()})
	wantError(t, "unknown session", err, terret.CodeSessionNotFound)
	if got, err := st.Read(ctx, terret.ReadQuery{Session: newWriter(t, st).session}); err != nil || len(got) != 0 {
		t.Errorf("session without events: %v, %v", got, err)
	}

	// Large pages may end early, but are never empty, and nothing is left out.
	big := newWriter(t, st)
	var want []terret.Entry
	for range 8 {
		want = append(want, big.must(t, note("%s", strings.Repeat("y", 3<<20)), note("small"))...)
	}
	var got []terret.Entry
	for len(got) < len(want) {
		var after int64
		if len(got) > 0 {
			after = got[len(got)-1].Seq
		}
		page, err := st.Read(ctx, terret.ReadQuery{Session: big.session, After: after, Limit: 10_000})
		if err != nil || len(page) == 0 {
			t.Fatalf("page after %d: %d events, %v", after, len(page), err)
		}
		got = append(got, page...)
	}
	same(t, got, want)

	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := st.Read(cancelled, terret.ReadQuery{Session: w.session}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled read: %v", err)
	}
	same(t, read(terret.ReadQuery{}), all)
}

// testReadAll reads several sessions in the order of commits.
func testReadAll(t *testing.T, s *suite) {
	st := s.fresh(t)
	ctx := t.Context()
	a, b, c := newWriter(t, st), newWriter(t, st), newWriter(t, st)
	var all []terret.Entry
	for i := range 10 {
		all = append(all, a.must(t, note("a%d", i))...)
		all = append(all, b.must(t, note("b%d", i), event("", terret.DiagWarning{Text: "w"}))...)
		all = append(all, c.must(t, note("c%d", i))...)
	}
	pick := func(keep func(terret.Entry) bool) (out []terret.Entry) {
		for _, e := range all {
			if keep(e) {
				out = append(out, e)
			}
		}
		return out
	}
	read := func(q terret.ReadAllQuery) []terret.Entry {
		t.Helper()
		got, err := st.ReadAll(ctx, q)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	same(t, read(terret.ReadAllQuery{}), all)
	same(t, read(terret.ReadAllQuery{Limit: 5, After: all[9].Pos}), all[10:15])
	same(t, read(terret.ReadAllQuery{After: all[len(all)-1].Pos}), nil)
	same(t, read(terret.ReadAllQuery{Sessions: []string{a.session, c.session}}),
		pick(func(e terret.Entry) bool { return e.Session != b.session }))
	same(t, read(terret.ReadAllQuery{Sessions: []string{b.session}, Kinds: []terret.Kind{terret.KindDiagWarning}}),
		pick(func(e terret.Entry) bool { return e.Kind == terret.KindDiagWarning }))
	same(t, read(terret.ReadAllQuery{Sessions: []string{}}), nil)
	same(t, read(terret.ReadAllQuery{Sessions: []string{terret.NewSessionID()}}), nil)
}
