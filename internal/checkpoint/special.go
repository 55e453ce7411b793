package checkpoint

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// suspicious is how long a snapshot takes before it is looked for what may hold it up.
const suspicious = 500 * time.Millisecond

// specialError is a file of git's that is none: git opens it, and waits for ever.
type specialError struct{ path string }

func (e *specialError) Error() string { return e.path + " is not a regular file" }

// heldUp returns a context that ends when a snapshot takes long and there is a pipe, a
// device or a socket where git reads rules. The caller must call stop, which waits.
func heldUp(ctx context.Context, dir string) (limited context.Context, stop func()) {
	limited, cancel := context.WithCancelCause(ctx)
	var group sync.WaitGroup
	group.Go(func() {
		wait := time.NewTimer(suspicious)
		defer wait.Stop()
		select {
		case <-limited.Done():
			return
		case <-wait.C:
		}
		if path := findSpecial(limited, dir); path != "" {
			cancel(&specialError{path})
		}
	})
	return limited, func() {
		cancel(nil)
		group.Wait()
	}
}

// findSpecial looks for a .gitignore or .gitattributes that is neither a file nor a
// folder. Links count as what they lead to, as for git.
func findSpecial(ctx context.Context, dir string) (found string) {
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return fs.SkipAll
		case err != nil:
			return nil // whatever cannot be looked at holds nobody up
		case d.Name() == ".git" && d.IsDir():
			return fs.SkipDir
		case d.Name() != ".gitignore" && d.Name() != ".gitattributes":
			return nil
		}
		if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
			found = path
			return fs.SkipAll
		}
		return nil
	})
	return found
}

func isSpecial(err error) (*specialError, bool) { return errors.AsType[*specialError](err) }
