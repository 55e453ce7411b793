package workfiles

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/checkpoint"
)

// Kind says what happened to a path.
type Kind string

// The kinds. A rename is a deletion and a creation.
const (
	Created  Kind = "created"
	Modified Kind = "modified"
	Deleted  Kind = "deleted"
)

// Change is a path that has changed.
type Change struct {
	Path string `json:"path"` // from the session's folder, with slashes
	Kind Kind   `json:"change"`
	// Insertions and Deletions count lines.
	Insertions int    `json:"insertions"`
	Deletions  int    `json:"deletions"`
	Binary     bool   `json:"binary,omitempty"`
	OldMode    string `json:"old_mode,omitempty"` // 644, 755 or link, if it changed
	NewMode    string `json:"new_mode,omitempty"`
	// Diff is a unified diff, if diffs were asked for, the file is text, and
	// neither it nor all of them together are too large.
	Diff     string `json:"diff,omitempty"`
	TooLarge bool   `json:"too_large,omitempty"` // for a diff
	// By is another session that worked in the folder during the turn and may have made this
	// change; undoing the turn leaves it.
	By string `json:"by,omitempty" doc:"Another session that worked in the folder during the turn, and may have made this change: undoing the turn leaves it."`
	// State names what the file was and is: it differs if either does.
	State string `json:"state"`
	// NowMode and NowID are the file as git would record it, if Working compared it with
	// a commit: no mode is no file, and no id is one that is too large to tell.
	NowMode string `json:"-"`
	NowID   string `json:"-"`
}

// Changes are what has changed, sorted by path.
type Changes struct {
	// Since is what the folder is compared with: head (the commit that is checked
	// out), start (the folder as it was before the session's first turn) or turn
	// (the folder before a turn with the folder after it).
	Since      string   `json:"since"`
	Head       string   `json:"-"` // the commit that was checked out, if Since is head and there is one
	Items      []Change `json:"items"`
	Insertions int      `json:"insertions"`
	Deletions  int      `json:"deletions"`
	Truncated  bool     `json:"truncated,omitempty"` // more has changed
}

// Limits of changes.
const (
	maxChanges   = 2000
	maxDiffInput = 2 << 20 // bytes of one file that is compared
	maxDiffLines = 40_000  // lines of both its sides; a diff of very many takes long
	maxAllLines  = 400_000 // of all files
	maxDiff      = 256 << 10
	maxAllDiffs  = 8 << 20
)

var errNothingToCompare = terret.Errorf(terret.CodeUnsupported, "the folder is not in a git repository and no turn has been recorded here, so there is nothing to compare with")

// Working returns what has changed in the folder: since the commit that is
// checked out, if the folder is in a git repository, or else since first, the
// snapshot before the session's first turn, which may be empty. The error is
// unsupported, with the reason, if there is nothing to compare with.
func (f *Folder) Working(ctx context.Context, first string, diffs bool) (Changes, error) {
	if repo, ok := f.repository(); ok {
		changes, err := f.sinceHead(ctx, repo, diffs)
		if !errors.Is(err, errIgnoredFolder) {
			return changes, err
		}
	}
	if first == "" {
		return Changes{}, errNothingToCompare
	}
	shadow, err := f.shadow(ctx)
	if err != nil {
		return Changes{}, err
	}
	now, err := shadow.Snapshot(ctx)
	if err != nil {
		return Changes{}, shadowError(err)
	}
	changes, err := between(ctx, shadow, checkpoint.ID(first), now.ID, diffs)
	changes.Since = "start"
	return changes, err
}

// Turn returns what changed between two snapshots: those before and after a turn.
// It does not look at the folder as it is now.
func (f *Folder) Turn(ctx context.Context, before, after string, diffs bool) (Changes, error) {
	if before == "" || after == "" {
		return Changes{}, terret.Errorf(terret.CodeUnsupported, "the folder was not recorded around this turn, so its changes are unknown")
	}
	shadow, err := f.shadow(ctx)
	if err != nil {
		return Changes{}, err
	}
	return between(ctx, shadow, checkpoint.ID(before), checkpoint.ID(after), diffs)
}

func (f *Folder) shadow(ctx context.Context) (*checkpoint.Repo, error) {
	if f.home.path == "" {
		return nil, terret.Errorf(terret.CodeUnsupported, "there is no data folder, so nothing was recorded")
	}
	repo, err := checkpoint.Open(ctx, f.home.path, f.dir, checkpoint.Limits{})
	return repo, shadowError(err)
}

// shadowError gives errors of package checkpoint their kinds.
func shadowError(err error) error {
	if off, ok := errors.AsType[*checkpoint.DisabledError](err); ok {
		return terret.Errorf(terret.CodeUnsupported, "changes are not recorded here: %w", off)
	}
	switch {
	case errors.Is(err, checkpoint.ErrUnknownSnapshot):
		return terret.Errorf(terret.CodeNotFound, "the recorded state of the folder is gone: %w", err)
	case errors.Is(err, checkpoint.ErrBusy):
		return terret.Errorf(terret.CodeConflict, "%w; try again", err)
	}
	return err
}

func between(ctx context.Context, shadow *checkpoint.Repo, before, after checkpoint.ID, diffs bool) (Changes, error) {
	found, err := shadow.Changes(ctx, before, after)
	if err != nil {
		return Changes{}, shadowError(err)
	}
	out := Changes{Since: "turn", Items: []Change{}}
	var texts []string
	if diffs && len(found) > 0 {
		if texts, err = snapshotDiffs(ctx, shadow, before, after, len(found)); err != nil {
			return Changes{}, shadowError(err)
		}
	}
	for i, c := range found {
		if hidden(c.Path) {
			continue
		}
		one := Change{
			Path: valid(c.Path), Kind: Kind(c.Kind), Insertions: c.Insertions, Deletions: c.Deletions, Binary: c.Binary, State: shadowState(c),
		}
		if c.OldMode != c.NewMode && c.Kind == checkpoint.Modified {
			one.OldMode, one.NewMode = modeName(c.OldMode), modeName(c.NewMode)
		}
		if diffs && !c.Binary {
			if texts != nil {
				one.Diff = valid(texts[i])
			}
			one.TooLarge = texts == nil || len(one.Diff) > maxDiff
		}
		out.add(one)
	}
	return out.bounded(), nil
}

// snapshotDiffs returns the diffs of all paths that differ between two snapshots,
// in the order of the paths' bytes, as Changes has them; or nil if they are too
// large.
func snapshotDiffs(ctx context.Context, shadow *checkpoint.Repo, before, after checkpoint.ID, count int) ([]string, error) {
	raw, err := shadow.Diff(ctx, before, after)
	if errors.Is(err, checkpoint.ErrDiffTooLarge) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	parts := splitPatch(string(raw))
	if len(parts) != count {
		return nil, nil // no diff is better than that of another file
	}
	return parts, nil
}

// splitPatch splits a patch into those of each file. Only they begin with such a
// line: all others of a file begin with a space, a sign, an @ or a backslash, or
// are of the few other kinds of its head.
func splitPatch(patch string) []string {
	const head = "diff --git "
	var parts []string
	for strings.HasPrefix(patch, head) {
		end := strings.Index(patch, "\n"+head) + 1
		if end == 0 {
			end = len(patch)
		}
		parts = append(parts, patch[:end])
		patch = patch[end:]
	}
	return parts
}

func modeName(m fs.FileMode) string {
	switch {
	case m == 0:
		return ""
	case m&fs.ModeSymlink != 0:
		return "link"
	case m&0o111 != 0:
		return "755"
	}
	return "644"
}

func (c *Changes) add(one Change) {
	c.Items = append(c.Items, one)
	c.Insertions += one.Insertions
	c.Deletions += one.Deletions
}

// bounded sorts the changes and drops what is too much.
func (c Changes) bounded() Changes {
	slices.SortFunc(c.Items, func(a, b Change) int { return cmp.Compare(a.Path, b.Path) })
	if len(c.Items) > maxChanges {
		c.Items, c.Truncated = c.Items[:maxChanges], true
	}
	all := 0
	for i := range c.Items {
		one := &c.Items[i]
		if one.TooLarge || all+len(one.Diff) > maxAllDiffs {
			one.Diff, one.TooLarge = "", true
		}
		all += len(one.Diff)
	}
	return c
}
