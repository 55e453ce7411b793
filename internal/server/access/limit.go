package access

import (
	"math"
	"net/netip"
	"sync"
	"time"
)

// bucket holds how many failures are left, and when that was last computed.
type bucket struct {
	left float64
	at   time.Time
}

// rate says how many failures are allowed at once, and how fast they come back.
type rate struct {
	burst float64
	every time.Duration // time to get one back
}

// Allowed failures: for one address, and for all.
var (
	addressRate = rate{10, 6 * time.Second}
	globalRate  = rate{100, time.Second}
)

// maxAddresses bounds the addresses that are remembered. Beyond it, only the limit for
// all applies to new ones.
const maxAddresses = 4096

// limiter counts failed sign-ins. It is safe for concurrent use.
type limiter struct {
	mu      sync.Mutex
	all     bucket
	address map[netip.Prefix]*bucket
	swept   time.Time // when old entries were last removed
}

func newLimiter() *limiter {
	return &limiter{all: bucket{left: globalRate.burst, at: time.Now()}, address: map[netip.Prefix]*bucket{}}
}

// fill adds what has come back since.
func (b *bucket) fill(r rate, now time.Time) {
	if since := now.Sub(b.at); since > 0 {
		b.left = min(r.burst, b.left+float64(since)/float64(r.every))
	}
	b.at = now
}

// wait is the time until one comes back.
func (b *bucket) wait(r rate) time.Duration {
	if b.left >= 1 {
		return 0
	}
	return time.Duration(math.Ceil((1 - b.left) * float64(r.every)))
}

// source is what counts as one address: for IPv6 the network, because a machine may own
// all of it.
func source(ip netip.Addr) netip.Prefix {
	ip = ip.Unmap().WithZone("")
	bits := ip.BitLen()
	if ip.Is6() {
		bits = 64
	}
	p, _ := ip.Prefix(bits) // an invalid address has the invalid prefix
	return p
}

// fail counts a failure, and returns how long the address has to wait if that was
// one too many.
func (l *limiter) fail(ip netip.Addr) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	wait := l.all.take(globalRate, now)
	key := source(ip)
	b := l.address[key]
	if b == nil && l.room(now) {
		b = &bucket{left: addressRate.burst, at: now}
		l.address[key] = b
	}
	if b != nil {
		wait = max(wait, b.take(addressRate, now))
	}
	return wait
}

// take takes one if there is one; otherwise it returns how long to wait for one.
func (b *bucket) take(r rate, now time.Time) time.Duration {
	b.fill(r, now)
	if wait := b.wait(r); wait > 0 {
		return wait
	}
	b.left--
	return 0
}

// room makes room for another address, if possible. It does not search at every
// failure, because strangers could cause that work.
func (l *limiter) room(now time.Time) bool {
	if len(l.address) < maxAddresses {
		return true
	}
	if now.Sub(l.swept) < time.Second {
		return false
	}
	l.swept = now
	for key, b := range l.address {
		if b.fill(addressRate, now); b.left >= addressRate.burst {
			delete(l.address, key)
		}
	}
	return len(l.address) < maxAddresses
}
