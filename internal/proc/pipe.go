package proc

import (
	"errors"
	"io"
	"os"
	"sync"
	"time"
)

// lastWords bounds what is read of a pipe after its release: the most that a
// pipe can hold, so that a process that escaped cannot keep a reader for ever.
const lastWords = 1 << 20

// pipeReader reads a pipe to its end. After release the end is where the pipe
// is empty, whoever still holds the other side. It closes the pipe at the end.
// Read belongs to one goroutine; Close and release may come from others.
type pipeReader struct {
	f *os.File

	mu   sync.Mutex
	over bool // the end was returned, or Close was called

	after int // bytes read after the release; Read's alone
}

func newPipeReader(f *os.File) *pipeReader { return &pipeReader{f: f} }

// Read reads from the pipe. Its end is io.EOF, once and for ever.
func (r *pipeReader) Read(p []byte) (int, error) {
	if r.isOver() {
		return 0, io.EOF
	}
	if len(p) == 0 {
		return 0, nil
	}
	n, err := r.f.Read(p)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		n, err = r.readRest(p)
	}
	if err != nil {
		_ = r.Close()
		if errors.Is(err, os.ErrClosed) {
			err = io.EOF
		}
	}
	return n, err
}

// readRest reads what lies in the pipe, without waiting.
func (r *pipeReader) readRest(p []byte) (int, error) {
	if r.after >= lastWords {
		return 0, io.EOF
	}
	n, err := readNow(r.f, p)
	r.after += n
	if n == 0 && err == nil {
		err = io.EOF
	}
	return n, err
}

// release makes the reader stop at the end of what is in the pipe now.
func (r *pipeReader) release() { _ = r.f.SetReadDeadline(time.Unix(1, 0)) }

func (r *pipeReader) isOver() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.over
}

// Close releases the pipe and unblocks Read. It may be called many times.
func (r *pipeReader) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return nil
	}
	r.over = true
	return r.f.Close()
}
