package httpapi

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"sync"

	"github.com/terret-dev/terret"
)

// maxKeys bounds how many idempotency keys are remembered.
const maxKeys = 10_000

// keys remembers the outcome of requests with an Idempotency-Key, so that a repeated
// one is answered but not done again. It forgets the oldest, and everything at a
// restart; where that would do harm, a repeated request is recognised by its effect.
type keys struct {
	mu    sync.Mutex
	known map[[32]byte]*keyed
	order [][32]byte // of successful requests
}

type keyed struct {
	body [32]byte
	done chan struct{}
	v    any
	err  error
}

func (k *keys) init() { k.known = map[[32]byte]*keyed{} }

// do calls fn once for a key in its context. Concurrent callers wait; later ones get
// the same answer, and replayed says so. A failed request may be tried again. A key
// with another body is refused.
func (k *keys) do(ctx context.Context, key string, where []any, body any, fn func() (any, error), replayed *bool) (any, error) {
	if key == "" {
		return fn()
	}
	id, err := digest(append(where, key))
	if err != nil {
		return nil, err
	}
	sum, err := digest(body)
	if err != nil {
		return nil, err
	}
	for {
		k.mu.Lock()
		first := k.known[id]
		if first == nil {
			first = &keyed{body: sum, done: make(chan struct{})}
			k.known[id] = first
			k.mu.Unlock()
			k.run(id, first, fn)
			return first.v, first.err
		}
		k.mu.Unlock()
		if first.body != sum {
			return nil, otherRequest()
		}
		select {
		case <-first.done:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		if first.err == nil {
			if replayed != nil {
				*replayed = true
			}
			return first.v, nil
		}
		// It failed and is forgotten: now it is our turn.
	}
}

func (k *keys) run(id [32]byte, e *keyed, fn func() (any, error)) {
	e.err = terret.Errorf(terret.CodeInternal, "the request failed unexpectedly")
	defer func() {
		k.settle(id, e.err == nil)
		close(e.done)
	}()
	e.v, e.err = fn()
}

// settle remembers a successful request, in place of the oldest if there are too many,
// and forgets a failed one.
func (k *keys) settle(id [32]byte, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !ok {
		delete(k.known, id)
		return
	}
	if k.order = append(k.order, id); len(k.order) > maxKeys {
		delete(k.known, k.order[0])
		k.order = k.order[1:]
	}
}

func otherRequest() error {
	return terret.Invalid("Idempotency-Key", "it was already used for another request; use a new one")
}

func digest(v any) ([32]byte, error) {
	b, err := json.Marshal(v)
	return sha256.Sum256(b), err
}
