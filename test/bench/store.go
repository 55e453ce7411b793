package main

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the driver that the plain transactions use

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/store/sqlite"
)

const (
	benchSessions = 100
	fillEvents    = 1_000_000
)

func storeSection() section {
	return section{
		name:  "Store",
		intro: "`store/sqlite`, in WAL mode: everything measured is on disk when it is acknowledged.",
		run:   benchStore,
	}
}

func benchStore(ctx context.Context, dir string) ([]row, error) {
	s, err := sqlite.Open(ctx, filepath.Join(dir, "terret.db"), sqlite.Options{})
	if err != nil {
		return nil, err
	}
	defer func() { _ = s.Close() }() // again, if it was closed below
	logs, err := openLogs(ctx, s, benchSessions)
	if err != nil {
		return nil, err
	}
	var rows []row
	for _, step := range []func(context.Context, string, *sqlite.Store, []*benchLog) ([]row, error){
		benchGroup, benchLone, benchFill, benchReplay,
	} {
		more, err := step(ctx, dir, s, logs)
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
	}
	if err := s.Close(); err != nil {
		return nil, err
	}
	began := time.Now()
	s, err = sqlite.Open(ctx, filepath.Join(dir, "terret.db"), sqlite.Options{})
	took := time.Since(began)
	if err != nil {
		return nil, err
	}
	defer func() { _ = s.Close() }()
	return append(rows, row{"open that file", took.Round(100 * time.Microsecond).String(), "50 ms for 1 GB"}), nil
}

// benchLog is a session that is written to.
type benchLog struct {
	id    string
	epoch int64
	last  int64
}

func openLogs(ctx context.Context, s terret.Store, n int) ([]*benchLog, error) {
	logs := make([]*benchLog, n)
	for i := range logs {
		n, err := s.Create(ctx, terret.Session{ID: terret.NewSessionID(), Agent: "mock", Cwd: "/bench"})
		if err != nil {
			return nil, err
		}
		c, err := s.Claim(ctx, n.ID)
		if err != nil {
			return nil, err
		}
		logs[i] = &benchLog{id: n.ID, epoch: c.Session.Epoch}
	}
	return logs, nil
}

// words is text to cut messages from; a message is 593 bytes of JSON on average,
// one in twenty 2 to 6 KB.
var words = strings.Repeat("the quick brown fox jumps over the lazy dog and then goes on to write code ", 120)

func benchEvent(r *rand.Rand) terret.Event {
	n := 100 + r.IntN(300)
	if r.IntN(20) == 0 {
		n = 2000 + r.IntN(4000)
	}
	return terret.Event{Time: terret.Now(), Turn: "trn_0190a5b0-0000-7000-8000-000000000000", Data: terret.MessageComplete{
		MessageID: "msg_0190a5b0-0000-7000-8000-000000000000", Role: terret.RoleAssistant, Blocks: []terret.Block{terret.Text(words[:n])},
	}}
}

func (l *benchLog) batch(events ...terret.Event) terret.Batch {
	return terret.Batch{Session: l.id, Epoch: l.epoch, After: l.last, Events: events}
}

func commit(ctx context.Context, s terret.Store, logs []*benchLog, batches []terret.Batch) error {
	results, err := s.Commit(ctx, batches)
	if err != nil {
		return err
	}
	for i, r := range results {
		if r.Err != nil {
			return r.Err
		}
		logs[i].last = r.LastSeq
	}
	return nil
}

// benchGroup compares Commit with the same transactions written straight on
// database/sql, in turns.
func benchGroup(ctx context.Context, dir string, s *sqlite.Store, logs []*benchLog) ([]row, error) {
	plain, err := openPlain(ctx, filepath.Join(dir, "plain.db"), len(logs))
	if err != nil {
		return nil, err
	}
	defer plain.db.Close()
	r := rand.New(rand.NewPCG(1, 2))
	const rounds, groups = 8, 60
	var ours, theirs []float64
	for range rounds {
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
		ours = append(ours, rate)
		rate, err = timed(groups*len(logs), func() error {
			for range groups {
				if err := plain.group(ctx, r); err != nil {
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
	return []row{{
		"append, 100 sessions in a group",
		fmt.Sprintf("%.0f events/s; straight on database/sql %.0f: ratio %.2f", a, b, a/b), "ratio 0.80",
	}}, nil
}

// timed returns how many things a second fn did.
func timed(n int, fn func() error) (float64, error) {
	began := time.Now()
	err := fn()
	return float64(n) / time.Since(began).Seconds(), err
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return v[len(v)/2]
}

// plain is the same work without a store around it: the fence, the insert and the
// encoding of an event, in one transaction a group.
type plain struct {
	db            *sql.DB
	fence, insert *sql.Stmt
	last          []int64
}

func openPlain(ctx context.Context, path string, n int) (*plain, error) {
	db, err := sql.Open("sqlite", "file:"+path+"?_txlock=immediate&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	p := &plain{db: db, last: make([]int64, n)}
	_, err = db.ExecContext(ctx, `CREATE TABLE sessions (key INTEGER PRIMARY KEY, id TEXT UNIQUE, epoch INTEGER, last_seq INTEGER, updated_at INTEGER);
		CREATE INDEX u ON sessions (updated_at);
		CREATE TABLE events (pos INTEGER PRIMARY KEY AUTOINCREMENT, session INTEGER, seq INTEGER, at INTEGER, kind TEXT, body BLOB);
		CREATE UNIQUE INDEX s ON events (session, seq)`)
	if err != nil {
		return nil, err
	}
	for i := range n {
		if _, err := db.ExecContext(ctx, `INSERT INTO sessions VALUES (?, ?, 1, 0, 0)`, i, fmt.Sprintf("%036d", i)); err != nil {
			return nil, err
		}
	}
	if p.fence, err = db.PrepareContext(ctx, `UPDATE sessions SET last_seq = last_seq + 1, updated_at = ? WHERE id = ? AND epoch = 1 AND last_seq = ? RETURNING key`); err != nil {
		return nil, err
	}
	p.insert, err = db.PrepareContext(ctx, `INSERT INTO events (session, seq, at, kind, body) VALUES (?, ?, ?, ?, ?)`)
	return p, err
}

func (p *plain) group(ctx context.Context, r *rand.Rand) error {
	tx, err := p.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // after a commit it does nothing
	for i := range p.last {
		e := benchEvent(r)
		body, err := e.Encode()
		if err != nil {
			return err
		}
		var key int64
		if err := tx.StmtContext(ctx, p.fence).QueryRowContext(ctx, e.Time.UnixMicro(), fmt.Sprintf("%036d", i), p.last[i]).Scan(&key); err != nil {
			return err
		}
		p.last[i]++
		if _, err := tx.StmtContext(ctx, p.insert).ExecContext(ctx, key, p.last[i], e.Time.UnixMicro(), string(e.Kind()), body); err != nil {
			return err
		}
	}
	return tx.Commit()
}

func benchLone(ctx context.Context, _ string, s *sqlite.Store, logs []*benchLog) ([]row, error) {
	r := rand.New(rand.NewPCG(3, 4))
	var took []time.Duration
	for range 2000 {
		began := time.Now()
		if err := commit(ctx, s, logs[:1], []terret.Batch{logs[0].batch(benchEvent(r))}); err != nil {
			return nil, err
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	p50, p99 := took[len(took)/2], took[len(took)*99/100]
	return []row{{"append one event, lone writer", fmt.Sprintf("p50 %v, p99 %v", p50.Round(time.Microsecond), p99.Round(10*time.Microsecond)), "p50 0.5 ms"}}, nil
}

// benchFill writes a million events in groups and watches memory.
func benchFill(ctx context.Context, _ string, s *sqlite.Store, logs []*benchLog) ([]row, error) {
	r := rand.New(rand.NewPCG(5, 6))
	var early, late uint64
	began := time.Now()
	for n := 0; n < fillEvents; {
		batches := make([]terret.Batch, 10)
		at := (n / 640 * 10) % len(logs)
		for i := range batches {
			events := make([]terret.Event, 64)
			for j := range events {
				events[j] = benchEvent(r)
			}
			batches[i] = logs[at+i].batch(events...)
		}
		if err := commit(ctx, s, logs[at:at+10], batches); err != nil {
			return nil, err
		}
		n += 640
		if early == 0 && n >= fillEvents/10 {
			early = heap()
		}
	}
	rate := fillEvents / time.Since(began).Seconds()
	late = heap()
	return []row{
		{"append, 64 events of 10 sessions a group", fmt.Sprintf("%.0f events/s", rate), ""},
		{"memory in use after 0.1M and 1M events", fmt.Sprintf("%.1f MB, %.1f MB", float64(early)/1e6, float64(late)/1e6), "flat"},
	}, nil
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse
}

func benchReplay(ctx context.Context, _ string, s *sqlite.Store, logs []*benchLog) ([]row, error) {
	var rates []float64
	for range 5 {
		total := 0
		began := time.Now()
		for _, l := range logs[:20] {
			for after := int64(0); ; {
				page, err := s.Read(ctx, terret.ReadQuery{Session: l.id, After: after, Limit: 4096})
				if err != nil {
					return nil, err
				}
				if len(page) == 0 {
					break
				}
				total += len(page)
				after = page[len(page)-1].Seq
			}
		}
		rates = append(rates, float64(total)/time.Since(began).Seconds())
	}
	return []row{{"replay from disk, one reader, bytes", fmt.Sprintf("%.0f events/s", median(rates)), "450,000 events/s"}}, nil
}
