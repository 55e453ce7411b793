package worktree

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/terret-dev/terret/internal/gitcmd"
)

// Seen is a file as a person has seen it.
type Seen struct {
	Path string // with slashes
	Mode string // as git names it; empty: there was no file
	ID   string // of the content as the folder has it; empty: nobody looked
}

func (s Seen) gone() bool { return s.Mode == "" }

func (s Seen) differs() error {
	return refused("%s has changed since you looked at it, so nothing was committed; look at it again", s.Path)
}

// joined is the input of commands that take paths.
func joined(files []Seen, which func(Seen) bool) []byte {
	var b bytes.Buffer
	for _, f := range files {
		if which(f) {
			b.WriteString(f.Path)
			b.WriteByte(0)
		}
	}
	return b.Bytes()
}

// treeOf makes the tree of a commit in an index of its own: head with the files as they
// were seen. It also returns what makes the repository's own index the same for them.
func (g *git) treeOf(ctx context.Context, index, head string, files []Seen) (info []byte, tree string, err error) {
	own := g.with(nil, "GIT_INDEX_FILE="+index)
	base := []string{"read-tree", "--empty"}
	if head != "" {
		base = []string{"read-tree", head}
	}
	steps := []struct {
		in   []byte
		args []string
	}{
		{nil, base},
		{joined(files, Seen.gone), []string{"update-index", "--force-remove", "-z", "--stdin"}},
		{joined(files, func(s Seen) bool { return !s.gone() }), []string{"update-index", "--add", "--remove", "--replace", "-z", "--stdin"}},
	}
	for _, s := range steps {
		if _, err := own.with(s.in).run(ctx, s.args...); err != nil {
			return nil, "", refused("git did not commit: %w", err)
		}
	}
	if info, err = own.compare(ctx, head, files); err != nil {
		return nil, "", err
	}
	if tree, err = own.run(ctx, "write-tree"); err != nil {
		return nil, "", err
	}
	if head != "" {
		if was, err := own.run(ctx, "rev-parse", "--verify", head+"^{tree}"); err != nil {
			return nil, "", err
		} else if was == tree {
			return nil, "", refused("git did not commit: there is nothing to commit")
		}
	}
	return info, tree, nil
}

// compare refuses what is staged otherwise than it was seen, and returns the rest for
// update-index: first what goes, to make room for folders.
func (g *git) compare(ctx context.Context, head string, files []Seen) ([]byte, error) {
	prefix, err := g.run(ctx, "rev-parse", "--show-prefix")
	if err != nil {
		return nil, err
	}
	out, err := g.run(ctx, "ls-files", "--stage", "-z")
	if err != nil {
		return nil, err
	}
	staged := map[string][]string{} // mode, id and stage
	for rec := range strings.SplitSeq(out, "\x00") {
		meta, path, _ := strings.Cut(rec, "\t")
		staged[path] = strings.Fields(meta)
	}
	modes := g.keepsModes(ctx)
	var info, rest bytes.Buffer
	for _, f := range files {
		if f.gone() {
			if !missing(g.Cwd, f.Path) {
				return nil, f.differs()
			}
			fmt.Fprintf(&info, "0 %s\t%s%s\x00", strings.Repeat("0", len(head)), prefix, f.Path)
			continue
		}
		at := staged[f.Path]
		if len(at) != 3 || modes && at[0] != f.Mode || f.ID != "" && at[1] != f.ID && !g.converted(ctx, f, at[1]) {
			return nil, f.differs()
		}
		fmt.Fprintf(&rest, "%s %s\t%s%s\x00", at[0], at[1], prefix, f.Path)
	}
	return append(info.Bytes(), rest.Bytes()...), nil
}

// keepsModes reports whether git takes a file's mode from the folder.
func (g *git) keepsModes(ctx context.Context) bool {
	for _, key := range []string{"core.fileMode", "core.symlinks"} {
		if v, err := g.run(ctx, "config", "--type=bool", "--get", key); err == nil && v == "false" {
			return false
		}
	}
	return true
}

// missing reports whether there is no file at a path. Behind a link there is none.
func missing(dir, path string) bool {
	at := dir
	parts := strings.Split(path, "/")
	for i, name := range parts {
		at = filepath.Join(at, name)
		info, err := os.Lstat(at)
		if err != nil {
			return os.IsNotExist(err)
		}
		if info.IsDir() != (i < len(parts)-1) {
			return true
		}
	}
	return false
}

// converted reports whether git stores the file that was seen as that object: with other
// line endings, for example.
func (g *git) converted(ctx context.Context, f Seen, object string) bool {
	content, err := os.ReadFile(filepath.Join(g.Cwd, filepath.FromSlash(f.Path)))
	if err != nil || gitcmd.BlobID(len(object), content) != f.ID {
		return false
	}
	id, err := g.with(content).run(ctx, "hash-object", "--stdin", "--path="+f.Path)
	return err == nil && id == object
}

// record makes the commit, which nothing names yet.
func (g *git) record(ctx context.Context, tree, head, message string) (string, error) {
	clean, err := g.with([]byte(message)).run(ctx, "stripspace")
	if err != nil {
		return "", err
	}
	args := []string{"commit-tree", "--no-gpg-sign", tree}
	if head != "" {
		args = append(args, "-p", head)
	}
	commit, err := g.with([]byte(clean+"\n")).run(ctx, args...)
	if err != nil {
		return "", refused("git did not commit: %w", err)
	}
	return commit, nil
}

// move moves the branch that is checked out from one commit to another. It calls
// meanwhile when nothing can keep the branch from that any more; if that fails, the branch
// stays. If this process dies, git leaves the branch.
func (g *git) move(ctx context.Context, from, to, note string, meanwhile func() error) error {
	if from == "" {
		from = strings.Repeat("0", len(to))
	}
	cmd := g.Command(ctx, "update-ref", "-m", note, "--stdin")
	var said bytes.Buffer
	cmd.Stderr = &said
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	lines := bufio.NewScanner(out)
	_, _ = fmt.Fprintf(in, "start\nupdate HEAD %s %s\nprepare\n", to, from) // what went wrong, git says
	ready := false
	for !ready && lines.Scan() {
		ready = lines.Text() == "prepare: ok"
	}
	last := "abort\n"
	if ready {
		if err = meanwhile(); err == nil {
			last = "commit\n"
		}
	}
	_, _ = io.WriteString(in, last)
	_ = in.Close()
	_, _ = io.Copy(io.Discard, out)
	if ended := cmd.Wait(); ended != nil && err == nil {
		err = fmt.Errorf("git update-ref: %s (%w)", strings.TrimSpace(said.String()), ended)
	}
	return err
}
