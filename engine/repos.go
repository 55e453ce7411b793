package engine

import (
	"context"
	"sync"

	"github.com/terret-dev/terret/internal/checkpoint"
)

// undoer keeps the shadow repositories of folders.
type undoer struct {
	home   string // empty: undo is off
	limits checkpoint.Limits

	mu    sync.Mutex
	repos map[string]*checkpoint.Repo // by folder; they remember what they last saw
}

// repo opens the shadow repository of a folder, or says why undo is off.
func (u *undoer) repo(ctx context.Context, dir string) (*checkpoint.Repo, error) {
	if u.home == "" {
		return nil, &checkpoint.DisabledError{Dir: dir, Reason: "it is switched off, or there is no data folder"}
	}
	u.mu.Lock()
	known := u.repos[dir]
	u.mu.Unlock()
	if known != nil {
		return known, nil
	}
	r, err := checkpoint.Open(ctx, u.home, dir, u.limits)
	if err != nil {
		return nil, err
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if known = u.repos[dir]; known != nil {
		return known, nil
	}
	if u.repos == nil {
		u.repos = map[string]*checkpoint.Repo{}
	}
	u.repos[dir] = r
	return r, nil
}
