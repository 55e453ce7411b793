package workfiles

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/terret-dev/terret"
)

func TestList(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.write("b.go", "package b\n")
	f.write("a dir/x", "1")
	f.write("Z/y", "1")
	f.write(".terret/config.jsonc", "{}")
	f.write(".terret/logs/harness.log", "x")
	f.write(".git/config", "x")
	f.symlink("b.go", "link")
	f.symlink("a dir", "linkdir")
	f.symlink("/etc", "out")
	f.symlink("gone", "broken")
	list, err := f.List(t.Context(), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "the folder", []string{
		"dir .terret", "dir Z", "dir a dir", "dir linkdir link", "file b.go", "other broken link", "file link link", "other out link",
	}, names(list))
	if list.Path != "" || list.Items[4].Size != 10 || list.Items[4].ModifiedAt.IsZero() {
		t.Errorf("%+v", list)
	}
	list, err = f.List(t.Context(), "./a dir/", nil)
	if err != nil || list.Path != "a dir" {
		t.Fatal(list, err)
	}
	same(t, "a folder in it", []string{"file a dir/x"}, names(list))
	list, err = f.List(t.Context(), ".terret", nil)
	if err != nil {
		t.Fatal(err)
	}
	same(t, ".terret", []string{"file .terret/config.jsonc"}, names(list))
	_, err = f.List(t.Context(), "b.go", nil)
	wantKind(t, "a file", err, terret.CodeInvalidRequest)
	_, err = f.List(t.Context(), "nope", nil)
	wantKind(t, "nothing", err, terret.CodeNotFound)
}

func TestListMarks(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.write(".gitignore", "*.log\nbuild/\n")
	f.write("a.go", "1\n")
	f.write("sub/deep/b.go", "1\n")
	f.write("gone.go", "1\n")
	f.sh("git init -q . && git add . && git commit -qm 1")
	f.write("x.log", "")
	f.write("build/out", "")
	f.write("sub/deep/b.go", "2\n")
	f.write("new.go", "")
	if err := os.Remove(f.path("gone.go")); err != nil {
		t.Fatal(err)
	}
	changes, err := f.Working(t.Context(), "", false)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range changes.Items {
		if c.Diff != "" {
			t.Errorf("a diff that nobody asked for: %+v", c)
		}
	}
	list, err := f.List(t.Context(), "", changes.Items)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "marks", []string{
		"dir build ignored", "dir sub modified", "file .gitignore", "file a.go", "file new.go created", "file x.log ignored",
	}, names(list))
	list, err = f.List(t.Context(), "sub", changes.Items)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "marks below", []string{"dir sub/deep modified"}, names(list))
}

func TestListIsBounded(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	for i := range maxEntries + 1 {
		f.write(fmt.Sprintf("%05d", i), "")
	}
	list, err := f.List(t.Context(), "", nil)
	if err != nil || len(list.Items) != maxEntries || !list.Truncated {
		t.Errorf("%d entries, truncated %v (%v)", len(list.Items), list.Truncated, err)
	}
}

// No path leads out of the folder, or to what is not shown, for any of the ways
// in.
func TestNoWayOut(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	outside := t.TempDir()
	writeFile(t, filepath.Join(outside, "secret"), "canary")
	f.write("in/file", "fine")
	f.write(".git/config", "canary")
	f.write("nested/.git/config", "canary")
	f.write(".terret/logs/harness.log", "canary")
	f.write(".terret/prompts/x-system.txt", "canary")
	f.write(".terret/sessions/x.json", "canary")
	f.symlink(outside, "linkdir")
	f.symlink(filepath.Join(outside, "secret"), "link")
	f.symlink("../"+filepath.Base(outside)+"/secret", "rellink")
	f.symlink("/", "rootlink")
	f.symlink("..", "uplink")
	f.symlink(".git", "gitlink")
	f.symlink(".terret", "terretlink")
	f.symlink("loop", "loop")
	f.symlink("/proc/self/environ", "environ")
	f.symlink(f.path("in/file"), "absolute") // not even to what is inside
	for _, p := range []string{
		"..", "../", "../" + filepath.Base(outside) + "/secret", "in/../../" + filepath.Base(outside) + "/secret",
		"/etc/passwd", filepath.Join(outside, "secret"), f.path("in/file"), "//etc/passwd",
		"in/file\x00", "\x00", "in\x00/file", "in/..\x00/file",
		"linkdir/secret", "linkdir", "link", "rellink", "rootlink/etc/passwd", "rootlink", "uplink", "uplink/" + filepath.Base(f.dir) + "/in/file", "environ", "absolute",
		".git/config", ".git", ".GIT/config", "./.git/config", "nested/.git/config", "in/../.git/config", "gitlink/config", "gitlink",
		".terret/logs/harness.log", ".terret/prompts/x-system.txt", ".terret/sessions/x.json", ".Terret/Logs/harness.log",
		"terretlink/logs/harness.log", "terretlink/sessions", "loop", "loop/x",
		strings.Repeat("a/", 5000) + "a", strings.Repeat("a", 5000),
	} {
		if c, err := f.Read(t.Context(), p); err == nil || c.Text != "" || c.Data != nil {
			t.Errorf("read %.60q: %+v, %v", p, c, err)
		} else {
			wantKind(t, "read "+p[:min(len(p), 60)], err, terret.CodeForbidden, terret.CodeNotFound, terret.CodeInvalidRequest)
			if strings.Contains(err.Error(), outside) && !strings.Contains(p, outside) {
				t.Errorf("read %q tells where it leads: %v", p, err)
			}
		}
		if l, err := f.List(t.Context(), p, nil); err == nil {
			t.Errorf("list %.60q: %v", p, names(l))
		}
	}
	for _, q := range []string{"", "secret", "config", "harness", "system", "passwd"} {
		found, err := f.Find(t.Context(), q, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range found.Items {
			if hidden(m.Path) || strings.HasPrefix(m.Path, "linkdir/") || strings.HasPrefix(m.Path, "rootlink/") {
				t.Errorf("find %q: %s", q, m.Path)
			}
		}
	}
	if c, err := f.Read(t.Context(), "in/../in/./file"); err != nil || c.Text != "fine" || c.Path != "in/file" {
		t.Errorf("%+v, %v", c, err)
	}
}

// A viewer must not find the admin token, when Terret's home is in the folder.
func TestHomeIsNotShown(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	home := filepath.Join(dir, "data", "terret")
	writeFile(t, filepath.Join(home, "token"), "canary")
	writeFile(t, filepath.Join(home, "checkpoints", "x", "HEAD"), "canary")
	writeFile(t, filepath.Join(home, "worktrees", "w", "file"), "fine")
	f := openFolder(t, dir, home)
	f.symlink("data/terret", "alias")
	f.symlink("data/terret/token", "token")
	for _, p := range []string{"data/terret/token", "data/terret", "alias/token", "alias", "token", "data/../data/terret/token", "data/terret/checkpoints/x/HEAD", "data/terret/worktrees"} {
		_, err := f.Read(t.Context(), p)
		wantKind(t, "read "+p, err, terret.CodeForbidden)
		_, err = f.List(t.Context(), p, nil)
		wantKind(t, "list "+p, err, terret.CodeForbidden)
	}
	list, err := f.List(t.Context(), "data", nil)
	if err != nil || len(list.Items) != 0 {
		t.Errorf("%v, %v", names(list), err)
	}
	found, err := f.Find(t.Context(), "token", 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range found.Items {
		if strings.HasPrefix(m.Path, "data/terret/") {
			t.Errorf("found %s", m.Path)
		}
	}
	f.sh("git init -q .")
	changes, err := f.Working(t.Context(), "", true)
	if err != nil || strings.Contains(fmt.Sprint(changes), "canary") {
		t.Errorf("changes show it: %v, %v", changes, err)
	}
	for _, bad := range []string{home, filepath.Join(home, "checkpoints"), filepath.Join(home, "worktrees"), filepath.Join(dir, "alias")} {
		_, err := Open(bad, home)
		wantKind(t, bad, err, terret.CodeForbidden)
	}
	worktree := openFolder(t, filepath.Join(home, "worktrees", "w"), home)
	if c, err := worktree.Read(t.Context(), "file"); err != nil || c.Text != "fine" {
		t.Errorf("a session's worktree: %+v, %v", c, err)
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "file"), "")
	for p, kind := range map[string]terret.ErrorCode{
		"": terret.CodeInvalidRequest, ".": terret.CodeInvalidRequest, "relative": terret.CodeInvalidRequest,
		filepath.Join(dir, "file"): terret.CodeInvalidRequest, filepath.Join(dir, "gone"): terret.CodeNotFound, dir + "\x00": terret.CodeInvalidRequest,
	} {
		_, err := Open(p, "")
		wantKind(t, p, err, kind)
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	png := "\x89PNG\r\n\x1a\nrest"
	for name, c := range map[string]struct {
		content string
		want    Content
	}{
		"text":       {"one\ntwo\n", Content{Text: "one\ntwo\n", Encoding: "utf-8"}},
		"empty":      {"", Content{Encoding: "utf-8"}},
		"unicode":    {"é漢🙂", Content{Text: "é漢🙂", Encoding: "utf-8"}},
		"bom":        {"\xef\xbb\xbfx", Content{Text: "x", Encoding: "utf-8"}},
		"latin":      {"caf\xe9\n", Content{Text: "caf\uFFFD\n"}},
		"utf16le":    {"\xff\xfeh\x00i\x00", Content{Text: "hi", Encoding: "utf-16le"}},
		"utf16be":    {"\xfe\xff\x00h\x00i", Content{Text: "hi", Encoding: "utf-16be"}},
		"utf16 odd":  {"\xff\xfeh\x00i", Content{Text: "h", Encoding: "utf-16le"}},
		"utf16 lone": {"\xff\xfe\x00\xd8h\x00", Content{Text: "\uFFFDh", Encoding: "utf-16le"}},
		"binary":     {"a\x00b", Content{Binary: true}},
		"png":        {png, Content{Binary: true, Media: "image/png", Data: []byte(png)}},
		"svg":        {"<svg onload=alert(1)>", Content{Text: "<svg onload=alert(1)>", Encoding: "utf-8"}},
		"escapes":    {"\x1b[31m\u202e</script>", Content{Text: "\x1b[31m\u202e</script>", Encoding: "utf-8"}},
	} {
		f.write(name, c.content)
		got, err := f.Read(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if got.ModifiedAt.IsZero() {
			t.Error("no time")
		}
		c.want.Path, c.want.Size, c.want.ModifiedAt = name, int64(len(c.content)), got.ModifiedAt
		same(t, name, c.want, got)
	}
	_, err := f.Read(t.Context(), "")
	wantKind(t, "the folder", err, terret.CodeInvalidRequest)
}

func TestReadIsBounded(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.write("exact", strings.Repeat("x", maxText))
	f.write("more", strings.Repeat("x", maxText-1)+"é") // cut within a character
	f.write("huge.png", "\x89PNG\r\n\x1a\n"+strings.Repeat("x", maxImage))
	if err := os.Truncate(f.path("exact"), maxText); err != nil {
		t.Fatal(err)
	}
	c, err := f.Read(t.Context(), "exact")
	if err != nil || c.Truncated || len(c.Text) != maxText {
		t.Errorf("exact: %d, %v, %v", len(c.Text), c.Truncated, err)
	}
	c, err = f.Read(t.Context(), "more")
	if err != nil || !c.Truncated || len(c.Text) != maxText-1 || c.Encoding != "utf-8" {
		t.Errorf("more: %d, %v, %q, %v", len(c.Text), c.Truncated, c.Encoding, err)
	}
	c, err = f.Read(t.Context(), "huge.png")
	if err != nil || c.Data != nil || c.Media != "image/png" || c.Size <= maxImage {
		t.Errorf("huge.png: %d bytes, %v", len(c.Data), err)
	}
	// A file that is mostly a hole costs what is shown of it.
	hole := f.path("hole")
	if err := os.WriteFile(hole, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(hole, 1<<40); err != nil {
		t.Skip("no files with holes here")
	}
	if c, err = f.Read(t.Context(), "hole"); err != nil || !c.Binary || c.Size != 1<<40 {
		t.Errorf("hole: %+v, %v", c, err)
	}
}

func TestCancelled(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.write("a", "1")
	f.sh("git init -q .")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.Read(ctx, "a"); err == nil {
		t.Error("read")
	}
	if _, err := f.List(ctx, "", nil); err == nil {
		t.Error("list")
	}
	if _, err := f.Find(ctx, "a", 0); err == nil {
		t.Error("find")
	}
	if _, err := f.Working(ctx, "", true); err == nil {
		t.Error("working")
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	for _, git := range []bool{true, false} {
		t.Run(fmt.Sprintf("git %v", git), func(t *testing.T) {
			t.Parallel()
			f := newFolder(t)
			for _, p := range []string{
				"main.go", "internal/server/access/gate.go", "internal/server/access/gate_test.go", "internal/agent.go", "docs/gate/readme.md",
				"cmd/terret/main.go", "node_modules/x/gate.go", "odd \"name\".go", "-rf", "new\nline",
			} {
				f.write(p, "")
			}
			f.write(".gitignore", "node_modules\n")
			if git {
				f.sh("git init -q . && git add main.go")
			}
			for query, want := range map[string]string{
				"gate.go": "internal/server/access/gate.go", "gate": "docs/gate internal/server/access/gate.go", "GATE": "docs/gate internal/server/access/gate.go",
				"iag": "internal/server/access/gate.go", "main": "main.go cmd/terret/main.go", "zzz": "", "cmdmain": "cmd/terret/main.go", "-rf": "-rf",
				"docs/": "docs/gate",
			} {
				found, err := f.Find(t.Context(), query, 2)
				if err != nil {
					t.Fatal(err)
				}
				if got := paths(found); !strings.HasPrefix(got, want) || want == "" && got != "" {
					t.Errorf("find %q: %q, want %q", query, got, want)
				}
			}
			found, err := f.Find(t.Context(), "gate", 0)
			if err != nil || found.Truncated || strings.Contains(paths(found), "node_modules") {
				t.Errorf("%v, %v", found, err)
			}
			if found, err = f.Find(t.Context(), "", 3); err != nil || len(found.Items) != 3 || !found.Truncated || strings.Contains(paths(found), "/") {
				t.Errorf("empty query: %v, %v", found, err)
			}
			for _, q := range []string{strings.Repeat("x", 1<<20), "\xff", "\x00", "*", "$(touch x)", "'; --", "a b"} {
				if _, err := f.Find(t.Context(), q, 5); err != nil {
					t.Errorf("%.20q: %v", q, err)
				}
			}
		})
	}
}

func TestFindWithoutGit(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	f := newFolder(t)
	f.write("a/b.go", "")
	f.write("node_modules/b.go", "")
	f.write(".git/b.go", "")
	found, err := f.Find(t.Context(), "b.go", 0)
	if err != nil || paths(found) != "a/b.go" {
		t.Errorf("%v, %v", found, err)
	}
	list, err := f.List(t.Context(), "", nil)
	if err != nil || len(list.Items) != 2 {
		t.Errorf("%v, %v", names(list), err)
	}
	if err := os.MkdirAll(f.path(".git/objects"), 0o755); err != nil {
		t.Fatal(err)
	}
	f.write(".git/HEAD", "ref: refs/heads/main\n")
	_, err = f.Working(t.Context(), "", true)
	wantKind(t, "changes", err, terret.CodeUnsupported)
}
