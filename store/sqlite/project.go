package sqlite

import (
	"encoding/json"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/lite"
	"github.com/terret-dev/terret/store"
)

// projector updates the tables beside the log. After the first error it does nothing
// more.
type projector struct {
	tx  *lite.Conn
	key int64 // of the session
	err error
}

func (w *projector) exec(query string, args ...any) (n int64) {
	if w.err == nil {
		n, w.err = changed(w.tx, query, args...)
	}
	return n
}

func (w *projector) project(p store.Prepared) {
	for _, t := range p.Projection.Started {
		if w.exec(`UPDATE sessions SET can_redo = 0 WHERE key = ? AND can_redo = 1`, w.key) > 0 {
			w.exec(`UPDATE turns SET undone = 2 WHERE session = ? AND undone = 1`, w.key)
		}
		w.exec(`INSERT INTO turns (id, session, state, origin, start_seq, started_at) VALUES (?, ?, ?, ?, ?, ?)`,
			t.ID, w.key, string(terret.TurnRunning), string(t.Origin), t.Seq, t.At.UnixMicro())
	}
	for _, o := range p.Projection.Opened {
		var expires any
		if o.ExpiresAt != nil {
			expires = o.ExpiresAt.UnixMicro()
		}
		w.exec(`INSERT INTO requests (id, session, turn, seq, epoch, gate, state, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, 'open', ?, ?)`,
			o.RequestID, w.key, o.Turn, o.Seq, p.Batch.Epoch, string(o.Gate), o.At.UnixMicro(), expires)
	}
	for _, d := range p.Projection.Decided {
		w.decide(d)
	}
	for _, t := range p.Projection.Ended {
		w.endTurn(t)
	}
	revert := len(p.Projection.Rewound) > 0
	for _, c := range p.Projection.Snapshot {
		w.snapshot(c)
		revert = revert || c.Changed
	}
	for _, c := range p.Projection.Rewound {
		w.rewound(c)
	}
	if revert {
		w.revert()
	}
	w.session(p.Projection.Session)
	for _, id := range p.Batch.Taken {
		w.exec(`UPDATE inbox SET state = 'taken' WHERE id = ? AND session = ?`, id, w.key)
	}
	for _, id := range p.Batch.Delivered {
		w.exec(`UPDATE requests SET delivered = 1 WHERE id = ? AND session = ? AND state = 'decided'`, id, w.key)
	}
	for id, n := range p.Batch.Hits {
		w.exec(`UPDATE rules SET hits = hits + ? WHERE id = ?`, n, id)
	}
}

// decide writes the one decision of a request. If another process has already answered
// it, only that answer is accepted.
func (w *projector) decide(d terret.Decision) {
	if w.err != nil {
		return
	}
	var state, have string
	found, err := w.tx.Row(func(r *lite.Rows) { state, have = r.Text(0), r.Text(1) },
		`SELECT state, decision FROM requests WHERE id = ? AND session = ?`, d.RequestID, w.key)
	switch {
	case err != nil:
		w.err = err
		return
	case !found:
		w.err = terret.Errorf(terret.CodeNotFound, "there is no request %s in this session", d.RequestID)
		return
	case state != "open" && (state != "answered" || !store.SameDecision(have, d)):
		w.err = store.AlreadyDecided(d.RequestID, have)
		return
	}
	text, err := json.Marshal(d)
	if err != nil {
		w.err = err
		return
	}
	w.exec(`UPDATE requests SET state = 'decided', decision = ? WHERE id = ?`, string(text), d.RequestID)
}

func (w *projector) endTurn(t store.TurnEnded) {
	n := w.exec(`UPDATE turns SET state = ?, end_seq = ?, ended_at = ?, input = ?, output = ?, cache_read = ?, cache_write = ?, reasoning = ?, cost = ?
		WHERE id = ? AND session = ? AND state = 'running'`,
		string(t.State), t.Seq, t.At.UnixMicro(), t.Usage.Input, t.Usage.Output, t.Usage.CacheRead, t.Usage.CacheWrite, t.Usage.Reasoning, int64(t.Cost),
		t.ID, w.key)
	if n == 0 && w.err == nil {
		w.err = terret.Errorf(terret.CodeConflict, "turn %q is not running, so it cannot end", t.ID)
	}
	w.exec(`UPDATE sessions SET input = input + ?, output = output + ?, cache_read = cache_read + ?, cache_write = cache_write + ?, reasoning = reasoning + ?, cost = cost + ? WHERE key = ?`,
		t.Usage.Input, t.Usage.Output, t.Usage.CacheRead, t.Usage.CacheWrite, t.Usage.Reasoning, int64(t.Cost), w.key)
	w.exec(`INSERT INTO usage_days (day, agent, model, cwd, turns, input, output, cache_read, cache_write, reasoning, cost)
		SELECT ?, agent, coalesce(?, model), cwd, 1, ?, ?, ?, ?, ?, ? FROM sessions WHERE key = ?
		ON CONFLICT DO UPDATE SET turns = turns + 1, input = input + excluded.input, output = output + excluded.output,
			cache_read = cache_read + excluded.cache_read, cache_write = cache_write + excluded.cache_write,
			reasoning = reasoning + excluded.reasoning, cost = cost + excluded.cost`,
		t.At.UTC().Format("2006-01-02"), t.Model, t.Usage.Input, t.Usage.Output, t.Usage.CacheRead, t.Usage.CacheWrite, t.Usage.Reasoning, int64(t.Cost), w.key)
}

func (w *projector) snapshot(c terret.CheckpointCreated) {
	w.exec(`UPDATE sessions SET checkpoint_id = ? WHERE key = ?`, c.CheckpointID, w.key)
	column := "before"
	if c.Phase == "after" {
		column = "after"
	}
	w.exec(`UPDATE turns SET `+column+` = ?, changed = max(changed, ?) WHERE id = ? AND session = ?`, c.Snapshot, c.Changed, c.OfTurn, w.key)
}

func (w *projector) rewound(c store.Rewound) {
	undone := 0
	switch {
	case c.Direction == "undo" && c.Final:
		undone = 2
	case c.Direction == "undo":
		undone = 1
	}
	w.exec(`UPDATE sessions SET checkpoint_id = ? WHERE key = ?`, c.CheckpointID, w.key)
	for _, id := range c.Turns {
		w.exec(`UPDATE turns SET undone = ? WHERE id = ? AND session = ?`, undone, id, w.key)
	}
}

// revert recomputes whether there is something to undo or redo, from all turns of the
// session.
func (w *projector) revert() {
	w.exec(`UPDATE sessions SET
		can_undo = EXISTS (SELECT 1 FROM turns WHERE session = ?1 AND changed = 1 AND undone = 0),
		can_redo = EXISTS (SELECT 1 FROM turns WHERE session = ?1 AND undone = 1)
		WHERE key = ?1`, w.key)
}

func (w *projector) session(c store.SessionChange) {
	if c == (store.SessionChange{}) {
		return
	}
	w.exec(`UPDATE sessions SET native_id = coalesce(?, native_id), title = coalesce(?, title), model = coalesce(?, model),
		policy = coalesce(?, policy), permission_mode = coalesce(?, permission_mode), mode = coalesce(?, mode),
		persona = coalesce(?, persona), handed_to = coalesce(?, handed_to), state = coalesce(?, state), turn = coalesce(?, turn) WHERE key = ?`,
		c.NativeID, c.Title, c.Model, c.Policy, c.PermissionMode, c.Mode, c.Persona, c.HandedTo, c.State, c.Turn, w.key)
}
