package workfiles

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/terret-dev/terret"
)

func TestRoots(t *testing.T) {
	t.Parallel()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(p string) string { return filepath.Join(base, filepath.FromSlash(p)) }
	for _, dir := range []string{"root/a/deep", "root/.hidden", "root/repo/.git", "root-evil/x", "other", "outside", "root/home/worktrees/w", "root/home/checkpoints"} {
		if err := os.MkdirAll(at(dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	writeFile(t, at("root/file"), "")
	writeFile(t, at("root/home/token"), "canary")
	for link, target := range map[string]string{"root/out": at("outside"), "root/in": "a", "root/up": "..", "alias": at("root"), "root/alias": "home", "root/loop": "loop"} {
		if err := os.Symlink(target, at(link)); err != nil {
			t.Fatal(err)
		}
	}
	r, err := NewRoots([]string{at("alias"), at("root"), at("other")}, at("root/home"))
	if err != nil {
		t.Fatal(err)
	}
	same(t, "roots", []Root{{"root", at("root")}, {"other", at("other")}}, r.List())

	dirs, err := r.Dirs(t.Context(), at("root"))
	if err != nil {
		t.Fatal(err)
	}
	want := []Subfolder{
		{Name: ".hidden", Path: at("root/.hidden"), Hidden: true},
		{Name: "a", Path: at("root/a")},
		{Name: "alias", Path: at("root/alias")},
		{Name: "in", Path: at("root/in")},
		{Name: "repo", Path: at("root/repo"), Git: true},
	}
	same(t, "dirs", Subfolders{Path: at("root"), Items: want}, dirs)
	dirs, err = r.Dirs(t.Context(), at("alias/in/"))
	if err != nil {
		t.Fatal(err)
	}
	same(t, "through links", Subfolders{Path: at("root/a"), Parent: at("root"), Items: []Subfolder{{Name: "deep", Path: at("root/a/deep")}}}, dirs)

	for path, kind := range map[string]terret.ErrorCode{
		at("root"): "", at("root/a/../a/deep"): "", at("other"): "", at("alias/a"): "", at("root/home/worktrees/w"): "",
		at("outside"): terret.CodeForbidden, at("root/out"): terret.CodeForbidden, at("root/up"): terret.CodeForbidden, at("root/up/outside"): terret.CodeForbidden,
		at("root-evil/x"): terret.CodeForbidden, at("root-evil"): terret.CodeForbidden, at("root/../outside"): terret.CodeForbidden, base: terret.CodeForbidden, "/": terret.CodeForbidden, "/etc": terret.CodeForbidden,
		at("nowhere"): terret.CodeForbidden, "/proc/self/root" + at("outside"): terret.CodeForbidden,
		at("root/nowhere"): terret.CodeNotFound, at("root/file"): terret.CodeInvalidRequest,
		"": terret.CodeInvalidRequest, ".": terret.CodeInvalidRequest, "root": terret.CodeInvalidRequest, at("root") + "\x00": terret.CodeInvalidRequest, "~": terret.CodeInvalidRequest,
		at("root/home"): terret.CodeForbidden, at("root/home/checkpoints"): terret.CodeForbidden, at("root/alias"): terret.CodeForbidden, at("root/alias/checkpoints"): terret.CodeForbidden,
	} {
		real, err := r.Resolve(path)
		wantKind(t, "resolve "+path, err, kind)
		if err == nil && strings.Contains(real, "..") || err != nil && real != "" {
			t.Errorf("%s is %s (%v)", path, real, err)
		}
		_, err = r.Dirs(t.Context(), path)
		wantKind(t, "dirs "+path, err, kind)
	}
	_, err = r.Resolve(at("root/loop"))
	if wantKind(t, "in a circle", err, terret.CodeInvalidRequest); err == nil || strings.Contains(err.Error(), "EvalSymlinks") {
		t.Errorf("in a circle: %v", err)
	}
	_, err = r.Dirs(t.Context(), at("root/repo/.git"))
	wantKind(t, "dirs of .git", err, terret.CodeForbidden)

	for _, bad := range []string{"", "relative", at("nowhere"), at("root/file")} {
		if _, err := NewRoots([]string{bad}, ""); err == nil {
			t.Errorf("root %q", bad)
		}
	}
	none, err := NewRoots(nil, "")
	if err != nil {
		t.Fatal(err)
	}
	_, err = none.Resolve(base)
	wantKind(t, "no roots", err, terret.CodeForbidden)
}
