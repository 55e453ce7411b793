package uhp

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"github.com/terret-dev/terret"
)

const (
	keyLife = 24 * time.Hour
	maxKeys = 10_000
	// keySessions is how many sessions are looked through for a key from before a start.
	keySessions = 200
)

// keys remembers which task a repeated request began. The zero value is ready to use.
type keys struct {
	mu    sync.Mutex
	known map[string]*keyed
	order []string // the oldest first
}

type keyed struct {
	body  [32]byte
	at    time.Time
	ready chan struct{} // closed when the task has begun, or could not
	task  running
	err   error
}

// once begins the task of a request, or finds the one that the same request began before. A
// task is told by the id of its prompt, which the key makes, also after a restart.
func (d *Door) once(c *call, raw json.RawMessage, begin func(message string) (running, error)) (running, error) {
	key := c.r.Header.Get("Idempotency-Key")
	if key == "" {
		return begin("")
	}
	if len(key) > 255 {
		return running{}, invalid("Idempotency-Key", "It must not be longer than 255 bytes.")
	}
	me, err := c.Me(c.ctx)
	if err != nil {
		return running{}, err
	}
	message := terret.DerivedID(terret.PrefixMessage, "uhp", me.Name, key)
	for {
		k, first := d.keys.claim(message, sha256.Sum256(raw))
		if first {
			// It goes on if the caller goes, who will ask again.
			own := *c
			own.ctx = context.WithoutCancel(c.ctx)
			k.task, k.err = d.found(&own, message)
			if k.err == nil && k.task.turn == "" {
				k.task, k.err = begin(message)
			}
			if k.err != nil {
				d.keys.forget(message, k)
			}
			close(k.ready)
			return k.task, k.err
		}
		if k.body != sha256.Sum256(raw) {
			return running{}, invalid("Idempotency-Key", "It was used for another request.")
		}
		select {
		case <-k.ready:
		case <-c.ctx.Done():
			return running{}, context.Cause(c.ctx)
		}
		if k.err == nil {
			task := k.task
			task.after = 0 // the log may be what the session's last number was by then, or more
			return task, nil
		}
	}
}

// claim returns what is known of a key, or that the caller is the first.
func (k *keys) claim(id string, body [32]byte) (known *keyed, first bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := time.Now()
	for len(k.order) > 0 && (len(k.order) >= maxKeys || k.known[k.order[0]] == nil || now.Sub(k.known[k.order[0]].at) > keyLife) {
		delete(k.known, k.order[0])
		k.order = k.order[1:]
	}
	if found := k.known[id]; found != nil {
		return found, false
	}
	if k.known == nil {
		k.known = map[string]*keyed{}
	}
	made := &keyed{body: body, at: now, ready: make(chan struct{})}
	k.known[id], k.order = made, append(k.order, id)
	return made, true
}

func (k *keys) forget(id string, failed *keyed) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.known[id] == failed {
		delete(k.known, id)
	}
}

// found looks for a task that began before this server did.
func (d *Door) found(c *call, message string) (running, error) {
	looked := 0
	for s, err := range c.AllSessions(c.ctx, terret.SessionFilter{Limit: 100}) {
		looked++
		if err != nil {
			return running{}, err
		}
		if looked > keySessions || d.began.Sub(s.UpdatedAt.Time) > keyLife {
			break // the rest is older
		}
		if s.CreatedAt.After(d.began) {
			continue
		}
		turns, err := c.Turns(c.ctx, s.ID)
		if err != nil {
			continue // it was deleted meanwhile
		}
		for i, t := range turns {
			if t.MessageID == message {
				return running{session: s, turn: t.ID, previous: before(turns, i)}, nil
			}
		}
	}
	return running{}, nil
}

// ownerOf is who sent a request, as the door tells callers apart.
func ownerOf(authorization string) string {
	sum := sha256.Sum256([]byte(strings.TrimSpace(authorization)))
	return string(sum[:])
}
