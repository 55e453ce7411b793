package postgres

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/store"
)

// projector queues the changes of the tables beside the log. The judge has seen to it
// that none of them can fail.
type projector struct {
	batch  *pgx.Batch
	key    int64 // of the session
	shared *shared
}

func (w *projector) exec(query string, args ...any) { w.batch.Queue(query, args...) }

func (w *projector) project(p prepared) {
	for _, t := range p.Projection.Started {
		if p.row.canRedo {
			w.exec(`UPDATE sessions SET can_redo = false WHERE key = $1`, w.key)
			w.exec(`UPDATE turns SET undone = 2 WHERE session = $1 AND undone = 1`, w.key)
		}
		w.exec(`INSERT INTO turns (id, session, state, origin, start_seq, started_at) VALUES ($1, $2, $3, $4, $5, $6)`,
			t.ID, w.key, string(terret.TurnRunning), string(t.Origin), t.Seq, t.At.UnixMicro())
	}
	for _, o := range p.Projection.Opened {
		w.open(o, p.Batch.Epoch)
	}
	for _, d := range p.Projection.Decided {
		text, _ := json.Marshal(d) // the judge has done it before
		w.exec(`UPDATE requests SET state = 'decided', decision = $2 WHERE id = $1`, d.RequestID, string(text))
	}
	for _, t := range p.Projection.Ended {
		w.endTurn(t, p.row)
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
		w.exec(`UPDATE inbox SET state = 'taken' WHERE id = $1 AND session = $2`, id, w.key)
	}
	for _, id := range p.Batch.Delivered {
		w.exec(`UPDATE requests SET delivered = true WHERE id = $1 AND session = $2 AND state = 'decided'`, id, w.key)
	}
	for id, n := range p.Batch.Hits {
		w.shared.hits[id] += n
	}
}

// open queues a request. When it expires is also kept by the clock of the database, since
// those who answer it may have other clocks than its owner.
func (w *projector) open(o store.Opened, epoch int64) {
	var expires, left *int64
	if o.ExpiresAt != nil {
		at := o.ExpiresAt.UnixMicro()
		in := time.Until(o.ExpiresAt.Time).Microseconds()
		expires, left = &at, &in
	}
	w.exec(`INSERT INTO requests (id, session, turn, seq, epoch, gate, state, created_at, expires_at, expires)
		VALUES ($1, $2, $3, $4, $5, $6, 'open', $7, $8, clock_timestamp() + $9::bigint * interval '1 microsecond')`,
		o.RequestID, w.key, o.Turn, o.Seq, epoch, string(o.Gate), o.At.UnixMicro(), expires, left)
}

func (w *projector) endTurn(t store.TurnEnded, row sessionRow) {
	w.exec(`UPDATE turns SET state = $1, end_seq = $2, ended_at = $3, input = $4, output = $5, cache_read = $6, cache_write = $7, reasoning = $8, cost = $9
		WHERE id = $10 AND session = $11`,
		string(t.State), t.Seq, t.At.UnixMicro(), t.Usage.Input, t.Usage.Output, t.Usage.CacheRead, t.Usage.CacheWrite, t.Usage.Reasoning, int64(t.Cost),
		t.ID, w.key)
	w.exec(`UPDATE sessions SET input = input + $1, output = output + $2, cache_read = cache_read + $3, cache_write = cache_write + $4, reasoning = reasoning + $5, cost = cost + $6 WHERE key = $7`,
		t.Usage.Input, t.Usage.Output, t.Usage.CacheRead, t.Usage.CacheWrite, t.Usage.Reasoning, int64(t.Cost), w.key)
	model := row.model
	if t.Model != nil {
		model = clean(*t.Model)
	}
	w.shared.use(usageKey{day: t.At.UTC().Format(time.DateOnly), agent: row.agent, model: model, cwd: row.cwd}, t.Usage, t.Cost)
}

func (w *projector) snapshot(c terret.CheckpointCreated) {
	w.exec(`UPDATE sessions SET checkpoint_id = $1 WHERE key = $2`, clean(c.CheckpointID), w.key)
	column := "before"
	if c.Phase == "after" {
		column = "after"
	}
	w.exec(`UPDATE turns SET `+column+` = $1, changed = changed OR $2 WHERE id = $3 AND session = $4`, clean(c.Snapshot), c.Changed, c.OfTurn, w.key)
}

func (w *projector) rewound(c store.Rewound) {
	undone := 0
	switch {
	case c.Direction == "undo" && c.Final:
		undone = 2
	case c.Direction == "undo":
		undone = 1
	}
	w.exec(`UPDATE sessions SET checkpoint_id = $1 WHERE key = $2`, clean(c.CheckpointID), w.key)
	w.exec(`UPDATE turns SET undone = $1 WHERE id = ANY ($2) AND session = $3`, undone, c.Turns, w.key)
}

// revert recomputes whether there is something to undo or redo, from all turns of the
// session.
func (w *projector) revert() {
	w.exec(`UPDATE sessions SET
		can_undo = EXISTS (SELECT 1 FROM turns WHERE session = $1 AND changed AND undone = 0),
		can_redo = EXISTS (SELECT 1 FROM turns WHERE session = $1 AND undone = 1)
		WHERE key = $1`, w.key)
}

func (w *projector) session(c store.SessionChange) {
	if c == (store.SessionChange{}) {
		return
	}
	w.exec(`UPDATE sessions SET native_id = coalesce($1, native_id), title = coalesce($2, title), model = coalesce($3, model),
		policy = coalesce($4, policy), permission_mode = coalesce($5, permission_mode), mode = coalesce($6, mode),
		persona = coalesce($7, persona), handed_to = coalesce($8, handed_to), state = coalesce($9, state), turn = coalesce($10, turn) WHERE key = $11`,
		cleaned(c.NativeID), cleaned(c.Title), cleaned(c.Model), cleaned(c.Policy), cleaned(c.PermissionMode), cleaned(c.Mode),
		cleaned(c.Persona), cleaned(c.HandedTo), cleaned(c.State), cleaned(c.Turn), w.key)
}

func cleaned(text *string) *string {
	if text == nil {
		return nil
	}
	out := clean(*text)
	return &out
}

// shared is what the batches of a group add to rows that all processes change.
type shared struct {
	usage map[usageKey]*usage
	hits  map[string]int64
}

type usageKey struct{ day, agent, model, cwd string }

type usage struct {
	turns int64
	terret.Usage
	cost terret.Cost
}

func newShared() *shared { return &shared{usage: map[usageKey]*usage{}, hits: map[string]int64{}} }

func (s *shared) use(k usageKey, u terret.Usage, c terret.Cost) {
	sum := s.usage[k]
	if sum == nil {
		sum = &usage{}
		s.usage[k] = sum
	}
	sum.turns++
	sum.Input += u.Input
	sum.Output += u.Output
	sum.CacheRead += u.CacheRead
	sum.CacheWrite += u.CacheWrite
	sum.Reasoning += u.Reasoning
	sum.cost += c
}

// queue queues the sums, sorted.
func (s *shared) queue(last *pgx.Batch) {
	keys := make([]usageKey, 0, len(s.usage))
	for k := range s.usage {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b usageKey) int {
		return cmp.Or(cmp.Compare(a.day, b.day), cmp.Compare(a.agent, b.agent), cmp.Compare(a.model, b.model), cmp.Compare(a.cwd, b.cwd))
	})
	for _, k := range keys {
		u := s.usage[k]
		last.Queue(`INSERT INTO usage_days AS d (day, agent, model, cwd, turns, input, output, cache_read, cache_write, reasoning, cost)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
			ON CONFLICT (day, agent, model, cwd) DO UPDATE SET turns = d.turns + excluded.turns, input = d.input + excluded.input, output = d.output + excluded.output,
				cache_read = d.cache_read + excluded.cache_read, cache_write = d.cache_write + excluded.cache_write,
				reasoning = d.reasoning + excluded.reasoning, cost = d.cost + excluded.cost`,
			k.day, k.agent, k.model, k.cwd, u.turns, u.Input, u.Output, u.CacheRead, u.CacheWrite, u.Reasoning, int64(u.cost))
	}
	rules := make([]string, 0, len(s.hits))
	for id := range s.hits {
		rules = append(rules, id)
	}
	slices.Sort(rules)
	for _, id := range rules {
		last.Queue(`UPDATE rules SET hits = hits + $1 WHERE id = $2`, s.hits[id], id)
	}
}
