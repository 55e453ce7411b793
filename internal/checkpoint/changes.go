package checkpoint

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/terret-dev/terret/internal/gitcmd"
)

// Kind says what happened to a path.
type Kind string

// The kinds of a Change. A rename is a deletion and a creation.
const (
	Created  Kind = "created"
	Modified Kind = "modified"
	Deleted  Kind = "deleted"
)

// Change is a path that differs between two snapshots.
type Change struct {
	// Path is relative to the folder, with slashes. It is bytes as the file
	// system has them, not always UTF-8.
	Path string
	Kind Kind
	// OldID and NewID are the object ids of the contents; empty where there is nothing.
	OldID, NewID string
	// OldMode and NewMode are 0o644 or 0o755 for files, with fs.ModeSymlink for
	// symbolic links, and 0 where there is nothing.
	OldMode, NewMode fs.FileMode
	// Insertions and Deletions count lines; both are 0 when Binary is set.
	Insertions, Deletions int
	// Binary reports content that is not text, or over 8 MiB.
	Binary bool
}

// delta is a path that differs between two trees.
type delta struct {
	path             string
	old, new         entry
	oldPerm, newPerm fs.FileMode // permission bits of files; 0 if they are not known
}

type entry = gitcmd.Entry

// diffArgs are given to every diff: no program runs, nothing is guessed.
var diffArgs = []string{"diff-tree", "-r", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=all"}

// diffConf bounds the work for one file: larger ones count as binary.
var diffConf = []string{"core.bigFileThreshold=8m"}

// trees returns the trees of two snapshots.
func trees(before, after ID) (a, b string, err error) {
	a, _, errA := before.split()
	b, _, errB := after.split()
	return a, b, errors.Join(errA, errB)
}

// Changes lists the paths that differ between two snapshots, sorted by path. It
// does not look at the folder. ctx bounds the call.
func (r *Repo) Changes(ctx context.Context, before, after ID) ([]Change, error) {
	a, b, err := trees(before, after)
	if err != nil {
		return nil, err
	}
	raw, err := r.git(nil).With(diffConf...).Output(ctx, nil, slices.Concat(diffArgs, []string{"-z", "--raw", "--no-abbrev", "--numstat", a, b, "--"})...)
	if err != nil {
		return nil, fmt.Errorf("changes of %s: %w", r.dir, unknown(err))
	}
	return parseChanges(raw)
}

// parseChanges parses the output of diff-tree -z --raw --numstat: first all raw
// records, then all counts.
func parseChanges(raw []byte) ([]Change, error) {
	var list []Change
	at := map[string]int{}
	records := strings.Split(strings.TrimSuffix(string(raw), "\x00"), "\x00")
	for i := 0; i < len(records); i++ {
		rec := records[i]
		switch {
		case rec == "":
		case strings.HasPrefix(rec, ":") && i+1 < len(records):
			i++
			d, ok, err := parseRaw(rec, records[i])
			if err != nil {
				return nil, err
			}
			if ok {
				at[d.path] = len(list)
				list = append(list, d.change())
			}
		default:
			counts := strings.SplitN(rec, "\t", 3)
			if len(counts) != 3 {
				return nil, fmt.Errorf("read changes: unexpected record %q", rec)
			}
			k, ok := at[counts[2]]
			if !ok {
				continue
			}
			list[k].Binary = counts[0] == "-"
			list[k].Insertions, _ = strconv.Atoi(counts[0]) // "-" for binary
			list[k].Deletions, _ = strconv.Atoi(counts[1])
		}
	}
	slices.SortFunc(list, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	return list, nil
}

func (d delta) change() Change {
	c := Change{Path: d.path, Kind: Modified, OldMode: d.old.FileMode(), NewMode: d.new.FileMode(), OldID: d.old.ID, NewID: d.new.ID}
	switch {
	case d.old == entry{}:
		c.Kind = Created
	case d.new == entry{}:
		c.Kind = Deleted
	}
	return c
}

// parseRaw reads a record of diff-tree. It is not ok for anything but files and symbolic links.
func parseRaw(rec, path string) (d delta, ok bool, err error) {
	d.path = path
	d.old, d.new, err = gitcmd.ParseRaw(rec)
	return d, err == nil && d.old.Plain() && d.new.Plain(), err
}

// deltas lists the paths that differ between two trees.
func (g git) deltas(ctx context.Context, from, to string) ([]delta, error) {
	var list []delta
	meta := ""
	args := slices.Concat(diffArgs, []string{"-z", "--raw", "--no-abbrev", from, to, "--"})
	err := g.Records(ctx, nil, args, func(rec string) error {
		if meta == "" {
			meta = rec
			return nil
		}
		d, ok, err := parseRaw(meta, rec)
		if ok {
			list = append(list, d)
		}
		meta = ""
		return err
	})
	if err != nil {
		return nil, unknown(err)
	}
	return list, nil
}

// maxDiff bounds a diff.
const maxDiff = 32 << 20

// Diff returns the unified diff between two snapshots, of the given paths (files
// or folders) or of all. The paths are literal. It does not look at the folder.
// The error is ErrDiffTooLarge for a diff over 32 MiB. ctx bounds the call.
func (r *Repo) Diff(ctx context.Context, before, after ID, paths ...string) ([]byte, error) {
	a, b, err := trees(before, after)
	if err != nil {
		return nil, err
	}
	if slices.Contains(paths, "") {
		return nil, fmt.Errorf("diff %s: empty path; give no paths for the whole folder", r.dir)
	}
	args := slices.Concat(diffArgs, []string{"--patch", "--src-prefix=a/", "--dst-prefix=b/", a, b, "--"}, paths)
	var out bytes.Buffer
	err = r.git(nil).With(diffConf...).Stream(ctx, nil, args, func(in *bufio.Reader) error {
		n, err := out.ReadFrom(io.LimitReader(in, maxDiff+1))
		if err == nil && n > maxDiff {
			return ErrDiffTooLarge
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("diff %s: %w", r.dir, unknown(err))
	}
	return out.Bytes(), nil
}
