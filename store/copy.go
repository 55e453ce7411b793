package store

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"strings"

	"github.com/terret-dev/terret"
)

// Table is a table that all SQL stores have.
type Table struct {
	Name    string
	Columns []string
	Bools   []string // columns that are booleans where there are such
	Order   string
}

// Tables lists what a copy of a store holds, in the order in which it is written. Owners
// are left out: nobody owns a session of a copy.
var Tables = []Table{
	{Name: "sessions", Order: "key", Bools: []string{"one_shot", "can_undo", "can_redo", "deleted"}, Columns: strings.Fields(`key id agent native_id title cwd persona mode model policy permission_mode
		one_shot state turn created_at updated_at epoch last_seq cursor input output cache_read cache_write reasoning cost checkpoint_id can_undo can_redo forked_from handed_to options deleted`)},
	{Name: "blobs", Order: "hash", Columns: []string{"hash", "body"}},
	{Name: "events", Order: "pos", Columns: strings.Fields("pos session seq at kind body blob raw raw_blob")},
	{Name: "turns", Order: "id", Bools: []string{"changed"}, Columns: strings.Fields(`id session state origin start_seq end_seq started_at ended_at
		input output cache_read cache_write reasoning cost before after changed undone`)},
	{Name: "requests", Order: "id", Bools: []string{"delivered"}, Columns: strings.Fields("id session turn seq epoch gate state created_at expires_at decision delivered")},
	{Name: "inbox", Order: "id", Columns: strings.Fields("id session kind body sender at place state")},
	{Name: "rules", Order: "id", Columns: strings.Fields("id effect pattern scope session made_by made_at hits")},
	{Name: "usage_days", Order: "day, agent, model, cwd", Columns: strings.Fields("day agent model cwd turns input output cache_read cache_write reasoning cost")},
}

// Select reads all rows of the table.
func (t *Table) Select() string {
	return `SELECT ` + strings.Join(t.Columns, ", ") + ` FROM ` + t.Name + ` ORDER BY ` + t.Order
}

// Copyable is a store that can be copied, and be a copy. A value of a row is nil, an
// int64, a string, or bytes that are not empty.
type Copyable interface {
	// Dump calls fn with all rows of all Tables, in order, as they were at one moment.
	Dump(ctx context.Context, fn func(t *Table, row []any) error) error
	// BeginCopy refuses a store that is not empty. It remembers that a copy has begun; if
	// one was not finished, it refuses too unless restart says to empty the store.
	BeginCopy(ctx context.Context, restart bool) error
	// Fill adds rows, all or none of them.
	Fill(ctx context.Context, t *Table, rows [][]any) error
	// EndCopy completes a copy: positions go on after lastPos, and sessions belong to the
	// node, if there are nodes.
	EndCopy(ctx context.Context, lastPos int64, node string) error
}

// NotEmpty refuses to copy into a store.
func NotEmpty(name string) error {
	return terret.Errorf(terret.CodeConflict, "%s is not empty; copy to a new one, so that nothing is mixed up", name)
}

// Unfinished refuses to copy into what an interrupted copy left.
func Unfinished(name string) error {
	return terret.Errorf(terret.CodeConflict, "an earlier copy to %s was not finished; run the command again with --restart, which empties it and begins again", name)
}

const (
	copyRows  = 1000
	copyBytes = 4 << 20
)

// Copy copies everything from one store to another, and then compares what both hold.
// Progress, if not nil, is called from time to time.
func Copy(ctx context.Context, from, to Copyable, lastPos int64, node string, restart bool, progress func(table string, rows int64)) error {
	if progress == nil {
		progress = func(string, int64) {}
	}
	if err := to.BeginCopy(ctx, restart); err != nil {
		return err
	}
	want := newSums()
	var rows [][]any
	var size int
	var of *Table
	flush := func() error {
		if len(rows) == 0 {
			return nil
		}
		err := to.Fill(ctx, of, rows)
		progress(of.Name, want.count[of.Name])
		rows, size = nil, 0
		return err
	}
	err := from.Dump(ctx, func(t *Table, row []any) error {
		if of != nil && of.Name != t.Name || len(rows) >= copyRows || size >= copyBytes {
			if err := flush(); err != nil {
				return err
			}
		}
		of = t
		size += want.add(t, row)
		rows = append(rows, row)
		return nil
	})
	if err == nil {
		err = flush()
	}
	if err != nil {
		return err
	}
	got := newSums()
	err = to.Dump(ctx, func(t *Table, row []any) error {
		got.add(t, row)
		return nil
	})
	if err == nil {
		err = want.compare(got)
	}
	if err != nil {
		return err
	}
	return to.EndCopy(ctx, lastPos, node)
}

// sums are hashes of tables.
type sums struct {
	hash  map[string]hash.Hash
	count map[string]int64
}

func newSums() sums { return sums{map[string]hash.Hash{}, map[string]int64{}} }

// add adds a row, and returns its size.
func (s sums) add(t *Table, row []any) (size int) {
	h := s.hash[t.Name]
	if h == nil {
		h = sha256.New()
		s.hash[t.Name] = h
	}
	s.count[t.Name]++
	var line []byte
	for _, value := range row {
		switch v := value.(type) {
		case nil:
			line = append(line, 0)
		case int64:
			line = binary.BigEndian.AppendUint64(append(line, 1), uint64(v)) // its bits
		case string:
			line = append(binary.BigEndian.AppendUint64(append(line, 2), uint64(len(v))), v...)
		case []byte:
			line = append(binary.BigEndian.AppendUint64(append(line, 3), uint64(len(v))), v...)
		default:
			line = fmt.Appendf(append(line, 4), "%T", v)
		}
	}
	_, _ = h.Write(line) // never fails
	return len(line)
}

// compare refuses a copy that differs.
func (s sums) compare(copied sums) error {
	for _, t := range Tables {
		a, b := s.hash[t.Name], copied.hash[t.Name]
		if a == nil && b == nil {
			continue
		}
		if a == nil || b == nil || string(a.Sum(nil)) != string(b.Sum(nil)) {
			return terret.Errorf(terret.CodeInternal, "the copy of the table %s (%d rows) differs from the original (%d rows); run the command again with --restart", t.Name, copied.count[t.Name], s.count[t.Name])
		}
	}
	return nil
}
