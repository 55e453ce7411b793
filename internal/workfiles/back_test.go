package workfiles

import (
	"fmt"
	"strings"
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/checkpoint"
)

// numbered is a text of so many lines, with some of them changed.
func numbered(n int, change map[int]string) string {
	var b strings.Builder
	for i := range n {
		if text, ok := change[i]; ok {
			b.WriteString(text)
			continue
		}
		fmt.Fprintf(&b, "line %d\n", i)
	}
	return b.String()
}

// Some hunks of a file are taken back and the others stay, wherever they are: in a
// repository and out of one, at both ends of the file, and without a newline at its end.
func TestBackHunks(t *testing.T) {
	t.Parallel()
	old := numbered(40, map[int]string{39: "the end"})
	first, middle, last := map[int]string{0: "zero\nmore\n"}, map[int]string{20: ""}, map[int]string{39: "line 39\nand on\n"}
	now := numbered(40, map[int]string{0: first[0], 20: middle[20], 39: last[39]})
	for _, c := range []struct {
		hunks []int
		want  string
	}{
		{[]int{0}, numbered(40, map[int]string{20: "", 39: last[39]})},
		{[]int{1}, numbered(40, map[int]string{0: first[0], 39: last[39]})},
		{[]int{2}, numbered(40, map[int]string{0: first[0], 20: "", 39: "the end"})},
		{[]int{2, 0}, numbered(40, map[int]string{20: "", 39: "the end"})},
		{[]int{0, 1, 2}, old},
		{nil, old},
	} {
		for _, crlf := range []bool{false, true} {
			f := newFolder(t)
			f.write("a", old)
			f.sh("git init -q; git add .; git commit -qm one")
			text, want := now, c.want
			if crlf { // as git checks it out where lines end so
				text, want = strings.ReplaceAll(now, "\n", "\r\n"), strings.ReplaceAll(c.want, "\n", "\r\n")
			}
			f.write("a", text)
			list, err := f.Working(t.Context(), "", true)
			if err != nil || len(list.Items) != 1 {
				t.Fatalf("%+v, %v", list, err)
			}
			back, err := f.BackWorking(t.Context(), "", Pick{"a", list.Items[0].State, c.hunks})
			if err != nil {
				t.Fatal(err)
			}
			same(t, fmt.Sprint(c.hunks, crlf), want, string(back.Wanted.Content))
			same(t, "now", text, string(back.Now.Content))
		}
		f := newFolder(t)
		before, after := f.turn(func() { f.write("a", old) }, func() { f.write("a", now) })
		list, err := f.Turn(t.Context(), before, after, true)
		if err != nil || len(list.Items) != 1 {
			t.Fatalf("%+v, %v", list, err)
		}
		pick := Pick{"a", list.Items[0].State, c.hunks}
		back, err := f.BackTurn(t.Context(), before, after, pick)
		if err != nil {
			t.Fatal(err)
		}
		same(t, fmt.Sprint(c.hunks, " of a turn"), c.want, string(back.Wanted.Content))
		back, err = f.BackWorking(t.Context(), before, pick)
		if err != nil {
			t.Fatal(err)
		}
		same(t, fmt.Sprint(c.hunks, " since the start"), c.want, string(back.Wanted.Content))
	}
}

// turn records the folder around a change.
func (f *folder) turn(start, change func()) (before, after string) {
	f.t.Helper()
	repo, err := checkpoint.Open(f.t.Context(), f.home, f.dir, checkpoint.Limits{})
	if err != nil {
		f.t.Fatal(err)
	}
	var ids []string
	for _, do := range []func(){start, change} {
		do()
		s, err := repo.Snapshot(f.t.Context())
		if err != nil {
			f.t.Fatal(err)
		}
		ids = append(ids, string(s.ID))
	}
	return ids[0], ids[1]
}

// Whole files are taken back whatever happened to them; what is not as it was seen, or not
// for us, is refused.
func TestBackFiles(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	for _, p := range []string{"edited", "deleted", "mode", "same", "lfs.bin"} {
		f.write(p, "old\n")
	}
	f.write(".gitignore", "ignored\n")
	f.write(".gitattributes", "*.bin filter=lfs\n")
	f.sh("git init -q; git add .; git commit -qm one; rm deleted; chmod 755 mode; ln -s edited link")
	for _, p := range []string{"edited", "created", "ignored", "lfs.bin"} {
		f.write(p, "new\n")
	}
	list, err := f.Working(t.Context(), "", false)
	if err != nil {
		t.Fatal(err)
	}
	states := map[string]string{}
	for _, c := range list.Items {
		states[c.Path] = c.State
	}
	for path, want := range map[string]*checkpoint.File{
		"edited": {Mode: 0o644, Content: []byte("old\n")}, "deleted": {Mode: 0o644, Content: []byte("old\n")},
		"mode": {Mode: 0o644, Content: []byte("old\n")}, "created": nil, "link": nil,
	} {
		back, err := f.BackWorking(t.Context(), "", Pick{Path: path, State: states[path]})
		if err != nil {
			t.Errorf("%s: %v", path, err)
		}
		same(t, path, want, back.Wanted)
	}
	_, err = f.BackWorking(t.Context(), "", Pick{Path: "lfs.bin", State: states["lfs.bin"]})
	wantKind(t, "a file with a filter", err, terret.CodeUnsupported)
	for _, path := range []string{"same", "ignored", "nowhere", "."} {
		_, err = f.BackWorking(t.Context(), "", Pick{Path: path, State: "x"})
		wantKind(t, path, err, terret.CodeNotFound)
	}
	for _, path := range []string{"../x", "/etc/passwd", ".git/config"} {
		_, err = f.BackWorking(t.Context(), "", Pick{Path: path})
		wantKind(t, path, err, terret.CodeForbidden)
	}
	_, err = f.BackWorking(t.Context(), "", Pick{Path: "edited", State: states["edited"], Hunks: []int{7}})
	wantKind(t, "a hunk that is not there", err, terret.CodeInvalidRequest)
	f.write("edited", "mine\n")
	_, err = f.BackWorking(t.Context(), "", Pick{Path: "edited", State: states["edited"]})
	wantKind(t, "a file that changed meanwhile", err, terret.CodeConflict)
}
