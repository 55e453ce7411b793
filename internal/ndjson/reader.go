package ndjson

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// defaultMaxLine is the line limit, in bytes, of a Reader that was given none.
const defaultMaxLine = 64 << 20

const (
	readSize  = 64 << 10 // size of one read from the pipe
	keepSize  = 1 << 20  // a line buffer larger than this is let go after use
	prefixMax = 500      // bytes of an overlong line that its error keeps
)

// LineTooLongError reports a line that was skipped because it was over the
// limit. The reader has already drained it: reading may go on.
type LineTooLongError struct {
	Length int64  // bytes of the whole line, without its line ending
	Limit  int    // the limit in force
	Prefix []byte // the first bytes of the line, at most 500; the caller's to keep
}

// Error leaves the content out, since a line may hold a secret.
func (e *LineTooLongError) Error() string {
	return fmt.Sprintf("ndjson: a line of %d bytes is over the limit of %d and was skipped; reading goes on with the next line", e.Length, e.Limit)
}

// Reader splits a stream into lines. See the package comment for its contracts.
type Reader struct {
	src  *bufio.Reader
	max  int
	line []byte // the line last returned, when it did not fit one read
	err  error  // what ended the stream; sticky
}

// NewReader returns a Reader of r that passes lines of up to maxLine bytes, the
// line ending not counted. A maxLine of zero or less means 64 MiB.
func NewReader(r io.Reader, maxLine int) *Reader {
	if maxLine <= 0 {
		maxLine = defaultMaxLine
	}
	return &Reader{src: bufio.NewReaderSize(r, readSize), max: maxLine}
}

// Next is Line without the lines that hold nothing but white space.
func (r *Reader) Next() ([]byte, error) {
	for {
		line, err := r.Line()
		if err != nil || len(bytes.TrimSpace(line)) > 0 {
			return line, err
		}
	}
}

// Line returns the next line without its ending ("\n" or "\r\n"), blank or not.
// A last line without an ending is returned as a line; the call after it
// returns the error that ended the stream, io.EOF or another, and so does every
// later call. A *LineTooLongError does not end the stream.
func (r *Reader) Line() ([]byte, error) {
	if cap(r.line) > keepSize {
		r.line = nil
	}
	r.line = r.line[:0]
	if r.err != nil {
		return nil, r.err
	}
	for {
		part, err := r.src.ReadSlice('\n')
		whole := !errors.Is(err, bufio.ErrBufferFull)
		if whole && err != nil {
			r.err = err
			if len(part)+len(r.line) == 0 {
				return nil, err
			}
		}
		if whole && len(r.line) == 0 {
			return r.checked(trimEnding(part))
		}
		r.line = append(r.line, part...)
		if whole {
			return r.checked(trimEnding(r.line))
		}
		// One byte more than the limit may still be the "\r" of an ending, and
		// the error wants its prefix.
		if len(r.line) > max(r.max+1, prefixMax) {
			return nil, r.drain()
		}
	}
}

func (r *Reader) checked(line []byte) ([]byte, error) {
	if len(line) <= r.max {
		return line, nil
	}
	return nil, r.tooLong(int64(len(line)), line)
}

// drain reads to the end of the line that r.line begins, keeping none of it.
func (r *Reader) drain() error {
	length := int64(len(r.line))
	prefix := bytes.Clone(r.line[:min(len(r.line), prefixMax)])
	endsInCR := r.line[len(r.line)-1] == '\r'
	r.line = nil
	for {
		part, err := r.src.ReadSlice('\n')
		more := errors.Is(err, bufio.ErrBufferFull)
		if !more && err != nil {
			r.err = err
		}
		length += int64(len(part))
		if more {
			endsInCR = part[len(part)-1] == '\r'
			continue
		}
		if bytes.HasSuffix(part, []byte("\r\n")) || endsInCR && string(part) == "\n" {
			length--
		}
		if bytes.HasSuffix(part, []byte("\n")) {
			length--
		}
		return r.tooLong(length, prefix)
	}
}

func (r *Reader) tooLong(length int64, line []byte) error {
	return &LineTooLongError{
		Length: length,
		Limit:  r.max,
		Prefix: bytes.Clone(line[:min(len(line), prefixMax)]),
	}
}

// trimEnding removes "\n" or "\r\n". A "\r" without "\n" is content.
func trimEnding(line []byte) []byte {
	rest, ok := bytes.CutSuffix(line, []byte("\n"))
	if !ok {
		return line
	}
	return bytes.TrimSuffix(rest, []byte("\r"))
}
