package terret

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"sync"
	"time"
)

// Prefixes of ids. A session id is a bare UUID, because some agents accept only that.
const (
	PrefixTurn       = "trn_"
	PrefixRequest    = "req_"
	PrefixCheckpoint = "chk_"
	PrefixMessage    = "msg_"
	PrefixRule       = "rul_"
	PrefixWorker     = "wrk_"
	PrefixControl    = "ctl_"
)

// NewID returns a new id: the prefix, then a version 7 UUID. Ids made by one process
// sort in the order they were made. It is safe for concurrent use.
func NewID(prefix string) string {
	u := ids.next(time.Now())
	return prefix + format(u)
}

// NewSessionID returns a new session id, a bare version 7 UUID.
func NewSessionID() string { return NewID("") }

// ValidID reports whether s is the prefix and a UUID in lower case. It rejects any
// string that could be read as a flag, a path or a pattern.
func ValidID(prefix, s string) bool {
	s, ok := strings.CutPrefix(s, prefix)
	if !ok || len(s) != 36 {
		return false
	}
	for i, c := range []byte(s) {
		switch i {
		case 8, 13, 18, 23:
			if c != '-' {
				return false
			}
		default:
			if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
				return false
			}
		}
	}
	return true
}

// MessageUUID is the id of a message of that session where only UUIDs will do. Ids of
// ours without their prefix, and ids that are UUIDs, stay what they are; for others,
// which agents choose, it is computed from the id.
func MessageUUID(session, id string) string {
	if bare := strings.TrimPrefix(id, PrefixMessage); ValidID("", strings.ToLower(bare)) {
		return bare
	}
	return DerivedID("", session, id)
}

// DerivedID returns the prefix and a UUID that is computed from parts (version 8): the
// same parts give the same id.
func DerivedID(prefix string, parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	u := [16]byte(sum[:16])
	u[6] = 0x80 | u[6]&0x0f
	u[8] = 0x80 | u[8]&0x3f
	return prefix + format(u)
}

// generator makes version 7 UUIDs whose 48 bits of time and 12 bits of counter never go
// back, even if the clock does.
type generator struct {
	mu      sync.Mutex
	ms      int64
	counter uint16
}

var ids generator

func (g *generator) next(now time.Time) [16]byte {
	var u [16]byte
	rand.Read(u[:]) // never fails: crypto/rand.Read crashes the program instead

	g.mu.Lock()
	if ms := now.UnixMilli(); ms > g.ms {
		g.ms, g.counter = ms, uint16(u[6]&0x07)<<8|uint16(u[7])
	} else if g.counter++; g.counter > 0x0fff {
		g.ms, g.counter = g.ms+1, 0
	}
	ms, counter := g.ms, g.counter
	g.mu.Unlock()

	for i := range 6 {
		u[i] = byte(ms >> (40 - 8*i))
	}
	u[6] = 0x70 | byte(counter>>8)
	u[7] = byte(counter)
	u[8] = 0x80 | u[8]&0x3f
	return u
}

func format(u [16]byte) string {
	var b [36]byte
	hex.Encode(b[0:8], u[0:4])
	hex.Encode(b[9:13], u[4:6])
	hex.Encode(b[14:18], u[6:8])
	hex.Encode(b[19:23], u[8:10])
	hex.Encode(b[24:36], u[10:16])
	b[8], b[13], b[18], b[23] = '-', '-', '-', '-'
	return string(b[:])
}
