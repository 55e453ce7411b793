package postgres

import (
	"context"
	"encoding/json"
	"maps"

	"github.com/jackc/pgx/v5"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/store"
)

// judge knows the rows that decide which batches are refused. They are locked, or nobody
// else may change them while their session is locked.
type judge struct {
	sessions map[string]sessionRow
	requests map[string]requestRow
	turns    map[string]turnRow
}

type requestRow struct {
	session  int64
	state    string
	decision string
}

type turnRow struct {
	session int64
	state   string
}

// lock begins the transaction, locks what the batches change and returns the batches that
// may be written. The results say why the others are refused.
func (w *writer) lock(ctx context.Context, all []prepared) ([]prepared, error) {
	j := judge{sessions: map[string]sessionRow{}, requests: map[string]requestRow{}, turns: map[string]turnRow{}}
	begin := w.store.begin()
	if large(all) {
		begin = append(begin, largeIdle)
	}
	if err := j.read(ctx, w.conn, begin, all); err != nil {
		_ = abandon(ctx, w.conn) // the caller gets the earlier error
		return nil, err
	}
	admitted := make([]prepared, 0, len(all))
	for _, p := range all {
		if err := j.admit(&p); err != nil {
			w.results[p.Index] = terret.Result{Err: err}
			continue
		}
		admitted = append(admitted, p)
	}
	return admitted, nil
}

func (j *judge) read(ctx context.Context, c *pgx.Conn, begin []string, all []prepared) error {
	var ids, requests, turns []string
	for _, p := range all {
		ids = append(ids, p.Batch.Session)
		for _, o := range p.Projection.Opened {
			requests = append(requests, o.RequestID)
		}
		for _, d := range p.Projection.Decided {
			requests = append(requests, d.RequestID)
		}
		for _, t := range p.Projection.Started {
			turns = append(turns, t.ID)
		}
		for _, t := range p.Projection.Ended {
			turns = append(turns, t.ID)
		}
	}
	first := &pgx.Batch{}
	for _, statement := range begin {
		first.Queue(statement)
	}
	first.Queue(`SELECT id, key, epoch, last_seq, agent, model, cwd, can_redo FROM sessions
		WHERE id = ANY ($1) AND NOT deleted ORDER BY id FOR NO KEY UPDATE`, ids).Query(func(rows pgx.Rows) error {
		var id string
		var r sessionRow
		_, err := pgx.ForEachRow(rows, []any{&id, &r.key, &r.epoch, &r.last, &r.agent, &r.model, &r.cwd, &r.canRedo}, func() error {
			j.sessions[id] = r
			return nil
		})
		return err
	})
	if len(requests) > 0 {
		first.Queue(`SELECT id, session, state, coalesce(decision, '') FROM requests WHERE id = ANY ($1) ORDER BY id FOR NO KEY UPDATE`, requests).Query(func(rows pgx.Rows) error {
			var id string
			var r requestRow
			_, err := pgx.ForEachRow(rows, []any{&id, &r.session, &r.state, &r.decision}, func() error {
				j.requests[id] = r
				return nil
			})
			return err
		})
	}
	if len(turns) > 0 {
		first.Queue(`SELECT id, session, state FROM turns WHERE id = ANY ($1)`, turns).Query(func(rows pgx.Rows) error {
			var id string
			var r turnRow
			_, err := pgx.ForEachRow(rows, []any{&id, &r.session, &r.state}, func() error {
				j.turns[id] = r
				return nil
			})
			return err
		})
	}
	return c.SendBatch(ctx, first).Close()
}

// admit says why a batch is refused. Otherwise later batches find what it will change.
func (j *judge) admit(p *prepared) error {
	row, ok := j.sessions[p.Batch.Session]
	switch b := p.Batch; {
	case !ok:
		return notFound(b.Session)
	case row.epoch != b.Epoch:
		return terret.ErrFenced
	case row.last != b.After:
		return terret.Errorf(terret.CodeConflict, "session %s is at event %d, not %d", b.Session, row.last, b.After)
	}
	p.row = row
	turns, requests := map[string]turnRow{}, map[string]requestRow{} // as this batch leaves them
	if err := j.admitTurns(p, turns); err != nil {
		return err
	}
	if err := j.admitRequests(p, requests); err != nil {
		return err
	}
	maps.Copy(j.turns, turns)
	maps.Copy(j.requests, requests)
	return nil
}

func (j *judge) admitTurns(p *prepared, after map[string]turnRow) error {
	for _, t := range p.Projection.Started {
		if _, ok := lookUp(t.ID, after, j.turns); ok {
			return terret.Errorf(terret.CodeConflict, "session %s: turn %s of the batch already exists", p.Batch.Session, t.ID)
		}
		after[t.ID] = turnRow{session: p.row.key, state: string(terret.TurnRunning)}
	}
	for _, t := range p.Projection.Ended {
		r, ok := lookUp(t.ID, after, j.turns)
		if !ok || r.session != p.row.key || r.state != string(terret.TurnRunning) {
			return terret.Errorf(terret.CodeConflict, "turn %q is not running, so it cannot end", t.ID)
		}
		after[t.ID] = turnRow{session: p.row.key, state: string(t.State)}
	}
	return nil
}

// admitRequests sees to it that a request has one decision. If another process has
// already answered it, only that answer is accepted.
func (j *judge) admitRequests(p *prepared, after map[string]requestRow) error {
	for _, o := range p.Projection.Opened {
		if _, ok := lookUp(o.RequestID, after, j.requests); ok {
			return terret.Errorf(terret.CodeConflict, "session %s: request %s of the batch already exists", p.Batch.Session, o.RequestID)
		}
		after[o.RequestID] = requestRow{session: p.row.key, state: "open"}
	}
	for _, d := range p.Projection.Decided {
		r, ok := lookUp(d.RequestID, after, j.requests)
		switch {
		case !ok || r.session != p.row.key:
			return terret.Errorf(terret.CodeNotFound, "there is no request %s in this session", d.RequestID)
		case r.state != "open" && (r.state != "answered" || !store.SameDecision(r.decision, d)):
			return store.AlreadyDecided(d.RequestID, r.decision)
		}
		text, err := json.Marshal(d)
		if err != nil {
			return terret.AsError(err)
		}
		after[d.RequestID] = requestRow{session: p.row.key, state: "decided", decision: string(text)}
	}
	return nil
}

func lookUp[T any](id string, maps ...map[string]T) (row T, ok bool) {
	for _, m := range maps {
		if row, ok = m[id]; ok {
			return row, true
		}
	}
	return row, false
}
