package httpapi

import (
	"context"
	"net/http"
	"sync"
	"time"
)

const (
	// smallBody is enough for most routes. Bodies up to that size have no part in the budget.
	smallBody = 16 << 10
	// textBody is for routes that take long texts or lists.
	textBody = 8 << 20
	// bodyBudget is how many bytes of larger bodies may be read and worked on at a time, by
	// all callers together. What is made of a body takes several times its size.
	bodyBudget = 64 << 20
	// bodyWait is how long a request waits for its part of the budget.
	bodyWait  = 2 * time.Second
	retryBody = "5" // seconds, for one that got none
)

// textRoutes take up to textBody, and wholeRoutes what the server takes at all: prompts with
// images.
var (
	textRoutes = map[string]bool{
		"decide": true, "put-rules": true, "create-session": true, "update-session": true, "commit": true, "change-marks": true, "add-preset": true, "change-preset": true, "take-back": true,
		"spawn": true, "send-team-message": true, "start-race": true, "start-review": true, "start-workflow": true,
		"check-config": true, "put-config": true,
	}
	wholeRoutes = map[string]bool{"prompt": true, "edit-queued": true, "run-command": true}
)

// maxBody is how many bytes the route's body may have.
func (r route) maxBody(l Limits) int64 {
	switch {
	case wholeRoutes[r.id]:
		return l.Body
	case textRoutes[r.id]:
		return min(textBody, l.Body)
	}
	return min(smallBody, l.Body)
}

// budget bounds the bytes of all bodies that are in work.
type budget struct {
	mu    sync.Mutex
	used  int64
	freed chan struct{} // closed when some are given back; nil if nobody waits
}

// take reserves n bytes, of which the returned function gives back all. It waits for a while,
// and reports whether there was room.
func (b *budget) take(ctx context.Context, n int64) (release func(), ok bool) {
	n = min(n, bodyBudget)
	wait := time.NewTimer(bodyWait)
	defer wait.Stop()
	for {
		b.mu.Lock()
		if b.used+n <= bodyBudget {
			b.used += n
			b.mu.Unlock()
			return sync.OnceFunc(func() { b.give(n) }), true
		}
		if b.freed == nil {
			b.freed = make(chan struct{})
		}
		freed := b.freed
		b.mu.Unlock()
		select {
		case <-freed:
		case <-wait.C:
			return nil, false
		case <-ctx.Done():
			return nil, false
		}
	}
}

func (b *budget) give(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= n
	if b.freed != nil {
		close(b.freed)
		b.freed = nil
	}
}

// bodyKey is where a request has the function that gives back its part of the budget.
type bodyKey struct{}

// bodyDone gives it back early: nothing of the body is needed while a stream goes on.
func bodyDone(ctx context.Context) {
	if release, ok := ctx.Value(bodyKey{}).(func()); ok {
		release()
	}
}

// admitBody reserves room for a large body, until the returned function is called. An import
// has none: it is worked on while it is read.
func (s *Server) admitBody(r *http.Request) (with *http.Request, release func(), err error) {
	size := s.bodyLimit(r)
	if r.ContentLength >= 0 {
		size = min(size, r.ContentLength)
	}
	if size <= smallBody || r.URL.Path == importPath {
		return r, func() {}, nil
	}
	release, ok := s.bodies.take(r.Context(), size)
	if !ok {
		return r, nil, tooMany("the server is busy with other large requests; send this one again in a few seconds")
	}
	return r.WithContext(context.WithValue(r.Context(), bodyKey{}, release)), release, nil
}
