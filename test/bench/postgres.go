package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/internal/test/pgtest"
	"github.com/terret-dev/terret/store/postgres"
)

func postgresSection() section {
	return section{
		name:  "PostgreSQL",
		intro: "`store/postgres` on a server of the system's packages on the same machine, as it is installed: synchronous_commit=on.",
		run:   benchPostgres,
	}
}

func benchPostgres(ctx context.Context, _ string) (rows []row, err error) {
	server, err := pgtest.Start()
	if errors.Is(err, pgtest.ErrNone) {
		return []row{{"not measured", err.Error(), ""}}, nil
	}
	if err != nil {
		return nil, err
	}
	defer server.Stop()
	for _, step := range []func(context.Context, *pgtest.Server) ([]row, error){benchPostgresGroup, benchPostgresLag} {
		more, err := step(ctx, server)
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
	}
	return rows, nil
}

// benchPostgresGroup compares Commit with the same statements by hand, in turns.
func benchPostgresGroup(ctx context.Context, server *pgtest.Server) (_ []row, err error) {
	s, err := postgres.Open(ctx, server.URL("ours"), postgres.Options{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	logs, err := openLogs(ctx, s, benchSessions)
	if err != nil {
		return nil, err
	}
	hand, err := openHand(ctx, server.URL("theirs"))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, hand.conn.Close(ctx)) }()
	r := rand.New(rand.NewPCG(1, 2))
	const rounds, groups = 8, 40
	var ours, theirs []float64
	var cpu time.Duration
	for range rounds {
		before := cpuTime()
		rate, err := timed(groups*len(logs), func() error {
			for range groups {
				batches := make([]terret.Batch, len(logs))
				for i, l := range logs {
					batches[i] = l.batch(benchEvent(r))
				}
				if err := commit(ctx, s, logs, batches); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		cpu += cpuTime() - before
		ours = append(ours, rate)
		rate, err = timed(groups*len(logs), func() error {
			for range groups {
				if err := hand.group(ctx, r); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		theirs = append(theirs, rate)
	}
	a, b := median(ours), median(theirs)
	return []row{
		{"append, 100 sessions in a group", fmt.Sprintf("%.0f events/s; the same statements by hand %.0f: ratio %.2f", a, b, a/b), "ratio 0.80"},
		{"CPU of our process for each of these events", fmt.Sprintf("%.0f µs", float64(cpu.Microseconds())/float64(rounds*groups*len(logs))), ""},
	}, nil
}

// byHandLog writes to the tables of a store without it.
type byHandLog struct {
	conn *pgx.Conn
	keys []int64
	last int64
}

func openHand(ctx context.Context, url string) (*byHandLog, error) {
	s, err := postgres.Open(ctx, url, postgres.Options{})
	if err != nil {
		return nil, err
	}
	_, err = openLogs(ctx, s, benchSessions)
	if err = errors.Join(err, s.Close()); err != nil {
		return nil, err
	}
	h := &byHandLog{}
	if h.conn, err = pgx.Connect(ctx, url); err != nil {
		return nil, err
	}
	rows, err := h.conn.Query(ctx, `SELECT key FROM sessions ORDER BY key`)
	if err == nil {
		h.keys, err = pgx.CollectRows(rows, pgx.RowTo[int64])
	}
	return h, err
}

// group appends one event to each session: it locks the sessions, and then writes and
// commits in one message.
func (h *byHandLog) group(ctx context.Context, r *rand.Rand) error {
	first := &pgx.Batch{}
	first.Queue("BEGIN")
	first.Queue(`SELECT key, epoch, last_seq FROM sessions WHERE key = ANY($1) ORDER BY id FOR NO KEY UPDATE`, h.keys)
	if err := h.conn.SendBatch(ctx, first).Close(); err != nil {
		return err
	}
	h.last++
	n := len(h.keys)
	seqs, times, kinds, bodies := make([]int64, n), make([]int64, n), make([]string, n), make([][]byte, n)
	for i := range h.keys {
		e := benchEvent(r)
		body, err := e.MarshalJSON()
		if err != nil {
			return err
		}
		seqs[i], times[i], kinds[i], bodies[i] = h.last, e.Time.UnixMicro(), string(e.Kind()), body
	}
	last := &pgx.Batch{}
	last.Queue(`UPDATE sessions s SET last_seq = u.seq, updated_at = u.at FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS u (key, seq, at) WHERE s.key = u.key`, h.keys, seqs, times)
	last.Queue(`WITH next AS (UPDATE terret SET version = version + 1, last_pos = last_pos + $1 RETURNING version, last_pos),
		written AS (INSERT INTO events (pos, session, seq, at, kind, body)
			SELECT next.last_pos - $1 + e.n, e.session, e.seq, e.at, e.kind, e.body
			FROM next, unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::text[], $6::bytea[]) WITH ORDINALITY AS e (session, seq, at, kind, body, n))
		SELECT pg_notify('by_hand', version::text)::text FROM next`, int64(n), h.keys, seqs, times, kinds, bodies)
	last.Queue("COMMIT")
	return h.conn.SendBatch(ctx, last).Close()
}

// benchPostgresLag measures from a commit on one node to a viewer on another.
func benchPostgresLag(ctx context.Context, server *pgtest.Server) (_ []row, err error) {
	a, err := postgres.Open(ctx, server.URL("lag"), postgres.Options{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	b, err := postgres.Open(ctx, server.URL("lag"), postgres.Options{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	e, err := engine.New(ctx, engine.Config{Store: b, Drivers: []terret.Driver{mock.New(mock.Script{})}})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, e.Close(ctx)) }()
	logs, err := openLogs(ctx, a, 1)
	if err != nil {
		return nil, err
	}
	const events = 200
	seen := make(chan time.Time, events)
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	var failed error // once seen is closed
	go func() {
		defer close(seen)
		for entry, err := range e.Events(ctx, engine.EventQuery{Session: logs[0].id, Follow: true}) {
			if err != nil {
				failed = err
				return
			}
			seen <- time.Now()
			if entry.Seq == events {
				return
			}
		}
	}()
	r := rand.New(rand.NewPCG(1, 2))
	var lags []time.Duration
	for range events {
		if err := commit(ctx, a, logs, []terret.Batch{logs[0].batch(benchEvent(r))}); err != nil {
			return nil, err
		}
		committed := time.Now()
		at, ok := <-seen
		if !ok {
			return nil, errors.Join(errors.New("the viewer has ended"), failed)
		}
		lags = append(lags, max(0, at.Sub(committed)))
		time.Sleep(30 * time.Millisecond)
	}
	slices.Sort(lags)
	return []row{{"from a commit on one node to a viewer on another", fmt.Sprintf("p50 %.1f ms, p99 %.1f ms", ms(lags[len(lags)/2]), ms(lags[len(lags)*99/100])), "p50 20 ms"}}, nil
}
