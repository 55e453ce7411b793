package checkpoint

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/terret-dev/terret/internal/gitcmd"
)

// MaxReplace bounds a file that File reads.
const MaxReplace = 64 << 20

// ErrFileTooLarge reports a file over MaxReplace.
var ErrFileTooLarge = errors.New("checkpoint: the file is over 64 MiB")

// File is a file or symbolic link, in a snapshot or to put into the folder.
type File struct {
	Mode    fs.FileMode // 0o644, 0o755, or with fs.ModeSymlink for symbolic links
	Perm    fs.FileMode // permission bits; 0 if they are not known
	Content []byte      // of a symbolic link, its target with slashes
}

// entry is f as git records it. Nil is no file.
func (f *File) entry() entry {
	if f == nil {
		return entry{}
	}
	mode := gitcmd.ModeFile
	switch {
	case f.Mode&fs.ModeSymlink != 0:
		mode = gitcmd.ModeLink
	case f.Mode&0o100 != 0:
		mode = gitcmd.ModeExec
	}
	return entry{Mode: mode, ID: gitcmd.BlobID(gitcmd.Digits, f.Content)}
}

func (f *File) perm() fs.FileMode {
	if f == nil || f.Mode&fs.ModeSymlink != 0 {
		return 0
	}
	return f.Perm
}

// File returns a file of a snapshot, or nil if the snapshot has none at that path. It does
// not look at the folder.
func (r *Repo) File(ctx context.Context, id ID, path string) (*File, error) {
	tree, noted, err := id.split()
	if err != nil {
		return nil, err
	}
	g := r.git(nil)
	var at entry
	err = g.Records(ctx, nil, []string{"ls-tree", "-z", "--full-tree", tree, "--", path}, func(rec string) error {
		if d, p, ok := parseTree(rec); ok && p == path {
			at = d
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read %q of a snapshot: %w", path, unknown(err))
	}
	if at == (entry{}) {
		return nil, nil
	}
	n, err := g.readNotes(ctx, noted)
	if err != nil {
		return nil, err
	}
	out := &File{Mode: at.FileMode(), Perm: n.perms().of(path, at)}
	err = g.blobs(ctx, []string{at.ID}, func(_ int, b blob) error {
		if b.size > MaxReplace {
			return ErrFileTooLarge
		}
		out.Content, err = io.ReadAll(b.r)
		return err
	})
	return out, err
}

// Replace puts wanted in the place of a file, where nil is no file. If the path does not
// hold was, nothing is changed and the error is a *ConflictError. A copy of what was there
// is always kept, also of there being nothing, and Result.Copy names it: RestoreCopy takes
// the replacement back. The content of files that exist keeps its permission bits, unless
// wanted knows others. why is kept with the copy.
func (r *Repo) Replace(ctx context.Context, path string, was, wanted *File, why string) (Result, error) {
	if !safePath(path) {
		return Result{}, fmt.Errorf("replace %q: it is not a place to write to", path)
	}
	return r.restore(ctx, RestoreOptions{For: why, keep: true}, func(j *restore) error {
		j.contents = func(_ context.Context, ids []string, f func(i int, b blob) error) error {
			for i := range ids {
				if err := f(i, blob{bytes.NewReader(wanted.Content), int64(len(wanted.Content))}); err != nil {
					return err
				}
			}
			return nil
		}
		return j.decide([]delta{{path, was.entry(), wanted.entry(), was.perm(), wanted.perm()}}, nil)
	})
}
