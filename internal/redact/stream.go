package redact

import "unicode/utf8"

// Stream redacts a text that arrives in pieces. Put together, what it returns is
// what [Redactor.String] makes of the whole text. It is for one goroutine.
//
// It holds back the end of what it was given for as long as that could be the
// beginning of a secret, or is a part of a character. Mostly that is a character
// or two.
type Stream struct {
	r      *Redactor
	held   string
	before string // the end of what was let go
}

// Stream begins a text.
func (r *Redactor) Stream() *Stream { return &Stream{r: r} }

// Write takes the next piece and returns what may be shown by now.
func (s *Stream) Write(piece string) string {
	s.held += piece
	spans, settled := s.r.scan(s.held, s.before, false)
	if len(spans) == 0 || spans[len(spans)-1].end < settled {
		settled = wholeCharacters(s.held[:settled])
		if n := len(spans); n > 0 {
			settled = max(settled, spans[n-1].end)
		}
	}
	out := replace(s.held[:settled], spans)
	s.before = ending(s.before + s.held[:settled])
	s.held = s.held[settled:]
	return out
}

// Flush ends the text and returns what was held back. The stream can then be
// used for another text.
func (s *Stream) Flush() string {
	spans, _ := s.r.scan(s.held, s.before, true)
	out := replace(s.held, spans)
	s.held, s.before = "", ""
	return out
}

func ending(s string) string { return s[max(0, len(s)-contextBytes):] }

// wholeCharacters is the length of s without the first bytes of a character at
// its end.
func wholeCharacters(s string) int {
	for i := len(s) - 1; i >= max(0, len(s)-utf8.UTFMax); i-- {
		if utf8.RuneStart(s[i]) {
			if !utf8.FullRuneInString(s[i:]) {
				return i
			}
			break
		}
	}
	return len(s)
}

// Pieces redacts texts that are shown apart, though a secret may begin in one and
// end in the next: lines that were cut, parts of a long line. It is for one
// goroutine.
type Pieces struct {
	r      *Redactor
	carry  string // the end of the last text, where a secret may have begun
	before string // the end of what was before that
}

// Pieces begins a sequence of texts.
func (r *Redactor) Pieces() *Pieces { return &Pieces{r: r} }

// telling is how many of a secret's first bytes may be shown.
const telling = 4

// Next returns the next text without what is, or may be, part of a secret.
func (p *Pieces) Next(text string) string {
	whole := p.carry + text
	spans, _ := p.r.scan(whole, p.before, true)
	begun := p.r.unfinished(whole, p.before)
	// What begins to look like a secret is replaced too, unless it is short.
	if len(whole)-begun >= telling {
		spans = join(spans, span{begun, len(whole), unnamed})
	}
	// The carry was shown before.
	cut := len(p.carry)
	for i := range spans {
		spans[i].start = max(spans[i].start-cut, 0)
		spans[i].end = max(spans[i].end-cut, 0)
	}
	for len(spans) > 0 && spans[0].end == 0 {
		spans = spans[1:]
	}
	p.carry, p.before = whole[begun:], ending(p.before+whole[:begun])
	return replace(text, spans)
}
