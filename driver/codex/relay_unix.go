//go:build unix

package codex

import (
	"bufio"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
)

// hooksWork says that hooks can reach us on this system.
const hooksWork = true

// hookScript hands what a hook is told to us and prints our answer, one line. It opens
// its end of the answer's pipe before it says that it waits, so that we never block on a
// hook that is gone. Its folder is $1.
const hookScript = `t=$(mktemp -d "$1/XXXXXXXX") && mkfifo "$t/answer" && cat >"$t/input" && exec 3<>"$t/answer" &&
echo "${t##*/}" >"$1/asks" && IFS= read -r line <&3 && rm -rf "$t" && printf '%s\n' "$line"
`

// relay is a folder through which hooks reach us: each makes a folder in it, and writes
// its name to a named pipe.
type relay struct {
	dir  string
	asks *os.File
	work sync.WaitGroup
}

// newRelay makes a relay. Nobody serves it yet. It also removes those whose owner was
// killed.
func newRelay() (*relay, error) {
	sweepRelays()
	dir, err := os.MkdirTemp("", "terret-codex-new-")
	if err != nil {
		return nil, err
	}
	r := &relay{dir: strings.Replace(dir, "-new-", "-", 1)}
	asks := filepath.Join(dir, "asks")
	err = errors.Join(os.WriteFile(filepath.Join(dir, "hook"), []byte(hookScript), 0o600), syscall.Mkfifo(asks, 0o600))
	if err == nil {
		// Open for both, it never ends and its opening never waits.
		r.asks, err = os.OpenFile(asks, os.O_RDWR, 0)
	}
	if err == nil {
		err = os.Rename(dir, r.dir) // from here on it is seen to be in use
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return r, nil
}

// sweepRelays removes the folders of relays that nobody reads any more.
func sweepRelays() {
	found, _ := filepath.Glob(filepath.Join(os.TempDir(), "terret-codex-[0-9]*")) // the pattern is good
	for _, dir := range found {
		pipe, err := os.OpenFile(filepath.Join(dir, "asks"), os.O_WRONLY|syscall.O_NONBLOCK, 0)
		switch {
		case err == nil:
			_ = pipe.Close() // somebody does
		case errors.Is(err, syscall.ENXIO):
			_ = os.RemoveAll(dir)
		}
	}
}

// command is what runs as a hook. The shell that reads it may be any.
func (r *relay) command() string {
	return "/bin/sh '" + filepath.Join(r.dir, "hook") + "' '" + r.dir + "'"
}

// serve answers hooks until the relay is closed: each in a goroutine of its own, whose
// function is given what the hook was told and how to answer it with one line. The
// answer's error says that the hook is gone.
func (r *relay) serve(handle func(input []byte, answer func(line []byte) error)) {
	r.work.Go(func() {
		lines := bufio.NewScanner(r.asks)
		for lines.Scan() && lines.Text() != "" {
			dir := filepath.Join(r.dir, filepath.Base(lines.Text()))
			r.work.Go(func() {
				input, err := os.ReadFile(filepath.Join(dir, "input"))
				if err != nil {
					return // it is gone
				}
				handle(input, func(line []byte) error { return answerHookAt(dir, line) })
			})
		}
	})
}

func answerHookAt(dir string, line []byte) error {
	pipe, err := os.OpenFile(filepath.Join(dir, "answer"), os.O_WRONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err // nobody reads
	}
	_, err = pipe.Write([]byte(strings.ReplaceAll(string(line), "\n", " ") + "\n"))
	return errors.Join(err, pipe.Close())
}

// close waits for those who answer hooks, and removes the folder. Whatever they wait for
// must have ended.
func (r *relay) close() {
	_, _ = r.asks.WriteString("\n") // wakes the reader, where closing does not
	r.work.Wait()
	_ = r.asks.Close()
	_ = os.RemoveAll(r.dir)
}
