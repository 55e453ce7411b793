package proc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret/internal/ndjson"
	"github.com/terret-dev/terret/internal/test/guardtest"
)

// TestStdoutHolder leaves a process that holds the pipes when the agent ends.
func TestStdoutHolder(t *testing.T) {
	t.Parallel()
	for _, keep := range []bool{false, true} {
		t.Run(fmt.Sprintf("keep %v", keep), func(t *testing.T) {
			t.Parallel()
			marker := guardtest.Marker()
			p := start(t, Spec{StopGrace: short, KeepDescendants: keep},
				`setsid sleep $1 & echo out; echo err >&2; exit 6`, marker)
			out, err := io.ReadAll(p.Stdout())
			if string(out) != "out\n" || err != nil {
				t.Errorf("output %q, error %v", out, err)
			}
			if exit, err := p.Wait(); exit.Code != 6 || err != nil {
				t.Errorf("exit %+v, error %v", exit, err)
			}
			if got := p.StderrTail(); got != "err" {
				t.Errorf("stderr %q", got)
			}
			if keep {
				guardtest.AwaitSleeps(t, marker, 1)
				if exit, err := p.Stop(t.Context()); exit.Code != 6 || err != nil {
					t.Errorf("stop: exit %+v, error %v", exit, err)
				}
			}
			guardtest.NoneAlive(t, marker)
		})
	}
}

func TestBlockedWriterIsReleased(t *testing.T) {
	t.Parallel()
	p := start(t, Spec{StopGrace: short}, `exec sleep 1000`)
	wrote := make(chan error, 1)
	go func() {
		_, err := p.Stdin().Write(make([]byte, 1<<20))
		wrote <- err
	}()
	if _, err := p.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	select {
	case err := <-wrote:
		if err == nil {
			t.Error("a write that nobody read succeeded")
		}
	case <-time.After(guardtest.Patience):
		t.Error("the writer is still blocked")
	}
}

func TestLongLine(t *testing.T) {
	t.Parallel()
	p := start(t, Spec{}, `cat`)
	want := bytes.Repeat([]byte("0123456789abcdef"), 3<<20/16)
	var wg sync.WaitGroup
	wg.Go(func() {
		_, _ = p.Stdin().Write(append(want, "\nshort\n"...))
		_ = p.Stdin().Close()
	})
	r := ndjson.NewReader(p.Stdout(), 0)
	line, err := r.Line()
	if err != nil || !bytes.Equal(line, want) {
		t.Errorf("%d bytes, error %v", len(line), err)
	}
	if line, err = r.Line(); string(line) != "short" {
		t.Errorf("next line %q, error %v", line, err)
	}
	if _, err = r.Line(); !errors.Is(err, io.EOF) {
		t.Errorf("end of stream %v", err)
	}
	wg.Wait()
	if exit, err := p.Wait(); err != nil || exit.Code != 0 {
		t.Errorf("exit %+v, error %v", exit, err)
	}
}

func TestStderr(t *testing.T) {
	t.Parallel()
	var lines []string // of the callback's goroutine, which ends before Done
	p := start(t, Spec{OnStderr: func(line string) { lines = append(lines, line) }},
		`echo one >&2; printf 'two\r\nthree' >&2; exit 1`)
	if exit, err := p.Wait(); exit.Code != 1 || err != nil {
		t.Errorf("exit %+v, error %v", exit, err)
	}
	if diff := cmp.Diff([]string{"one", "two", "three"}, lines); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff("one\ntwo\nthree", p.StderrTail()); diff != "" {
		t.Errorf("tail (-want +got):\n%s", diff)
	}
}

func TestDirAndEnv(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := start(t, Spec{Dir: dir, Owner: "worker"}, `pwd; echo $TERRET_OWNER; env | grep -v -e ^PATH= -e ^PWD= -e ^_= -e ^TERRET_ -e ^SHLVL= -e ^OLDPWD=`)
	out, err := io.ReadAll(p.Stdout())
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(got) != 2 || got[0] != dir || !strings.HasPrefix(got[1], fmt.Sprintf("worker:%d:", os.Getpid())) {
		t.Errorf("folder, owner and stray environment: %q", got)
	}
}

func TestStartRefuses(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	tests := []struct {
		name string
		ctx  context.Context
		s    Spec
		is   error
		says string
	}{
		{"no argv", t.Context(), Spec{}, nil, "argument list is empty"},
		{"empty program", t.Context(), Spec{Argv: []string{""}}, nil, "argument list is empty"},
		{"not installed", t.Context(), Spec{Argv: []string{"no-such-agent"}}, exec.ErrNotFound, `"no-such-agent"`},
		{"no such path", t.Context(), Spec{Argv: []string{"/no/such/agent"}}, exec.ErrNotFound, `"/no/such/agent"`},
		{"not executable", t.Context(), Spec{Argv: []string{file}}, os.ErrPermission, file},
		{"NUL in program", t.Context(), Spec{Argv: []string{"a\x00b"}}, nil, "NUL"},
		{"NUL in argument", t.Context(), Spec{Argv: []string{"sh", "a\x00b"}}, nil, "NUL"},
		{"NUL in environment", t.Context(), Spec{Argv: []string{"sh"}, Env: []string{"A=\x00"}}, nil, "NUL"},
		{"no folder", t.Context(), Spec{Argv: []string{"sh"}, Dir: "/no/such"}, os.ErrNotExist, "/no/such"},
		{"not a folder", t.Context(), Spec{Argv: []string{"sh"}, Dir: file}, nil, "not a folder"},
		{"canceled", canceled, Spec{Argv: []string{"sh"}}, context.Canceled, "sh"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := Start(tt.ctx, tt.s)
			if err == nil || tt.is != nil && !errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("error %v, want one that wraps %v and says %q", err, tt.is, tt.says)
			}
		})
	}
}

// TestContextBoundsTheStartOnly ends the context of a running agent.
func TestContextBoundsTheStartOnly(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	p, err := Start(ctx, Spec{Argv: []string{"cat"}})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	_, _ = io.WriteString(p.Stdin(), "still here\n")
	if line := readLine(t, p); line != "still here\n" {
		t.Errorf("the agent said %q", line)
	}
	if exit, err := p.Stop(t.Context()); exit.Code != 0 || err != nil {
		t.Errorf("exit %+v, error %v", exit, err)
	}
	_ = p.Stdout().Close()
}

// TestGraces holds how long an agent that does not end has, unless the caller says
// otherwise: two seconds when it is stopped, five between TERM and KILL when it is
// killed.
func TestGraces(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		spec       Spec
		stop, kill time.Duration
	}{
		{Spec{}, 2 * time.Second, 5 * time.Second},
		{Spec{StopGrace: time.Minute, KillGrace: time.Hour}, time.Minute, time.Hour},
	} {
		p := start(t, c.spec, `exit 0`)
		if p.stopGrace != c.stop || p.killGrace != c.kill {
			t.Errorf("%+v: %s and %s", c.spec, p.stopGrace, p.killGrace)
		}
		if _, err := p.Wait(); err != nil {
			t.Error(err)
		}
	}
}
