package tools

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// search is a Grep that runs.
type search struct {
	*grepping
	out     strings.Builder
	chars   int // in out
	entries int // matching lines or files in out, by mode
	matches int // matching lines
	files   int // files with matches
	unread  int // files that could not be read
	full    bool
	cutLine bool // of some line only the beginning was searched

	seen  int             // files
	maybe map[string]bool // those that may have matches, if that is known
	known bool
}

// open searches a file below root. What cannot be read is counted and passed
// over: in a tree that others work on, files come and go.
func (s *search) open(ctx context.Context, root *os.Root, rel string) error {
	f, info, err := openIn(root, filepath.FromSlash(rel), s.place)
	if err != nil {
		s.unread++
		return nil
	}
	defer f.Close()
	if s.passes(ctx, rel, info) {
		return nil
	}
	err = s.file(ctx, f, below(s.place, rel))
	if err != nil && ctx.Err() == nil && !errors.Is(err, errEnough) {
		s.unread++
		return nil
	}
	return err
}

// file searches one file. It returns errEnough when the result is full.
func (s *search) file(ctx context.Context, f io.Reader, shown string) error {
	text := newLines(&ctxReader{ctx, f}, grepLine)
	if isBinary(text.start()) {
		return nil
	}
	m := &matcher{search: s, shown: shown}
	for number := 1; ; number++ {
		err := text.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		s.cutLine = s.cutLine || text.cut > 0
		if err := m.line(number, text.line); err != nil {
			return err
		}
		if m.found > 0 && s.mode == modeFiles {
			break
		}
	}
	if m.found == 0 {
		return nil
	}
	switch s.mode {
	case modeFiles:
		return s.entry(shown + "\n")
	case modeCount:
		return s.entry(fmt.Sprintf("%s:%d\n", shown, m.found))
	}
	return nil
}

// entry adds one to the result, or says that it is full.
func (s *search) entry(text string) error {
	if s.entries == s.limit || !s.add(text) {
		s.full = true
		return errEnough
	}
	s.entries++
	return nil
}

// add adds text to the result if there is room.
func (s *search) add(text string) bool {
	n := utf8.RuneCountInString(text)
	if s.full || s.chars+n > grepChars {
		s.full = true
		return false
	}
	s.chars += n
	s.out.WriteString(text)
	return true
}

// matcher looks at the lines of one file, in order.
type matcher struct {
	*search
	shown  string
	found  int
	before []contextLine // lines not shown yet that may be context
	after  int           // lines to show still
	last   int           // last line that was shown
}

type contextLine struct {
	number int
	text   string
}

// line looks at the next line.
func (m *matcher) line(number int, line []byte) error {
	at := m.re.FindIndex(line)
	if at == nil {
		m.pass(number, line)
		return nil
	}
	if m.found++; m.found == 1 {
		m.files++
	}
	m.matches++
	if m.mode != modeContent {
		return nil
	}
	var text strings.Builder
	first := number - len(m.before)
	if m.context > 0 && m.entries > 0 && (m.last == 0 || first > m.last+1) {
		text.WriteString("--\n")
	}
	for _, c := range m.before {
		fmt.Fprintf(&text, "%s-%d-%s\n", m.shown, c.number, c.text)
	}
	fmt.Fprintf(&text, "%s:%d:%s\n", m.shown, number, window(line, at[0]))
	m.before, m.after, m.last = m.before[:0], m.context, number
	return m.entry(text.String())
}

// pass looks at a line that does not match.
func (m *matcher) pass(number int, line []byte) {
	switch {
	case m.context == 0 || m.mode != modeContent:
	case m.after > 0:
		m.after--
		m.last = number
		m.add(fmt.Sprintf("%s-%d-%s\n", m.shown, number, window(line, 0)))
	default:
		if len(m.before) == m.context {
			m.before = append(m.before[:0], m.before[1:]...)
		}
		m.before = append(m.before, contextLine{number, window(line, 0)})
	}
}

// window is the part of a line around a match, within grepWidth characters.
func window(line []byte, at int) string {
	const lead = 100 // bytes before the match
	begin := ""
	if len(line) > grepWidth && at > grepWidth-lead {
		from := at - lead
		for from < at && !utf8.RuneStart(line[from]) {
			from++
		}
		line, begin = line[from:], "..."
	}
	if most := grepWidth*utf8.UTFMax + utf8.UTFMax; len(line) > most {
		line = line[:most] // cutEnd cuts the rest
	}
	return begin + cutEnd(valid(line), grepWidth, "...")
}

// grepFacts is the structured part of a Grep result.
type grepFacts struct {
	Matches int  `json:"matches"` // lines that match, as far as was searched
	Files   int  `json:"files"`   // with matches
	Full    bool `json:"full,omitempty"`
}

func (s *search) result(unreadable int) Result {
	if s.files == 0 {
		s.out.WriteString("[no matches]\n")
	}
	if s.full {
		s.out.WriteString("[the result is full and the search was ended; narrow pattern, path or glob to see more]\n")
	}
	if s.cutLine {
		fmt.Fprintf(&s.out, "[of lines over %d bytes only the beginning was searched]\n", grepLine)
	}
	s.out.WriteString(unreadNote(unreadable))
	if s.unread > 0 {
		fmt.Fprintf(&s.out, "[%s could not be read]\n", count(s.unread, "file"))
	}
	return Result{
		Text: s.out.String(), Truncated: s.full,
		Structured: structured(grepFacts{Matches: s.matches, Files: s.files, Full: s.full}),
	}
}
