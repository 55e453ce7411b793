package project

import (
	"bytes"
	"context"
	"errors"
	"os"
	"time"

	"github.com/terret-dev/terret/internal/files"
)

const (
	logName  = "harness.log"
	oldName  = "harness.log.1"
	lockName = "harness.log.lock"
)

// lockWait bounds the wait for other processes that log to the same folder. One that
// holds the lock longer is stuck.
const lockWait = 2 * time.Second

// appendLines appends lines to the log, in one write. Before the log would exceed its
// limit it becomes the old log, of which one is kept. If the lock is not available in
// time, the lines are appended anyway, which is safe, but the log keeps growing.
//
// The log is opened each time. Kept open, it would be in the way of anybody who wants
// to move, delete or unmount the folder, and we would still have to check that it is
// the log: other processes rotate it, and people remove it.
func (f *Files) appendLines(dir *os.Root, lines [][]byte) (err error) {
	if len(lines) == 0 {
		return nil
	}
	logs, err := subfolder(dir, logsName, 0o700)
	if err != nil {
		return err
	}
	defer done(logs)
	lock, locked, err := f.lockLogs(logs)
	if err != nil {
		return err
	}
	defer lock.Close() // also unlocks it
	log, size, err := openLog(logs)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	for len(lines) > 0 {
		n := len(lines)
		if locked {
			n = fitting(lines, size, f.maxLog)
		}
		if n == 0 {
			if log, size, err = rotate(logs, log); err != nil {
				return err
			}
			n = max(1, fitting(lines, size, f.maxLog))
		}
		written, err := writeLines(log, lines[:n], size, locked)
		if err != nil {
			return err
		}
		lines, size = lines[n:], size+written
	}
	return nil
}

// fitting is how many of the lines fit into a log of that size. An empty log always
// takes one.
func fitting(lines [][]byte, size, limit int64) (n int) {
	for n < len(lines) && (size == 0 || size+int64(len(lines[n])) <= limit) {
		size += int64(len(lines[n]))
		n++
	}
	return n
}

// writeLines appends lines to a log of that size and returns their length. If that
// fails half-way, it tries to leave no partial line.
func writeLines(log *os.File, lines [][]byte, size int64, locked bool) (int64, error) {
	text := bytes.Join(lines, nil)
	n, err := log.Write(text)
	if err != nil && locked {
		whole := bytes.LastIndexByte(text[:n], '\n') + 1
		_ = log.Truncate(size + int64(whole))
	}
	return int64(n), err
}

func openLog(logs *os.Root) (*os.File, int64, error) {
	file, info, err := openFile(logs, logName, os.O_WRONLY|os.O_APPEND|os.O_CREATE)
	if err != nil {
		return nil, 0, err
	}
	return file, info.Size(), nil
}

// rotate closes the log, makes it the old one and opens a new one. The returned file is
// never nil.
func rotate(logs *os.Root, log *os.File) (*os.File, int64, error) {
	if err := log.Close(); err != nil {
		return log, 0, err
	}
	if err := logs.Rename(logName, oldName); err != nil {
		return log, 0, err
	}
	file, size, err := openLog(logs)
	if err != nil {
		return log, 0, err
	}
	return file, size, nil
}

// lockLogs keeps other processes from writing to the log until the returned file is
// closed or this process dies. It reports whether it got the lock in time.
func (f *Files) lockLogs(logs *os.Root) (file *os.File, locked bool, err error) {
	file, _, err = openFile(logs, lockName, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, false, err
	}
	ctx, cancel := context.WithTimeoutCause(context.Background(), f.lockWait, errLate)
	defer cancel()
	err = files.Lock(ctx, file)
	if err != nil && !errors.Is(err, errLate) {
		file.Close()
		return nil, false, err
	}
	return file, err == nil, nil
}

// errLate says that another process held the lock too long.
var errLate = errors.New("the log is locked")
