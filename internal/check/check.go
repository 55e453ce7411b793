// Package check runs the commands that judge what an agent did, such as tests.
package check

import (
	"context"
	"fmt"
	"io"
	"net"
	"runtime"
	"slices"
	"strings"

	"github.com/terret-dev/terret/internal/proc"
)

// keep is how much of the end of the output is kept, in bytes.
const keep = 16 << 10

// Result is how a command ended.
type Result struct {
	OK     bool
	Exit   string // in words, such as "exit code 1"
	Output string // the end of it, standard error included
}

// Run runs a shell command in a folder and waits for it. When the context ends, the
// command and everything it started is killed. The error is about starting it.
func Run(ctx context.Context, dir string, env []string, command string) (Result, error) {
	return Follow(ctx, dir, env, command, func([]byte) {})
}

// Follow is Run that also passes each piece of the output on as it comes. What it passes is
// valid until the next piece.
func Follow(ctx context.Context, dir string, env []string, command string, piece func([]byte)) (Result, error) {
	argv := []string{"sh", "-c", "exec 2>&1\n" + command}
	if runtime.GOOS == "windows" {
		argv = []string{"cmd", "/C", command + " 2>&1"}
	}
	p, err := proc.Start(ctx, proc.Spec{Argv: argv, Dir: dir, Env: proc.FilterEnv(env, "PORT")})
	if err != nil {
		return Result{}, fmt.Errorf("cannot run %q: %w", command, err)
	}
	_ = p.Stdin().Close() // it has ended, then
	stop := context.AfterFunc(ctx, func() { _, _ = p.Kill() })
	defer stop()
	output, readErr := tail(p.Stdout(), piece)
	<-p.Done()
	exit, err := p.Stop(context.WithoutCancel(ctx))
	switch {
	case ctx.Err() != nil:
		return Result{}, context.Cause(ctx)
	case err != nil:
		return Result{}, err
	case readErr != nil:
		return Result{}, readErr
	}
	return Result{OK: exit.Code == 0 && exit.Signal == "", Exit: exit.String(), Output: output}, nil
}

// tail reads everything and returns the end of it.
func tail(r io.Reader, piece func([]byte)) (string, error) {
	var out []byte
	cut := false
	buf := make([]byte, 4096)
	for {
		n, err := r.Read(buf)
		if n > 0 {
			piece(buf[:n])
		}
		out = append(out, buf[:n]...)
		if len(out) > 2*keep {
			out, cut = append([]byte(nil), out[len(out)-keep:]...), true
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return "", err
		}
	}
	if len(out) > keep {
		out, cut = out[len(out)-keep:], true
	}
	text := strings.TrimRight(strings.ToValidUTF8(string(out), "\uFFFD"), "\n")
	if cut {
		text = "[earlier output is left out]\n" + text
	}
	return text, nil
}

// FreePort finds a port that nobody listens on.
func FreePort(ctx context.Context) (int, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer func() { _ = l.Close() }()
	addr, ok := l.Addr().(*net.TCPAddr)
	if !ok {
		return 0, fmt.Errorf("%s is not a port", l.Addr())
	}
	return addr.Port, nil
}

// WithPort is an environment in which PORT names a port.
func WithPort(env []string, port int) []string {
	return append(slices.Clone(env), fmt.Sprintf("PORT=%d", port))
}
