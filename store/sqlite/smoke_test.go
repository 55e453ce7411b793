package sqlite

import (
	"path/filepath"
	"testing"

	"github.com/terret-dev/terret"
)

func TestSmoke(t *testing.T) {
	for _, path := range []string{Memory, filepath.Join(t.TempDir(), "a b?#%.db")} {
		ctx := t.Context()
		s, err := Open(ctx, path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		n, err := s.Create(ctx, terret.Session{ID: terret.NewSessionID(), Agent: "mock", Cwd: "/x"})
		if err != nil {
			t.Fatal(err)
		}
		c, err := s.Claim(ctx, n.ID)
		if err != nil {
			t.Fatal(err)
		}
		ev := func(turn string, d terret.Data) terret.Event {
			return terret.Event{Turn: turn, Time: terret.Now(), Data: d}
		}
		req := ev("trn_1", terret.PermissionRequest{RequestID: "req_1", Tool: "Bash"})
		req.Expects = &terret.Expects{RequestID: "req_1", Gate: terret.GatePermission}
		big := make([]byte, 100_000)
		rs, err := s.Commit(ctx, []terret.Batch{{Session: n.ID, Epoch: c.Session.Epoch, Events: []terret.Event{
			ev("trn_1", terret.TurnStart{Prompt: []terret.Block{terret.Text("hi")}, Origin: terret.OriginUser}),
			ev("trn_1", terret.MessageDelta{MessageID: "m", Text: "a"}), ev("trn_1", terret.MessageDelta{MessageID: "m", Text: "b"}),
			ev("trn_1", terret.MessageComplete{MessageID: "m", Blocks: []terret.Block{terret.Text(string(big))}}),
			req,
		}}})
		if err != nil || rs[0].Err != nil {
			t.Fatal(err, rs)
		}
		if rs[0].LastSeq != 4 {
			t.Fatal(rs[0].LastSeq)
		}
		if err := s.Answer(ctx, terret.Decision{RequestID: "req_1", Gate: terret.GatePermission, Behavior: terret.BehaviorAllow, Source: terret.ByUser}); err != nil {
			t.Fatal(err)
		}
		a, err := s.Answered(ctx)
		if err != nil || len(a) != 1 {
			t.Fatal(err, a)
		}
		rs, err = s.Commit(ctx, []terret.Batch{{Session: n.ID, Epoch: c.Session.Epoch, After: 4, Events: []terret.Event{
			ev("trn_1", a[0].Decision.Data()),
			ev("trn_1", terret.TurnComplete{Usage: terret.Usage{Input: 3}, CostUSD: 5}),
		}}})
		if err != nil || rs[0].Err != nil {
			t.Fatal(err, rs)
		}
		es, err := s.Read(ctx, terret.ReadQuery{Session: n.ID})
		if err != nil || len(es) != 6 {
			t.Fatal(err, len(es))
		}
		ts, err := s.Turns(ctx, n.ID)
		t.Log(ts, err)
		n, err = s.Session(ctx, n.ID)
		t.Logf("%+v %v", n, err)
		f, err := s.Check(ctx)
		t.Log(f, err)
		if path != Memory {
			if err := s.Backup(ctx, filepath.Join(t.TempDir(), "b.db")); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
