package redact

import (
	"maps"
	"slices"
	"strings"
	"unsafe"
)

// minLength is the minimum length of a secret.
const minLength = 8

const unnamed = "[redacted]"

// Redactor replaces secrets. It is safe for concurrent use.
type Redactor struct {
	// pairs holds the first and the second pair of bytes of every pattern, so that
	// looking at every other pair of a text misses none.
	pairs [1 << 16]bool
	// begins says, by hash, which three bytes a pattern begins with, and patterns
	// lists those patterns, the longest first.
	begins   [1 << 16]bool
	patterns map[uint32][]pattern
	sorted   []string // what all patterns begin with
	longest  int      // of sorted
}

// pattern is something to replace.
type pattern struct {
	text  string // all of a secret, or the first bytes of a key
	mark  string // what takes its place
	shape *shape // nil for a secret
}

// New makes a Redactor for secrets by name. It ignores values shorter than 8 bytes. It
// finds keys of well-known shapes even without any secrets.
func New(secrets map[string]string) *Redactor { return build(secrets, shapes) }

// Known makes a Redactor that finds only these secrets, or nil if none is long enough.
// It is for texts in which keys of well-known shapes may well be examples.
func Known(secrets map[string]string) *Redactor {
	for _, value := range secrets {
		if len(strings.TrimSpace(value)) >= minLength {
			return build(secrets, nil)
		}
	}
	return nil
}

func build(secrets map[string]string, shapes []shape) *Redactor {
	r := &Redactor{patterns: map[uint32][]pattern{}}
	seen := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(secrets)) {
		value := strings.TrimSpace(secrets[name])
		if len(value) < minLength {
			continue
		}
		mark := markFor(name, secrets)
		for _, form := range forms(value) {
			if !seen[form] {
				seen[form] = true
				r.add(pattern{text: form, mark: mark})
			}
		}
	}
	for i := range shapes {
		r.add(pattern{text: shapes[i].begin, mark: unnamed, shape: &shapes[i]})
	}
	for _, list := range r.patterns {
		slices.SortStableFunc(list, func(a, b pattern) int { return len(b.text) - len(a.text) })
	}
	slices.Sort(r.sorted)
	return r
}

// markFor names the secret, unless its name would give something away or damage the
// text around it.
func markFor(name string, secrets map[string]string) string {
	odd := func(c rune) bool { return c <= ' ' || c > '~' || strings.ContainsRune(`"\<>&[]`, c) }
	if name == "" || strings.ContainsFunc(name, odd) {
		return unnamed
	}
	mark := "[redacted:" + name + "]"
	for _, value := range secrets {
		if value = strings.TrimSpace(value); len(value) >= minLength && strings.Contains(mark, value) {
			return unnamed
		}
	}
	return mark
}

func (r *Redactor) add(p pattern) {
	key := three(p.text, 0)
	r.pairs[pair(p.text, 0)] = true
	r.pairs[pair(p.text, 1)] = true
	r.begins[hash(key)] = true
	r.patterns[key] = append(r.patterns[key], p)
	r.sorted = append(r.sorted, p.text)
	r.longest = max(r.longest, len(p.text))
}

func pair(s string, i int) uint16 { return uint16(s[i])<<8 | uint16(s[i+1]) }

func three(s string, i int) uint32 {
	return uint32(s[i])<<16 | uint32(s[i+1])<<8 | uint32(s[i+2])
}

func hash(three uint32) uint16 { return uint16(three * 0x9E3779B1 >> 16) }

// String returns s with all secrets replaced.
func (r *Redactor) String(s string) string {
	spans := r.scan(s, "")
	return replace(s, spans)
}

// Bytes returns b with all secrets replaced: b itself if there are none, else a
// new slice. It never changes b.
func (r *Redactor) Bytes(b []byte) []byte {
	s := unsafe.String(unsafe.SliceData(b), len(b)) // only read, and not kept
	spans := r.scan(s, "")
	if len(spans) == 0 {
		return b
	}
	return []byte(replace(s, spans))
}

func replace(s string, spans []span) string {
	if len(spans) == 0 {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	at := 0
	for _, sp := range spans {
		b.WriteString(s[at:sp.start])
		b.WriteString(sp.mark)
		at = sp.end
	}
	b.WriteString(s[at:])
	return b.String()
}
