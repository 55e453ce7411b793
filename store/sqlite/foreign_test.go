package sqlite

import (
	"testing"

	"github.com/terret-dev/terret"
)

// TestWaitForeign holds what owners of sessions are told of: all that others commit,
// what is sent and answered here, and nothing else that is done here.
func TestWaitForeign(t *testing.T) {
	t.Parallel()
	path := tempPath(t)
	a, b := openFile(t, path), openFile(t, path)
	x, y := newHolder(t, a), newHolder(t, b)
	look := func() int64 {
		a.news.mu.Lock()
		a.news.lastPoll = a.news.lastPoll.Add(-pollEvery) // nobody just did
		a.news.mu.Unlock()
		version, err := a.WaitForeign(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		return version
	}
	for _, step := range []struct {
		name    string
		do      func()
		foreign bool
	}{
		{"a commit", func() { x.must(t, "one") }, false},
		{"a refused commit", func() {
			batch := terret.Batch{Session: x.id, Epoch: 99, Events: []terret.Event{{Time: terret.Now(), Data: terret.DiagWarning{}}}}
			if r, err := a.Commit(t.Context(), []terret.Batch{batch}); err != nil || r[0].Err == nil {
				t.Fatal(r, err)
			}
		}, false},
		{"a commit that is taken back", func() {
			start := terret.Event{Time: terret.Now(), Turn: "twice", Data: terret.TurnStart{Prompt: []terret.Block{}}}
			batch := terret.Batch{Session: x.id, Epoch: x.epoch, After: x.seq, Events: []terret.Event{start, start}}
			if r, err := a.Commit(t.Context(), []terret.Batch{batch}); err != nil || r[0].Err == nil {
				t.Fatal(r, err)
			}
		}, false},
		{"a new session", func() { newHolder(t, a) }, false},
		{"a commit of another", func() { y.must(t, "two") }, true},
		{"what is sent", func() {
			if err := a.Send(t.Context(), terret.InboxItem{ID: "i", Session: x.id, Kind: terret.InboxClose}); err != nil {
				t.Fatal(err)
			}
		}, true},
		{"nothing", func() {}, false},
		{"a commit of another that a transaction notices", func() {
			y.must(t, "three")
			x.must(t, "four")
		}, true},
	} {
		before := look()
		step.do()
		if got := look() != before; got != step.foreign {
			t.Errorf("%s: noticed %v, want %v", step.name, got, step.foreign)
		}
	}
}
