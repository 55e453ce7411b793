package redact

// Pieces redacts texts that are shown separately, though a secret may begin in one and
// end in the next: lines that were cut, parts of a long line. Only one goroutine may
// use it.
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
	spans := p.r.scan(whole, p.before)
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

func ending(s string) string { return s[max(0, len(s)-contextBytes):] }
