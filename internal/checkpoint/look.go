package checkpoint

import (
	"context"
	"crypto/sha256"
	"os"
	"strings"
	"time"

	"github.com/terret-dev/terret/internal/gitcmd"
)

// A snapshot of a folder that has not changed costs several git processes, before and
// after every turn. A look at it costs one system call a file.

const (
	// lookLimit bounds the names that a look reads. For more, git is as quick.
	lookLimit = 5000
	// settledAfter is how old the last change of a file must be: file systems
	// cannot tell apart two changes that follow each other closely.
	settledAfter = 2 * time.Second
)

// sight is what a folder looks like from outside: the names, kinds, sizes and times
// of what is in it, and everything that decides what a snapshot covers.
type sight struct {
	sum     [sha256.Size]byte
	settled bool // nothing had changed shortly before
}

// seen is a snapshot, and what the folder looked like before it was taken.
type seen struct {
	sight *sight
	snap  Snapshot
	state os.FileInfo // the file of the state that belongs to it

	ignored  map[string]bool // folders that git does not look into, once one was too large without
	hopeless bool            // a look is never enough
}

// unchanged returns the last snapshot, if the folder still looks as it did then. It also
// returns how the folder looks, which is nil if a look is not enough.
func (r *Repo) unchanged(g git) (Snapshot, *sight, bool) {
	r.mu.Lock()
	last := r.known
	r.mu.Unlock()
	if last.seen.hopeless {
		return Snapshot{}, nil, false
	}
	now := r.look(last.seen.ignored)
	if now == nil || last.seen.sight == nil || !last.seen.sight.settled || now.sum != last.seen.sight.sum {
		return Snapshot{}, now, false
	}
	// Another process may have worked on the shadow repository.
	for path, was := range map[string]os.FileInfo{g.Index: last.index, r.statePath(): last.seen.state} {
		if is, err := os.Stat(path); err != nil || was == nil || !sameFile(is, was) {
			return Snapshot{}, now, false
		}
	}
	return last.seen.snap, now, true
}

// remember keeps a snapshot, and what the folder looked like before it was taken: what
// changed since then looks different.
func (r *Repo) remember(ctx context.Context, g git, looked *sight, snap Snapshot) {
	r.mu.Lock()
	last := r.known.seen
	r.mu.Unlock()
	if last.hopeless {
		return
	}
	next := seen{sight: looked, snap: snap}
	next.state, _ = os.Stat(r.statePath())
	if looked == nil || last.ignored != nil { // the rules may be others now
		next.ignored = r.ignoredFolders(ctx, g)
		next.hopeless = looked == nil && last.sight == nil && last.ignored != nil
	}
	r.mu.Lock()
	r.known.seen = next
	r.mu.Unlock()
}

// stopLooking makes all further snapshots ask git: a look does not tell what git sees in
// repositories within the folder, and in files that are tracked although they are ignored.
func (r *Repo) stopLooking() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known.seen = seen{hopeless: true}
}

// ignoredFolders are the folders that a pattern excludes, with all that is in them. It
// is never nil.
func (r *Repo) ignoredFolders(ctx context.Context, g git) map[string]bool {
	found := map[string]bool{}
	var list []string
	err := g.Records(ctx, nil, []string{"ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory"}, func(rec string) error {
		if strings.HasSuffix(rec, "/") {
			list = append(list, rec)
		}
		return nil
	})
	if err != nil || len(list) == 0 {
		return found
	}
	// The list also has folders in which every file is ignored. The next one may not be.
	out, err := g.Output(ctx, gitcmd.JoinNUL(list), "check-ignore", "-z", "--stdin", "--no-index")
	if err != nil { // which is also said if none is
		return found
	}
	for name := range strings.SplitSeq(string(out), "\x00") {
		if dir, ok := strings.CutSuffix(name, "/"); ok {
			found[dir] = true
		}
	}
	return found
}
