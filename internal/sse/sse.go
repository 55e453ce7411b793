// Package sse writes and reads server-sent events, the format text/event-stream.
//
// Writing appends to a byte slice, so the caller decides when bytes leave. Reading
// accepts any stream that a conforming server may send: all three kinds of line ends,
// comments, unknown fields, and data over several lines.
package sse

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
)

// ContentType is the media type of the format.
const ContentType = "text/event-stream"

// Event is one event of a stream. Zero fields were not sent.
type Event struct {
	// ID is the id to resume from after this event. It holds until another is sent, so
	// it is that of an earlier event if this one has none.
	ID   string
	Name string
	Data []byte
}

// Append appends an event and returns the extended slice. It omits an empty id or name,
// and one that contains a line end or, in an id, NUL.
func Append(b []byte, id, name string, data []byte) []byte {
	b = AppendHead(b, id, name)
	for {
		i := lineEnd(data)
		if i < 0 {
			b = append(b, data...)
			return append(b, "\n\n"...)
		}
		b = append(b, data[:i]...)
		b = append(b, "\ndata: "...)
		if data[i] == '\r' && i+1 < len(data) && data[i+1] == '\n' {
			i++
		}
		data = data[i+1:]
	}
}

// AppendHead appends an event up to its data, for callers that append the data
// themselves: it must be one line, followed by two line ends.
func AppendHead(b []byte, id, name string) []byte {
	b = field(b, "id: ", id)
	b = field(b, "event: ", name)
	return append(b, "data: "...)
}

// OneLine reports whether data contains no line end.
func OneLine(data []byte) bool { return lineEnd(data) < 0 }

// lineEnd is where the first line ends, or -1. Searching for each kind of end separately
// is many times faster than for both at once.
func lineEnd(data []byte) int {
	i := bytes.IndexByte(data, '\n')
	if i >= 0 {
		data = data[:i]
	}
	if j := bytes.IndexByte(data, '\r'); j >= 0 {
		return j
	}
	return i
}

func field(b []byte, name, value string) []byte {
	if value == "" || strings.ContainsAny(value, "\r\n\x00") {
		return b
	}
	b = append(b, name...)
	b = append(b, value...)
	return append(b, '\n')
}

// AppendComment appends a comment, which readers ignore: it keeps a connection alive.
// Line ends in it become spaces.
func AppendComment(b []byte, text string) []byte {
	b = append(b, ": "...)
	for _, c := range []byte(text) {
		if c == '\r' || c == '\n' {
			c = ' '
		}
		b = append(b, c)
	}
	return append(b, "\n\n"...)
}

// ErrTooLong says that a line, or the data of an event, is longer than the reader allows.
var ErrTooLong = errors.New("sse: an event is too long")

// Read yields the events of a stream. Their data may hold at most max bytes, and is
// valid until the next one is pulled. The error comes last and once; there is none if
// the stream simply ends. An unfinished event is dropped, as the format requires.
func Read(r io.Reader, max int) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		lines := lineReader{r: bufio.NewReader(r), max: max}
		var ev Event
		has := false
		for first := true; ; first = false {
			line, err := lines.next()
			if errors.Is(err, io.EOF) {
				return
			} else if err != nil {
				yield(Event{}, err)
				return
			}
			if first {
				line = bytes.TrimPrefix(line, []byte("\ufeff"))
			}
			if len(line) == 0 {
				if has {
					ev.Data = bytes.TrimSuffix(ev.Data, []byte("\n"))
					if !yield(ev, nil) {
						return
					}
				}
				ev, has = Event{ID: ev.ID}, false
				continue
			}
			name, value, _ := bytes.Cut(line, []byte(":"))
			value = bytes.TrimPrefix(value, []byte(" "))
			switch string(name) {
			case "data":
				if len(ev.Data)+len(value) > max {
					yield(Event{}, fmt.Errorf("%w: more than %d bytes", ErrTooLong, max))
					return
				}
				ev.Data = append(append(ev.Data, value...), '\n')
				has = true
			case "event":
				ev.Name = string(value)
			case "id":
				if !bytes.Contains(value, []byte{0}) {
					ev.ID = string(value)
				}
			}
		}
	}
}

// lineReader splits at \n, \r\n and \r. It never waits for what follows a \r: a \n that
// comes after it is skipped later.
type lineReader struct {
	r    *bufio.Reader
	max  int
	cr   bool
	line []byte
}

// next returns the next line without its end. It is valid until the next call. It drops
// an unfinished line at the end of the stream.
func (l *lineReader) next() ([]byte, error) {
	l.line = l.line[:0]
	for {
		if _, err := l.r.Peek(1); err != nil {
			return nil, err
		}
		waiting, _ := l.r.Peek(l.r.Buffered())
		if l.cr && waiting[0] == '\n' {
			waiting = waiting[1:]
			_, _ = l.r.Discard(1)
		}
		l.cr = false
		i := bytes.IndexAny(waiting, "\r\n")
		if i < 0 {
			l.line = append(l.line, waiting...)
			_, _ = l.r.Discard(len(waiting))
		} else {
			l.line = append(l.line, waiting[:i]...)
			l.cr = waiting[i] == '\r'
			_, _ = l.r.Discard(i + 1)
		}
		if len(l.line) > l.max+len("data: ") {
			return nil, fmt.Errorf("%w: a line is longer than %d bytes", ErrTooLong, l.max)
		}
		if i >= 0 {
			return l.line, nil
		}
	}
}
