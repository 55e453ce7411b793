package proc

import (
	"io"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// waiter reads a pipe as [os.File] does, waiting with Go's poller, but reads without
// telling the scheduler. The scheduler wakes a thread to watch over the first system
// call after a rest, and an agent that says a line now and then always comes after a
// rest. These calls do not block, so there is nothing to watch.
type waiter struct {
	f    *os.File
	conn syscall.RawConn // nil if reading may block
	try  func(fd uintptr) bool
	p    []byte
	n    int
	err  error
}

func newWaiter(f *os.File) *waiter {
	w := &waiter{f: f}
	w.try = w.readOnce // made once, not for each line
	conn, err := f.SyscallConn()
	if err == nil && isNonblock(conn) {
		w.conn = conn
	}
	return w
}

// isNonblock reports whether a read returns at once. One that blocks would keep a
// processor from all other goroutines.
func isNonblock(conn syscall.RawConn) (is bool) {
	err := conn.Control(func(fd uintptr) {
		flags, err := unix.FcntlInt(fd, unix.F_GETFL, 0)
		is = err == nil && flags&unix.O_NONBLOCK != 0
	})
	return is && err == nil
}

// Read implements [io.Reader]. Closing the file, or its deadline, ends the wait.
func (w *waiter) Read(p []byte) (int, error) {
	if w.conn == nil || len(p) == 0 {
		return w.f.Read(p)
	}
	w.p = p
	err := w.conn.Read(w.try)
	w.p = nil
	switch {
	case err != nil:
		return w.f.Read(p) // says so as files do
	case w.err != nil:
		return 0, &os.PathError{Op: "read", Path: w.f.Name(), Err: w.err}
	case w.n == 0:
		return 0, io.EOF
	}
	return w.n, nil
}

// readOnce reads, and reports whether there was something to read, or an end.
func (w *waiter) readOnce(fd uintptr) bool {
	for {
		n, _, e := syscall.RawSyscall(syscall.SYS_READ, fd, uintptr(unsafe.Pointer(&w.p[0])), uintptr(len(w.p))) // it is our buffer
		switch e {
		case 0:
			w.n, w.err = int(n), nil // at most the length
			return true
		case syscall.EINTR:
		case syscall.EAGAIN:
			return false
		default:
			w.n, w.err = 0, e
			return true
		}
	}
}
