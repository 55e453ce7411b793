package engine

import (
	"context"
	"sync"

	"github.com/terret-dev/terret/internal/checkpoint"
)

// repos keeps the shadow repositories of folders.
type repos struct {
	home   string // empty: undo is off
	limits checkpoint.Limits

	mu       sync.Mutex
	byFolder map[string]*checkpoint.Repo // they remember what they last saw
}

// repo opens the shadow repository of a folder, or says why undo is off.
func (r *repos) repo(ctx context.Context, dir string) (*checkpoint.Repo, error) {
	if r.home == "" {
		return nil, &checkpoint.DisabledError{Dir: dir, Reason: "it is switched off, or there is no data folder"}
	}
	r.mu.Lock()
	known := r.byFolder[dir]
	r.mu.Unlock()
	if known != nil {
		return known, nil
	}
	made, err := checkpoint.Open(ctx, r.home, dir, r.limits)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if known = r.byFolder[dir]; known != nil {
		return known, nil
	}
	if r.byFolder == nil {
		r.byFolder = map[string]*checkpoint.Repo{}
	}
	r.byFolder[dir] = made
	return made, nil
}
