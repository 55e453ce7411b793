package checkpoint

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/terret-dev/terret/internal/files"
	"github.com/terret-dev/terret/internal/gitcmd"
)

// locked runs f while this call, and no other of any process, holds the shadow
// repository. It is a kernel lock: it is released when its holder dies. On Unix the git
// commands inherit it, so it also outlives a killed Terret while its git is still
// writing.
//
// The wait is bounded by ctx and by Limits.Timeout, then the error is ErrBusy.
func (r *Repo) locked(ctx context.Context, f func(g git) error) error {
	file, err := r.lock(ctx)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := r.prepare(ctx, r.git(file)); err != nil {
		return err
	}
	return f(r.git(file))
}

// lock takes the lock file. Closing it releases the lock.
func (r *Repo) lock(ctx context.Context) (*os.File, error) {
	if err := os.MkdirAll(r.shadow, 0o700); err != nil {
		return nil, fmt.Errorf("open shadow repository: %w", err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, r.lim.Timeout, ErrBusy)
	defer cancel()
	file, err := files.OpenLocked(ctx, r.lockPath())
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("lock shadow repository: %w", err)
	}
	return file, err
}

func (r *Repo) lockPath() string { return filepath.Join(r.shadow, "lock") }

// attributes override every .gitattributes of the tree: bytes go in and come out
// unchanged, and no attribute can name a driver. "!" leaves an attribute unspecified,
// which keeps text diffs for files marked binary.
const attributes = "* -text -ident -filter !eol !crlf !working-tree-encoding !diff !merge !whitespace\n"

// prepare makes the shadow repository if it is missing, and cleans up what a killed
// holder of the lock left behind.
func (r *Repo) prepare(ctx context.Context, g git) error {
	// The folder's name is written last: without it, making the repository was cut off.
	if !exists(filepath.Join(r.shadow, "HEAD")) || !exists(filepath.Join(r.shadow, "folder")) {
		for _, locked := range []string{"HEAD.lock", "config.lock"} {
			_ = os.Remove(filepath.Join(r.shadow, locked)) // if it cannot be removed, git says so
		}
		if _, err := g.Output(ctx, nil, "init", "--quiet", "--template=", "--object-format=sha1", "--initial-branch=none"); err != nil {
			return fmt.Errorf("make shadow repository: %w", err)
		}
		r.forget()
	}
	if err := writeIfChanged(filepath.Join(r.shadow, "info", "attributes"), []byte(attributes)); err != nil {
		return fmt.Errorf("make shadow repository: %w", err)
	}
	// For people who wonder which folder this is.
	if err := writeIfChanged(filepath.Join(r.shadow, "folder"), []byte(r.dir+"\n")); err != nil {
		return fmt.Errorf("make shadow repository: %w", err)
	}
	r.sweep()
	r.expireCopies(time.Now())
	return r.sweepStaged()
}

// forget drops what is known about the last snapshot.
func (r *Repo) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known = known{}
}

// sweep removes the temporary files of a killed snapshot. That is best effort: only the
// index lock blocks the next command, and then that command says so.
func (r *Repo) sweep() {
	locked, unfinished := filepath.Join(r.shadow, "index.lock"), filepath.Join(r.shadow, unfinishedName)
	if !exists(locked) && !exists(unfinished) {
		return
	}
	for _, pattern := range []string{"spool-*", "objects/pack/tmp_*", "objects/??/tmp_obj_*", "objects/tmp_objdir-*", "objects/tmp_obj_*"} {
		left, _ := filepath.Glob(filepath.Join(gitcmd.EscapeGlob(r.shadow), pattern)) // the patterns are well-formed
		for _, path := range left {
			_ = os.RemoveAll(path)
		}
	}
	_ = os.Remove(locked)
	_ = os.Remove(unfinished)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// writeIfChanged makes path hold content, atomically. It does not touch a file that
// already does.
func writeIfChanged(path string, content []byte) error {
	if old, err := os.ReadFile(path); err == nil && string(old) == string(content) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return files.Swap(path, content)
}
