package proc

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

const (
	tailSize = 64 << 10 // bytes of stderr that are kept
	lineCut  = 500      // bytes of a line that are kept
)

// tail keeps the last lines of a stream. String is safe during collect.
type tail struct {
	onLine func(string) // may be nil; set before collect

	mu    sync.Mutex
	lines []string
	size  int    // of lines, one byte each for the line break included
	part  []byte // the line that has no end yet, cut
}

// collect reads r to its end.
func (t *tail) collect(r io.Reader) {
	buf := make([]byte, 8<<10)
	for {
		n, err := r.Read(buf)
		t.add(buf[:n])
		if err != nil {
			break
		}
	}
	if len(t.part) > 0 {
		t.endLine()
	}
}

func (t *tail) add(b []byte) {
	for len(b) > 0 {
		piece, rest, ended := bytes.Cut(b, []byte("\n"))
		b = rest
		t.mu.Lock()
		// A few bytes more than the cut, to cut between characters later.
		room := max(lineCut+utf8.UTFMax-len(t.part), 0)
		t.part = append(t.part, piece[:min(len(piece), room)]...)
		t.mu.Unlock()
		if ended {
			t.endLine()
		}
	}
}

func (t *tail) endLine() {
	t.mu.Lock()
	line := cut(t.part)
	t.part = t.part[:0]
	t.lines = append(t.lines, line)
	t.size += len(line) + 1
	for t.size > tailSize {
		t.size -= len(t.lines[0]) + 1
		t.lines = t.lines[1:]
	}
	t.mu.Unlock()
	if t.onLine != nil {
		t.onLine(line)
	}
}

// String returns the lines, and the unfinished one last.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := t.lines
	if len(t.part) > 0 {
		lines = append(slices.Clip(lines), cut(t.part))
	}
	return strings.Join(lines, "\n")
}

// cut makes text of a line: no "\r" at its end, at most lineCut bytes, whole
// characters, valid UTF-8.
func cut(line []byte) string {
	line = bytes.TrimSuffix(line, []byte("\r"))
	if len(line) > lineCut {
		end := lineCut
		for end > lineCut-utf8.UTFMax && !utf8.RuneStart(line[end]) {
			end--
		}
		line = line[:end]
	}
	return strings.ToValidUTF8(string(line), "?")
}
