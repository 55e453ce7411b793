package worktree_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/terret-dev/terret/internal/worktree"
)

// cloned is a clone of a repository that is served over HTTP.
type cloned struct {
	repository
	url, clone, root string
}

func newClone(t *testing.T) cloned {
	t.Helper()
	r := newRepository(t)
	base := filepath.Dir(r.dir)
	r.sh(r.dir, "printf 'x\\n' > run.sh && chmod 755 run.sh && echo keep > keep.txt && echo gone > gone.txt && git add . && git commit -qm two")
	r.sh(base, "git clone -q --bare shop shop.git && git -C shop.git update-server-info && mkdir old new")
	hs := httptest.NewServer(http.FileServer(http.Dir(base)))
	t.Cleanup(hs.Close)
	c := cloned{repository: r, url: hs.URL + "/shop.git", root: filepath.Join(base, "new")}
	var err error
	if c.clone, err = worktree.Clone(t.Context(), c.url, filepath.Join(base, "old"), "1", os.Environ()); err != nil {
		t.Fatal(err)
	}
	return c
}

func (c cloned) pack() worktree.Pack {
	c.t.Helper()
	p, err := worktree.PackClone(c.t.Context(), c.clone, c.url, worktree.PackLimits{})
	if err != nil {
		c.t.Fatal(err)
	}
	return p
}

func (c cloned) unpack(p worktree.Pack) string {
	c.t.Helper()
	dir, err := worktree.Unpack(c.t.Context(), p, c.root, "2", os.Environ())
	if err != nil {
		c.t.Fatal(err)
	}
	return dir
}

// look is what a person sees of a clone.
const look = "git status --porcelain=v2 --branch | sed 's/^1 [MTAD.]*/1/'; git log --all --format='%h %s' --topo-order; git branch -vv; for f in $(git ls-files --others --exclude-standard --cached | sort -u); do ls -ld $f 2>/dev/null | cut -c1-10; cat $f 2>/dev/null || true; readlink $f || true; done"

// TestPack moves a clone with all that is not on its origin, and leaves it as it was.
func TestPack(t *testing.T) {
	t.Parallel()
	c := newClone(t)
	c.sh(c.clone, "echo two >> sub/a.txt && git add sub && git commit -qm mine && git checkout -qb side && echo s > side.txt && git add . && git commit -qm side")
	c.sh(c.clone, "echo three >> sub/a.txt; echo new > new.txt; echo staged > staged.txt; git add staged.txt; rm gone.txt; git rm -q keep.txt")
	c.sh(c.clone, "chmod 644 run.sh; printf '#!/bin/sh\\n' > tool; chmod 755 tool; ln -s ../outside link; mkdir -p ignored deep/er .terret; echo secret > ignored/x; echo d > deep/er/f; echo '*' > .terret/.gitignore")
	before := c.sh(c.clone, "find . -type f ! -path './.git/logs/*' | sort | xargs sha1sum; git for-each-ref")
	p := c.pack()
	if after := c.sh(c.clone, "find . -type f ! -path './.git/logs/*' | sort | xargs sha1sum; git for-each-ref"); after != before {
		t.Errorf("packing changed the clone:\n%s\n%s", before, after)
	}
	dir := c.unpack(p)
	if filepath.Dir(dir) != c.root {
		t.Errorf("it is in %s", dir)
	}
	c.sh(c.clone, "git reset -q; rm -r .terret") // what was staged need not be
	if want, got := c.sh(c.clone, look), c.sh(dir, look); got != want {
		t.Errorf("the old one:\n%s\n\nthe new one:\n%s", want, got)
	}
	if exists(filepath.Join(dir, "ignored")) {
		t.Error("what git ignores came along")
	}
	c.sh(dir, "git fsck --strict")
}

// TestCloneHooks holds that no hook runs while a repository is cloned, and that those who
// work in the clone may have some.
func TestCloneHooks(t *testing.T) {
	t.Parallel()
	c := newClone(t)
	c.sh(c.root, `mkdir hooks; printf '#!/bin/sh\ntouch %s/ran\n' "$PWD" > hooks/post-checkout; chmod 755 hooks/*; git config -f global core.hooksPath "$PWD/hooks"`)
	env := append(os.Environ(), "GIT_CONFIG_GLOBAL="+filepath.Join(c.root, "global"))
	dir, err := worktree.Clone(t.Context(), c.url, c.root, "3", env)
	if err != nil {
		t.Fatal(err)
	}
	if exists(filepath.Join(c.root, "ran")) {
		t.Error("a hook ran")
	}
	if got := c.sh(dir, "git config --local core.hooksPath || true"); got != "" {
		t.Errorf("the clone has its hooks in %q", got)
	}
	c.sh(dir, "GIT_CONFIG_GLOBAL=../global git checkout -qb mine")
	if !exists(filepath.Join(c.root, "ran")) {
		t.Error("no hook runs in the clone")
	}
}

// TestPackPushed packs a clone in which nothing has changed: it takes no objects.
func TestPackPushed(t *testing.T) {
	t.Parallel()
	c := newClone(t)
	c.sh(c.clone, "git checkout -q --detach HEAD^; git branch -qD main")
	p := c.pack()
	if p.Files != "" || len(p.Objects) != 0 || p.Branch != "" || len(p.Branches) != 0 {
		t.Errorf("%+v", p)
	}
	if want, got := c.sh(c.clone, look), c.sh(c.unpack(p), look); got != want {
		t.Errorf("the old one:\n%s\n\nthe new one:\n%s", want, got)
	}
}

// TestPackRacy packs a file that was written again right after a commit, with as many bytes:
// only the time of the index tells git that it must read the file.
func TestPackRacy(t *testing.T) {
	t.Parallel()
	c := newClone(t)
	file, at := filepath.Join(c.clone, "keep.txt"), time.Now().Add(-time.Hour).Truncate(time.Second)
	write := func(text string, also ...string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, path := range append(also, file) {
			if err := os.Chtimes(path, at, at); err != nil {
				t.Fatal(err)
			}
		}
	}
	write("one\n")
	c.sh(c.clone, "git config core.trustctime false; git commit -qam one") // nobody can set a ctime
	write("two\n", filepath.Join(c.clone, ".git", "index"))
	if got := c.sh(c.unpack(c.pack()), "cat keep.txt"); got != "two" {
		t.Errorf("the file holds %q", got)
	}
}

// TestPackTag moves a branch that has the name of a tag, as has its upstream.
func TestPackTag(t *testing.T) {
	t.Parallel()
	c := newClone(t)
	c.sh(filepath.Dir(c.dir), "git -C shop.git tag main HEAD^ && git -C shop.git tag origin/main HEAD^ && git -C shop.git update-server-info")
	c.sh(c.clone, "git fetch -q --tags && echo more > more && git add . && git commit -qm more")
	p := c.pack()
	if p.Branch != "main" {
		t.Errorf("the branch is %q", p.Branch)
	}
	if want, got := c.sh(c.clone, look), c.sh(c.unpack(p), look); got != want {
		t.Errorf("the old one:\n%s\n\nthe new one:\n%s", want, got)
	}
}

// TestPackRefused holds what cannot be packed, and what to do then.
func TestPackRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script, want string
		limits       worktree.PackLimits
	}{
		"too much to pack":  {"head -c 200000 /dev/urandom > big", "more than 0 MB, packed; push it", worktree.PackLimits{Objects: 100_000}},
		"too much unpushed": {"head -c 200000 /dev/urandom > big; git add .; git commit -qm big; rm big; git commit -qam small", "more than 0 MB, packed; push it", worktree.PackLimits{Objects: 100_000}},
		"too much to read":  {"head -c 2000000 /dev/zero > big", "not committed have more than 1 MB", worktree.PackLimits{Files: 1 << 20}},
		"merge":             {"git checkout -qb x HEAD^; echo y > gone.txt; git add .; git commit -qm y; git merge main || true", "a merge is in progress", worktree.PackLimits{}},
		"repository inside": {"git init -q inner; cd inner; git commit -q --allow-empty -m x", "inner is a repository of its own", worktree.PackLimits{}},
		"filter":            {"echo '*.bin filter=lfs' > .gitattributes; echo x > a.bin", "a.bin is stored by git in another form", worktree.PackLimits{}},
		"no commit":         {"git checkout -q --orphan other", "no commit yet", worktree.PackLimits{}},
		"no branch":         {"git symbolic-ref HEAD refs/remotes/origin/main", "is refs/remotes/origin/main, which is not a branch", worktree.PackLimits{}},
		"no repository":     {"rm -rf .git", "repository", worktree.PackLimits{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newClone(t)
			r.sh(r.clone, c.script)
			_, err := worktree.PackClone(t.Context(), r.clone, r.url, c.limits)
			if _, ok := errors.AsType[*worktree.RefusedError](err); !ok || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestPackElsewhere refuses a clone that an agent has turned into a view of another
// repository, of which a pack would hold everything.
func TestPackElsewhere(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ script, want string }{
		"file":            {`rm -rf .git; echo "gitdir: $OTHER/.git" > .git; git -C "$OTHER" config core.worktree "$PWD"`, ".git is not an ordinary folder"},
		"link":            {`rm -rf .git; ln -s "$OTHER/.git" .git`, ".git is not an ordinary folder"},
		"common folder":   {`echo "$OTHER/.git" > .git/commondir`, "uses the repository in"},
		"bare":            {`cp -r .git/. .; rm -rf .git; mkdir .git; git config --file config core.bare false; git config --file config core.worktree "$PWD"`, "is not in a git repository"},
		"alternates":      {`echo "$OTHER/.git/objects" > .git/objects/info/alternates; git update-ref refs/heads/x "$SECRET"`, "alternates"},
		"alternates gone": {`ln -s /nowhere .git/objects/info/alternates`, "alternates"},
		"linked objects":  {`cp -r .git/objects/. "$OTHER/.git/objects"; rm -rf .git/objects; ln -s "$OTHER/.git/objects" .git/objects`, "objects is not an ordinary file"},
		"linked folder":   {`d=$(echo "$SECRET" | cut -c1-2); rm -rf .git/objects/$d; ln -s "$OTHER/.git/objects/$d" .git/objects/$d`, "is not an ordinary file"},
		"linked info":     {`mkdir "$OTHER/info"; echo "$OTHER/.git/objects" > "$OTHER/info/alternates"; rm -rf .git/objects/info; ln -s "$OTHER/info" .git/objects/info`, "alternates"},
		"linked pack":     {`git -C "$OTHER" gc -q; for f in "$OTHER"/.git/objects/pack/*; do ln -s "$f" .git/objects/pack/; done; git update-ref refs/heads/x "$SECRET"`, "is not an ordinary file"},
		"whole clone":     {`mv "$PWD" "$PWD.away"; ln -s "$OTHER" "$PWD"`, "is not an ordinary folder"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newClone(t)
			other := filepath.Join(filepath.Dir(r.dir), "other")
			r.sh(filepath.Dir(r.dir), "git clone -q shop other && cd other && echo secret > secret && git add . && git commit -qm secret")
			r.sh(r.clone, "OTHER='"+other+"' SECRET="+r.sh(other, "git rev-parse HEAD")+"\n"+c.script)
			p, err := worktree.PackClone(t.Context(), r.clone, r.url, worktree.PackLimits{})
			if _, ok := errors.AsType[*worktree.RefusedError](err); !ok || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q; it packed %d bytes", err, c.want, len(p.Objects))
			}
		})
	}
}

// TestPackNoFilter holds that nothing that the clone's configuration names runs.
func TestPackNoFilter(t *testing.T) {
	t.Parallel()
	c := newClone(t)
	c.sh(c.clone, `mkdir hooks; for h in pre-commit post-index-change reference-transaction post-checkout; do printf '#!/bin/sh\ntouch "`+c.root+`/ran"\n' > hooks/$h; chmod 755 hooks/$h; done
git config core.hooksPath "$PWD/hooks"; git config core.fsmonitor "touch `+c.root+`/ran;"; git config filter.x.clean "touch `+c.root+`/ran; cat"`)
	c.pack()
	if exists(filepath.Join(c.root, "ran")) {
		t.Error("a program of the repository ran")
	}
}

// TestUnpackMissing says what to do if the origin has lost a commit, be it one that others
// follow in the pack, or the one that is checked out.
func TestUnpackMissing(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{"followed": "echo more > more; git add .; git commit -qm more", "checked out": "true"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newClone(t)
			c.sh(c.clone, script)
			p := c.pack()
			c.sh(filepath.Dir(c.dir), "git -C shop.git update-ref refs/heads/main main^ && git -C shop.git reflog expire --expire=now --all && git -C shop.git -c gc.pruneExpire=now gc -q && git -C shop.git update-server-info")
			if _, err := worktree.Unpack(t.Context(), p, c.root, "2", os.Environ()); err == nil || !strings.Contains(err.Error(), "push what is not there, and try again") {
				t.Errorf("%v", err)
			}
			c.nothingLeft()
		})
	}
}

func (c cloned) nothingLeft() {
	c.t.Helper()
	if left, err := os.ReadDir(c.root); err != nil || len(left) > 0 {
		c.t.Errorf("%v is left: %v", left, err)
	}
}

// TestUnpackHostile holds that a pack that somebody made by hand changes nothing outside of
// the clone, runs nothing, and leaves nothing behind.
func TestUnpackHostile(t *testing.T) {
	t.Parallel()
	tree := func(entries ...string) string { // mode, name and object, in binary
		var b bytes.Buffer
		for i := 0; i < len(entries); i += 3 {
			id, _ := hex.DecodeString(entries[i+2])
			b.WriteString(entries[i] + " " + entries[i+1] + "\x00" + string(id))
		}
		return b.String()
	}
	for name, c := range map[string]struct {
		tree func(c cloned, blob, link, sub string) string
		edit func(p *worktree.Pack)
		want string
	}{
		"git folder":             {tree: func(_ cloned, _, _, sub string) string { return tree("40000", ".git", sub) }, want: "cannot be used"},
		"git folder in capitals": {tree: func(_ cloned, _, _, sub string) string { return tree("40000", ".GIT", sub) }, want: "cannot be used"},
		"folder above":           {tree: func(_ cloned, _, _, sub string) string { return tree("40000", "..", sub) }, want: "cannot be used"},
		"path":                   {tree: func(_ cloned, blob, _, _ string) string { return tree("100644", "../x", blob) }, want: "cannot be used"},
		"through a link": {tree: func(_ cloned, _, link, sub string) string {
			return tree("120000", "a", link, "40000", "a", sub)
		}, want: "cannot be used"},
		"no pack":       {edit: func(p *worktree.Pack) { p.Objects = []byte("PACK and so on") }, want: "cannot be used"},
		"branch":        {edit: func(p *worktree.Pack) { p.Branches[0].Name = "../../config" }, want: "is not the name of a branch"},
		"line end":      {edit: func(p *worktree.Pack) { p.Branches[0].Name = "x y\ndelete refs/heads/z" }, want: "is not the name of a branch"},
		"no name":       {edit: func(p *worktree.Pack) { p.Branches[0].Name = "" }, want: "is not the name of a branch"},
		"upstream":      {edit: func(p *worktree.Pack) { p.Branches[0].Upstream = "--x y" }, want: "is not the name of a branch"},
		"other branch":  {edit: func(p *worktree.Pack) { p.Branch = "other" }, want: `branch "other" is not at`},
		"option":        {edit: func(p *worktree.Pack) { p.Files = "--output=/x" }, want: "is not a commit"},
		"address":       {edit: func(p *worktree.Pack) { p.URL = "ext::sh -c id" }, want: "is not the address"},
		"local address": {edit: func(p *worktree.Pack) { p.URL = "file:///etc" }, want: "is not the address"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newClone(t)
			r.sh(r.clone, "echo x > file")
			p := r.pack()
			if c.tree != nil {
				p = r.forged(p, c.tree)
			} else {
				c.edit(&p)
			}
			if _, err := worktree.Unpack(t.Context(), p, r.root, "2", os.Environ()); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
			r.nothingLeft()
			if exists(filepath.Join(filepath.Dir(r.dir), "escaped")) {
				t.Error("it wrote outside of the clone")
			}
		})
	}
}

// forged replaces the files of a pack by a tree that git itself would not write.
func (c cloned) forged(p worktree.Pack, tree func(c cloned, blob, link, sub string) string) worktree.Pack {
	c.t.Helper()
	blob := c.sh(c.clone, "echo '#!/bin/sh' | git hash-object -w --stdin")
	link := c.sh(c.clone, "printf '%s' '"+filepath.Dir(c.dir)+"' | git hash-object -w --stdin")
	sub := c.sh(c.clone, "printf '100755 blob %s\\tescaped\\n' "+blob+" | git mktree")
	cmd := exec.CommandContext(c.t.Context(), "git", "hash-object", "-t", "tree", "-w", "--stdin", "--literally")
	cmd.Dir, cmd.Stdin = c.clone, strings.NewReader(tree(c, blob, link, sub))
	id, err := cmd.Output()
	if err != nil {
		c.t.Fatal(err)
	}
	p.Files = c.sh(c.clone, "git commit-tree -m x -p HEAD "+strings.TrimSpace(string(id)))
	cmd = exec.CommandContext(c.t.Context(), "git", "pack-objects", "--stdout", "-q")
	cmd.Dir, cmd.Stdin = c.clone, strings.NewReader(strings.Join([]string{p.Files, strings.TrimSpace(string(id)), blob, link, sub}, "\n"))
	if p.Objects, err = cmd.Output(); err != nil {
		c.t.Fatal(err)
	}
	return p
}
