package checkpoint

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func (f *folder) force(from, to Snapshot) Result {
	f.t.Helper()
	res, err := f.Restore(f.t.Context(), from.ID, to.ID, RestoreOptions{Force: true, For: "a turn"})
	if err != nil {
		f.t.Fatal(err)
	}
	return res
}

func (f *folder) copyList() []Copy {
	f.t.Helper()
	list, err := f.Copies(f.t.Context())
	if err != nil {
		f.t.Fatal(err)
	}
	return list
}

// What a forced undo overwrites can be had back, byte for byte and with its permission
// bits: edits, links, files in the way of folders, and what git ignores.
func TestForcedUndoKeepsCopy(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.write("a", "a0")
	f.write("link", "l0")
	f.write("d/x", "x0")
	f.write("d/y", "y0")
	f.write("same", "s0")
	before := f.snapshot()
	for _, p := range []string{"a", "link", "d/x", "d/y", "same", "new"} {
		f.write(p, "by the turn")
	}
	after := f.snapshot()
	f.write("a", "mine")
	f.sh(`chmod 640 a; rm -r d; echo file > d; rm link; ln -s nowhere link; echo edited >> new`)
	f.write(".gitignore", "new\n")
	mine := contents(t, f.dir)

	res := f.force(after, before)
	if f.read("a") != "a0" || f.read("d/x") != "x0" || exists(f.path("new")) || res.Copy == "" {
		t.Fatalf("%+v, %v", res, contents(t, f.dir))
	}
	list := f.copyList()
	if len(list) != 1 || list[0].ID != res.Copy || list[0].For != "a turn" || time.Since(list[0].Time).Abs() > time.Hour {
		t.Fatalf("copies %+v", list)
	}
	if d := cmp.Diff([]CopiedFile{{"a", 4}, {"d", 5}, {"link", 7}, {"new", 18}}, list[0].Files); d != "" {
		t.Errorf("copied (-want +got):\n%s", d)
	}
	f.write("a", "mine again")
	_, err := f.RestoreCopy(t.Context(), res.Copy, RestoreOptions{})
	if conflict, ok := errors.AsType[*ConflictError](err); !ok || !cmp.Equal(conflict.Paths, []string{"a", "d"}) {
		t.Errorf("a file that changed since: %v", err)
	}
	f.remove("d")
	back, err := f.RestoreCopy(t.Context(), res.Copy, RestoreOptions{Force: true})
	if err != nil || back.Copy == "" {
		t.Fatalf("%+v, %v", back, err)
	}
	mine["same"] = contents(t, f.dir)["same"] // as undo left it
	wantState(t, "after the copy came back", mine, contents(t, f.dir))
	if _, err := f.RestoreCopy(t.Context(), back.Copy, RestoreOptions{}); err != nil || f.read("a") != "mine again" {
		t.Errorf("%v: %q", err, f.read("a"))
	}
	for _, id := range []string{"", "../x", "20200101-000000.000-aaaaaa"} {
		if _, err := f.RestoreCopy(t.Context(), id, RestoreOptions{}); !errors.Is(err, ErrUnknownCopy) {
			t.Errorf("copy %q: %v", id, err)
		}
	}
}

// Where nobody's work is overwritten, there is nothing to copy.
func TestNoCopy(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.write("a", "1")
	before := f.snapshot()
	f.write("a", "2")
	after := f.snapshot()
	if res := f.force(after, before); res.Copy != "" || len(f.copyList()) != 0 {
		t.Errorf("%+v, %v", res, f.copyList())
	}
	f.remove("a")
	if res := f.force(before, after); res.Copy != "" || f.read("a") != "2" {
		t.Errorf("%+v", res)
	}
}

// Without a copy, nothing is overwritten.
func TestCopyTooLarge(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.write("a", "1")
	before := f.snapshot()
	f.write("a", "2")
	after := f.snapshot()
	if err := os.Truncate(f.path("a"), maxCopyBytes+1); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Restore(t.Context(), after.ID, before.ID, RestoreOptions{Force: true}); err == nil || len(f.copyList()) != 0 {
		t.Errorf("it was overwritten: %v", err)
	}
	if info, err := os.Stat(f.path("a")); err != nil || info.Size() != maxCopyBytes+1 {
		t.Errorf("%v, %v", info, err)
	}
}

func TestCopiesAreBounded(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.write("a", "1")
	before := f.snapshot()
	f.write("a", "2")
	after := f.snapshot()
	f.write("a", "mine")
	newest := f.force(after, before).Copy
	plant := func(age time.Duration, n int, bytes int64) string {
		id := fmt.Sprintf("%s-aaaa%02d", time.Now().Add(-age).UTC().Format(copyTime), n)
		id = id[:len(id)-2] + string([]byte{'a' + byte(n/20), 'a' + byte(n%20)})
		dir := filepath.Join(f.copies(), id)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		raw := fmt.Sprintf(`{"files":[{"path":"YQ==","bytes":%d}]}`, bytes)
		if err := os.WriteFile(filepath.Join(dir, "manifest.json"), []byte(raw), 0o600); err != nil {
			t.Fatal(err)
		}
		return id
	}
	recent := plant(time.Hour, 0, 1)
	plant(maxCopyAge+time.Hour, 1, 1)
	ids := func() (list []string) {
		for _, c := range f.copyList() {
			list = append(list, c.ID)
		}
		return list
	}
	if d := cmp.Diff([]string{newest, recent}, ids()); d != "" {
		t.Errorf("by age (-want +got):\n%s", d)
	}
	for i := range maxCopies + 5 {
		plant(2*time.Hour, i, 1)
	}
	f.pruneCopies(time.Now())
	if list := ids(); len(list) != maxCopies || list[0] != newest || list[1] != recent {
		t.Errorf("by number: %v", list)
	}
	plant(0, 1, maxCopyBytes-4)
	f.pruneCopies(time.Now())
	if list := ids(); len(list) != 2 || list[1] != newest {
		t.Errorf("by bytes: %v", list)
	}
}

// Undo says what it does not take back.
func TestUncovered(t *testing.T) {
	t.Parallel()
	f := openFolder(t, t.TempDir(), t.TempDir(), Limits{MaxFileBytes: 100})
	f.sh(`git init -q .; printf '.env\nold.env\nbuild/\nidle/\n.terret/\n' > .gitignore; mkdir build idle; echo 1 > idle/a; echo 1 > .env; echo 1 > old.env
		head -c 200 /dev/zero > big; head -c 200 /dev/zero > still; head -c 200 /dev/zero > gone; echo 1 > a
		mkdir hollow; mkfifo pipe
		find . -exec touch -h -d '2020-01-01 00:00' {} +`)
	before := f.snapshot()
	started := time.Now()
	f.sh(`echo 2 > a; echo 2 > .env; echo 2 > build/out; mkdir .terret; echo 2 > .terret/log; echo more >> big; rm gone; head -c 300 /dev/zero > made; mkdir -p new/hollow; mkfifo new/pipe build/pipe; git add a; git commit -qm a`)
	after := f.snapshot()
	got, err := f.Uncovered(t.Context(), before.ID, after.ID, started)
	if err != nil {
		t.Fatal(err)
	}
	want := []LeftOut{
		{".env", "git ignores it"},
		{".git", "commits, branches and settings of git stay as they are"},
		{"big", "it is over 100 bytes"},
		{"build/", "git ignores it"},
		{"gone", "it is gone, and it is over 100 bytes"},
		{"made", "it is over 100 bytes"},
		{"new/hollow/", "empty folders are not recorded"},
		{"new/pipe", "it is a pipe, a socket or a device"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	f.restore(after, before)
	if got, err := f.Uncovered(t.Context(), after.ID, after.ID, time.Now().Add(time.Hour)); err != nil || len(got) > 0 {
		t.Errorf("nothing happened: %v, %v", got, err)
	}
}
