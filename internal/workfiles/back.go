package workfiles

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/checkpoint"
)

// Back is what takes the change of a file back: the file as it is and as it was. Nil is
// no file.
type Back struct {
	Path        string
	Now, Wanted *checkpoint.File
}

// Lines says how many lines are inserted and deleted. Of what is no text it knows nothing.
func (b Back) Lines() (insertions, deletions int) {
	text := func(f *checkpoint.File) string {
		if f == nil {
			return ""
		}
		return string(f.Content)
	}
	from, to := text(b.Now), text(b.Wanted)
	if isBinary([]byte(from)) || isBinary([]byte(to)) || strings.Count(from, "\n")+strings.Count(to, "\n") > maxDiffLines {
		return 0, 0
	}
	_, insertions, deletions = unified(Change{Path: b.Path, Kind: Modified}, from, to)
	return insertions, deletions
}

// Pick says which change to take back.
type Pick struct {
	Path string
	// State is Change.State as the caller saw it; empty takes whatever the change is now.
	State string
	// Hunks are those of Change.Diff to take back, counted from 0; none means all of it.
	Hunks []int
}

// stateOf names a change: another content or mode on either side is another state.
func stateOf(old, now entry) string {
	sum := sha256.Sum256([]byte(old.Mode + " " + old.ID + " " + now.Mode + " " + now.ID))
	return hex.EncodeToString(sum[:12])
}

// BackWorking plans to take back a change that Working lists. The folder is not changed.
// A change that is no longer as the caller saw it is a conflict.
func (f *Folder) BackWorking(ctx context.Context, first string, pick Pick) (Back, error) {
	rel, err := f.changed(pick.Path)
	if err != nil {
		return Back{}, err
	}
	pick.Path = rel
	if repo, ok := f.repository(); ok {
		back, err := f.backToHead(ctx, repo, pick)
		if !errors.Is(err, errIgnoredFolder) {
			return back, err
		}
	}
	if first == "" {
		return Back{}, errNothingToCompare
	}
	shadow, err := f.shadow(ctx)
	if err != nil {
		return Back{}, err
	}
	now, err := shadow.Snapshot(ctx)
	if err != nil {
		return Back{}, shadowError(err)
	}
	return backBetween(ctx, shadow, checkpoint.ID(first), now.ID, pick)
}

// BackTurn plans to take back a change that Turn lists. The caller that carries the plan
// out checks that the file is still as the turn left it.
func (f *Folder) BackTurn(ctx context.Context, before, after string, pick Pick) (Back, error) {
	rel, err := f.changed(pick.Path)
	if err != nil {
		return Back{}, err
	}
	pick.Path = rel
	if before == "" || after == "" {
		return Back{}, terret.Errorf(terret.CodeUnsupported, "the folder was not recorded around this turn, so its changes are unknown")
	}
	shadow, err := f.shadow(ctx)
	if err != nil {
		return Back{}, err
	}
	return backBetween(ctx, shadow, checkpoint.ID(before), checkpoint.ID(after), pick)
}

// changed checks the path of a change.
func (f *Folder) changed(p string) (string, error) {
	rel, err := local(p)
	if err == nil && f.secret(rel) {
		err = notShown(rel)
	}
	return rel, err
}

func noChange(rel string) error {
	return terret.Errorf(terret.CodeNotFound, "%s has not changed, so there is nothing to take back", rel)
}

func changedMeanwhile(rel string) error {
	return terret.Errorf(terret.CodeConflict, "%s has changed since you looked at it, so nothing was touched; look at it again", rel)
}

func backBetween(ctx context.Context, shadow *checkpoint.Repo, before, after checkpoint.ID, pick Pick) (Back, error) {
	found, err := shadow.Changes(ctx, before, after)
	if err != nil {
		return Back{}, shadowError(err)
	}
	at := slices.IndexFunc(found, func(c checkpoint.Change) bool { return c.Path == pick.Path })
	if at < 0 {
		return Back{}, noChange(pick.Path)
	}
	if pick.State != "" && pick.State != shadowState(found[at]) {
		return Back{}, changedMeanwhile(pick.Path)
	}
	was, errWas := shadow.File(ctx, before, pick.Path)
	now, errNow := shadow.File(ctx, after, pick.Path)
	if err := errors.Join(errWas, errNow); err != nil {
		return Back{}, largeError(pick.Path, shadowError(err))
	}
	back := Back{pick.Path, now, was}
	if len(pick.Hunks) == 0 {
		return back, nil
	}
	diff, err := shadow.Diff(ctx, before, after, pick.Path)
	if err != nil {
		return Back{}, shadowError(err)
	}
	err = back.only(hunksOf(string(diff)), pick.Hunks)
	return back, err
}

func largeError(rel string, err error) error {
	if errors.Is(err, checkpoint.ErrFileTooLarge) {
		return terret.Errorf(terret.CodeUnsupported, "%s is over 64 MiB; take it back with git", rel)
	}
	return err
}

func shadowState(c checkpoint.Change) string {
	return stateOf(entry{Mode: c.OldMode.String(), ID: c.OldID}, entry{Mode: c.NewMode.String(), ID: c.NewID})
}

// backToHead plans to take a file back to the commit that is checked out.
func (f *Folder) backToHead(ctx context.Context, repo repository, pick Pick) (Back, error) {
	head, err := repo.head()
	if err != nil {
		return Back{}, terret.Errorf(terret.CodeUnsupported, "the git repository cannot be read: %w", err)
	}
	if head == "" {
		head = emptyTree
	}
	g, done, err := f.openGit(ctx, repo, head)
	if err != nil {
		return Back{}, err
	}
	defer done()
	if repo.Top != f.dir && g.ignores(ctx, ".") {
		return Back{}, errIgnoredFolder
	}
	old, err := g.committed(ctx, head, pick.Path)
	if err != nil {
		return Back{}, repoError(ctx, err)
	}
	seen, err := f.present(ctx, pick.Path, len(head))
	switch {
	case err != nil:
		return Back{}, err
	case old == seen.entry, old == entry{} && g.ignores(ctx, pick.Path):
		return Back{}, noChange(pick.Path)
	case pick.State != "" && pick.State != stateOf(old, seen.entry):
		return Back{}, changedMeanwhile(pick.Path)
	}
	if name, err := g.filtered(ctx, pick.Path); err != nil {
		return Back{}, repoError(ctx, err)
	} else if name != "" {
		return Back{}, terret.Errorf(terret.CodeUnsupported, "%s is stored by git in another form (%s in .gitattributes), which only git can bring back: use git restore", pick.Path, name)
	}
	was, err := g.object(ctx, pick.Path, old)
	if err != nil {
		return Back{}, repoError(ctx, err)
	}
	now, err := f.whole(ctx, pick.Path, seen)
	if err != nil {
		return Back{}, err
	}
	return toHead(pick, was, now)
}

// toHead compares the sides as change does, and keeps the line endings of the folder.
func toHead(pick Pick, was, now *checkpoint.File) (Back, error) {
	back := Back{pick.Path, now, was}
	crlf := was != nil && now != nil && converts(was.Content, now.Content)
	if crlf {
		back.Now = &checkpoint.File{Mode: now.Mode, Content: bytes.ReplaceAll(now.Content, []byte("\r\n"), []byte("\n"))}
	}
	if len(pick.Hunks) > 0 {
		c := Change{Path: pick.Path, Kind: Modified}
		diff, _, _ := unified(c, text(was), text(back.Now))
		if err := back.only(hunksOf(diff), pick.Hunks); err != nil {
			return Back{}, err
		}
	}
	if crlf {
		back.Now = now
		back.Wanted = &checkpoint.File{Mode: back.Wanted.Mode, Content: bytes.ReplaceAll(back.Wanted.Content, []byte("\n"), []byte("\r\n"))}
	}
	return back, nil
}

func text(f *checkpoint.File) string {
	if f == nil {
		return ""
	}
	return string(f.Content)
}

// committed returns what a commit has at a path.
func (g *git) committed(ctx context.Context, head, rel string) (at entry, err error) {
	err = g.records(ctx, nil, []string{"ls-tree", "-z", head, "--", rel}, func(rec string) error {
		meta, p, _ := strings.Cut(rec, "\t")
		if f := strings.Fields(meta); p == rel && len(f) == 3 && f[1] == "blob" {
			at = entry{Mode: f[0], ID: f[2]}
		}
		return nil
	})
	return at, err
}

// filtered names the attribute by which git stores a file in another form than the folder
// has it, if there is one.
func (g *git) filtered(ctx context.Context, rel string) (name string, err error) {
	var record []string
	err = g.records(ctx, []byte(rel+"\x00"), []string{"check-attr", "-z", "--stdin", "filter", "working-tree-encoding", "ident"}, func(rec string) error {
		if record = append(record, rec); len(record) == 3 {
			if v := record[2]; v != "unspecified" && v != "unset" {
				name = record[1]
			}
			record = nil
		}
		return nil
	})
	return name, err
}

// object reads what a commit has. The zero entry is nil.
func (g *git) object(ctx context.Context, rel string, at entry) (*checkpoint.File, error) {
	if at == (entry{}) {
		return nil, nil
	}
	var content []byte
	size, err := g.Output(ctx, nil, "cat-file", "-s", at.ID)
	if err != nil {
		return nil, err
	}
	if n, err := strconv.ParseInt(strings.TrimSpace(string(size)), 10, 64); err != nil || n > checkpoint.MaxReplace {
		return nil, largeError(rel, errors.Join(err, checkpoint.ErrFileTooLarge))
	}
	if content, err = g.Output(ctx, nil, "cat-file", "blob", at.ID); err != nil {
		return nil, err
	}
	return &checkpoint.File{Mode: at.FileMode(), Content: content}, nil
}

// whole returns the file at a path, which was just seen.
func (f *Folder) whole(ctx context.Context, rel string, seen present) (*checkpoint.File, error) {
	if seen.entry == (entry{}) {
		return nil, nil
	}
	out := &checkpoint.File{Mode: seen.FileMode(), Content: seen.content}
	if seen.whole {
		return out, nil
	}
	if info, err := f.root.Lstat(filepath.FromSlash(rel)); err != nil || info.Mode().Type() != fs.FileMode(0) || info.Size() > checkpoint.MaxReplace {
		return nil, largeError(rel, errors.Join(err, checkpoint.ErrFileTooLarge))
	}
	file, _, err := f.open(rel)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	out.Content, err = readUpTo(ctx, file, checkpoint.MaxReplace)
	return out, err
}

// hunk is a range of lines, counted from 0, on both sides of a diff.
type hunk struct{ old, oldLines, now, nowLines int }

// hunksOf reads the heads of the hunks of a unified diff of one file.
func hunksOf(diff string) []hunk {
	var list []hunk
	for line := range strings.Lines(diff) {
		f := strings.Fields(line)
		if !strings.HasPrefix(line, "@@ -") || len(f) < 3 {
			continue
		}
		var h hunk
		h.old, h.oldLines = lines(f[1])
		h.now, h.nowLines = lines(f[2])
		list = append(list, h)
	}
	return list
}

// lines parses "-3,2": from the third line, two. One that has no lines stands after the
// line that it names.
func lines(s string) (first, count int) {
	a, b, ok := strings.Cut(s[1:], ",")
	first, _ = strconv.Atoi(a)
	count = 1
	if ok {
		count, _ = strconv.Atoi(b)
	}
	if count > 0 {
		first--
	}
	return first, count
}

// only makes the plan take back only those of the hunks, and leave the others. All of them
// are the whole change.
func (b *Back) only(all []hunk, chosen []int) error {
	take := map[int]bool{}
	for _, i := range chosen {
		if i < 0 || i >= len(all) {
			return terret.Invalid("hunks", "%s has %d hunks, and %d is none of them; they are counted from 0", b.Path, len(all), i)
		}
		take[i] = true
	}
	if len(take) == len(all) {
		return nil
	}
	was, now := slices.Collect(strings.Lines(text(b.Wanted))), slices.Collect(strings.Lines(text(b.Now)))
	var out strings.Builder
	at := 0
	for i, h := range all {
		if !take[i] {
			continue
		}
		if h.now < at || h.now+h.nowLines > len(now) || h.old < 0 || h.old+h.oldLines > len(was) {
			return fmt.Errorf("hunk %d does not fit %s", i, b.Path)
		}
		out.WriteString(strings.Join(now[at:h.now], ""))
		out.WriteString(strings.Join(was[h.old:h.old+h.oldLines], ""))
		at = h.now + h.nowLines
	}
	out.WriteString(strings.Join(now[at:], ""))
	file := checkpoint.File{Mode: 0o644, Content: []byte(out.String())}
	if b.Now != nil {
		file.Mode, file.Perm = b.Now.Mode, b.Now.Perm
	}
	b.Wanted = &file
	return nil
}
