package redact

import (
	"sort"
	"strings"
)

// span is a part of a text to replace.
type span struct {
	start, end int
	mark       string
}

// contextBytes is how much of what came before a text is needed to judge its
// first bytes: the longest escape, \u003c.
const contextBytes = 6

// scan finds what to replace in s, in order and without overlaps: overlapping secrets
// become one span. Before is the end of what came before s.
func (r *Redactor) scan(s, before string) (spans []span) {
	shaped := 0 // up to here the text is a key that was recognised by its shape
	for i := 0; i < len(s)-1; i += 2 {
		if !r.pairs[uint16(s[i])<<8|uint16(s[i+1])] {
			continue
		}
		for at := max(i-1, 0); at <= i; at++ {
			sp, end := r.match(s, at, before, at >= shaped)
			if sp.end > 0 {
				spans = join(spans, sp)
			}
			shaped = max(shaped, end)
		}
	}
	return spans
}

// join adds a span that does not begin before the last one.
func join(spans []span, sp span) []span {
	if len(spans) == 0 {
		return append(spans, sp)
	}
	last := &spans[len(spans)-1]
	if sp.start >= last.end {
		return append(spans, sp)
	}
	last.start = min(last.start, sp.start)
	last.end = max(last.end, sp.end)
	if last.mark == unnamed {
		last.mark = sp.mark
	}
	return spans
}

// match returns the longest match that begins at a place, or the zero span, and
// where a key ends that was recognised by its shape. Shapes are left out where
// the place is inside such a key already.
func (r *Redactor) match(s string, at int, before string, withShapes bool) (found span, shaped int) {
	if at+2 >= len(s) {
		return span{}, 0
	}
	key := three(s, at)
	if !r.begins[hash(key)] {
		return span{}, 0
	}
	for _, p := range r.patterns[key] { // the longest first
		if !strings.HasPrefix(s[at:], p.text) {
			continue
		}
		next := span{at, at + len(p.text), p.mark}
		if p.shape != nil {
			if !withShapes {
				continue
			}
			end, ok, _ := p.shape.match(s, at, before)
			if !ok {
				continue
			}
			next.start, next.end = at+p.shape.keep, end
			shaped = max(shaped, end)
		}
		if found.end > 0 {
			next.start, next.end = min(next.start, found.start), max(next.end, found.end)
			if found.mark != unnamed {
				next.mark = found.mark
			}
		}
		found = next
	}
	return found, shaped
}

// unfinished returns the first place in s from which on a secret may go on
// beyond the end of s, or the length of s.
func (r *Redactor) unfinished(s, before string) int {
	for at := max(0, len(s)-max(r.longest, maxTail+maxBegin)); at < len(s); at++ {
		rest := s[at:]
		if len(rest) >= 3 {
			key := three(rest, 0)
			if !r.begins[hash(key)] {
				continue
			}
			for _, p := range r.patterns[key] {
				if p.shape == nil || !strings.HasPrefix(rest, p.text) {
					continue
				}
				if _, _, open := p.shape.match(s, at, before); open {
					return at
				}
			}
		}
		if r.begin(rest) {
			return at
		}
	}
	return len(s)
}

// begin reports whether a pattern begins with s and is longer.
func (r *Redactor) begin(s string) bool {
	i := sort.SearchStrings(r.sorted, s)
	if i < len(r.sorted) && r.sorted[i] == s {
		i++ // sorted holds no text twice
	}
	return i < len(r.sorted) && strings.HasPrefix(r.sorted[i], s)
}
