package tools

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"unicode/utf8"
)

// lines reads a text line by line and keeps a bounded part of each.
type lines struct {
	r    *bufio.Reader
	keep int // bytes of a line that are kept

	line  []byte // valid until the next call of next; without its ending
	cut   int    // characters of the line that were not kept
	crlf  bool   // the line ended with "\r\n"
	size  int64  // bytes of the line, its ending included
	began bool
}

func newLines(r io.Reader, keep int) *lines {
	return &lines{r: bufio.NewReaderSize(r, readSize), keep: keep}
}

// start returns the beginning of the text without using it up.
func (l *lines) start() []byte {
	b, _ := l.r.Peek(sniffSize)
	return b
}

// more reports whether there is another line.
func (l *lines) more() bool {
	_, err := l.r.Peek(1)
	return err == nil
}

// next reads a line. At the end it returns io.EOF.
func (l *lines) next() error {
	l.line, l.cut, l.crlf, l.size = l.line[:0], 0, false, 0
	for {
		piece, err := l.r.ReadSlice('\n')
		l.size += int64(len(piece))
		ended := err == nil
		if ended {
			piece = piece[:len(piece)-1]
		}
		room := min(l.keep-len(l.line), len(piece))
		l.line = append(l.line, piece[:room]...)
		l.cut += utf8.RuneCount(piece[room:])
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && (!errors.Is(err, io.EOF) || l.size == 0):
			return err
		}
		if ended && l.cut == 0 {
			l.line, l.crlf = bytes.CutSuffix(l.line, []byte("\r"))
		}
		if !l.began {
			l.began = true
			l.line = bytes.TrimPrefix(l.line, byteOrderMark)
		}
		return nil
	}
}

// byteOrderMark begins some UTF-8 files.
var byteOrderMark = []byte("\xef\xbb\xbf")
