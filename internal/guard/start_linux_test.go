package guard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/terret-dev/terret/internal/test/guardtest"
)

func TestExitStatus(t *testing.T) {
	t.Parallel()
	tests := []struct {
		script string
		want   Exit
	}{
		{"exit 0", Exit{Code: 0}},
		{"exit 7", Exit{Code: 7}},
		{"exit 255", Exit{Code: 255}},
		{"kill -TERM $$", Exit{Code: -1, Signal: "SIGTERM"}},
		{"kill -KILL $$", Exit{Code: -1, Signal: "SIGKILL"}},
		{"kill -INT $$", Exit{Code: -1, Signal: "SIGINT"}},
	}
	for _, tt := range tests {
		t.Run(tt.script, func(t *testing.T) {
			t.Parallel()
			a := run(t, Config{}, tt.script)
			await(t, "the end of the agent", a.Gone())
			got := a.Status()
			if got.Duration <= 0 {
				t.Errorf("duration %v", got.Duration)
			}
			got.Duration = 0
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("exit (-want +got):\n%s", diff)
			}
		})
	}
}

func TestGuardDropsSignals(t *testing.T) {
	t.Parallel()
	a := run(t, Config{}, "while read line; do echo $line; done")
	for _, sig := range []syscall.Signal{unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGQUIT, unix.SIGUSR1, unix.SIGPIPE} {
		if err := unix.Kill(a.GuardPID(), sig); err != nil {
			t.Fatal(err)
		}
	}
	_, _ = io.WriteString(a.stdin, "still here\n")
	if got := a.line(t); got != "still here" {
		t.Errorf("the agent said %q", got)
	}
	_ = a.stdin.Close()
	await(t, "the end", a.Gone())
	if err := a.Err(); err != nil {
		t.Errorf("error %v", err)
	}
}

// TestWhatTheAgentInherits looks at the agent from inside: its descriptors,
// ignored signals, group, and environment byte for byte.
func TestWhatTheAgentInherits(t *testing.T) {
	t.Parallel()
	stray, err := os.Open("/dev/null") // as if inherited by the harness
	if err != nil {
		t.Fatal(err)
	}
	defer stray.Close()
	if _, err := unix.FcntlInt(stray.Fd(), unix.F_SETFD, 0); err != nil {
		t.Fatal(err)
	}
	env := []string{"PATH=" + os.Getenv("PATH"), "BYTES=\xff\x01 \"'", "EMPTY=", "TERRET_OWNER=forged", "X=a=b"}
	a := run(t, Config{Env: env, Owner: "w:1"},
		`grep SigIgn /proc/$$/status; cut -d' ' -f1,5 /proc/$$/stat; tr '\n\0' ' \n' </proc/$$/environ; echo end; read line`)
	// Signals 32 and 33 belong to the C library's threads: Go cannot touch them, and
	// some parents leave them ignored.
	const threads = 1<<31 | 1<<32
	line := a.line(t)
	ignored, err := strconv.ParseUint(strings.TrimSpace(strings.TrimPrefix(line, "SigIgn:")), 16, 64)
	if err != nil || ignored&^threads != 0 {
		t.Errorf("ignored signals: %q, %v", line, err)
	}
	if want, got := fmt.Sprintf("%d %d", a.PID(), a.PID()), a.line(t); got != want {
		t.Errorf("pid and group %q, want %q", got, want)
	}
	var got []string
	for line := a.line(t); line != "end"; line = a.line(t) {
		got = append(got, line)
	}
	if o, ok := parseOwner(strings.TrimPrefix(got[0], OwnerEnv+"=")); !ok || o.worker != "w:1" || o.pid != os.Getpid() {
		t.Errorf("owner mark %q", got[0])
	}
	want := slices.DeleteFunc(env, func(s string) bool { return strings.HasPrefix(s, OwnerEnv) })
	if diff := cmp.Diff(want, got[2:]); diff != "" {
		t.Errorf("environment after the marks (-want +got):\n%s", diff)
	}
	// It sits in read now, with no pipe of its own open.
	guardtest.Eventually(t, "descriptors 0, 1 and 2 only", func() bool {
		entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", a.PID()))
		return err == nil && len(entries) == 3
	})
	// Neither arguments nor environment of the agent show at the guard.
	for _, name := range []string{"cmdline", "environ"} {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", a.GuardPID(), name))
		if err != nil || strings.Contains(string(b), "BYTES") || strings.Contains(string(b), "SigIgn") {
			t.Errorf("the guard's %s: %q, error %v", name, b, err)
		}
	}
}

func TestStartRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	sh := Config{Path: "/bin/sh", Argv: []string{"sh", "-c", "exit 0"}, Dir: "/"}
	with := func(change func(*Config)) Config {
		c := sh
		change(&c)
		return c
	}
	tests := []struct {
		name string
		ctx  context.Context
		c    Config
		want error
	}{
		{"gone program", t.Context(), with(func(c *Config) { c.Path = filepath.Join(dir, "none") }), syscall.ENOENT},
		{"gone folder", t.Context(), with(func(c *Config) { c.Dir = filepath.Join(dir, "none") }), syscall.ENOENT},
		{"not executable", t.Context(), with(func(c *Config) { c.Path = plain }), syscall.EACCES},
		{"too long", t.Context(), with(func(c *Config) { c.Argv = []string{"sh", strings.Repeat("x", 1<<20)} }), syscall.E2BIG},
		{"canceled", canceled, sh, context.Canceled},
		{"no arguments", t.Context(), with(func(c *Config) { c.Argv = nil }), nil},
		{"relative program", t.Context(), with(func(c *Config) { c.Path = "sh" }), nil},
		{"relative folder", t.Context(), with(func(c *Config) { c.Dir = "." }), nil},
		{"NUL in an argument", t.Context(), with(func(c *Config) { c.Argv = []string{"sh", "a\x00b"} }), nil},
		{"NUL in the environment", t.Context(), with(func(c *Config) { c.Env = []string{"A=\x00"} }), nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := Start(tt.ctx, tt.c)
			if err == nil || tt.want != nil && !errors.Is(err, tt.want) {
				t.Errorf("error %v, want one that wraps %v", err, tt.want)
			}
		})
	}
}

// TestStartEndsWithItsContext cancels at many moments of the start: it must be
// an agent that runs or an error with nothing left behind.
func TestStartEndsWithItsContext(t *testing.T) {
	t.Parallel()
	for i := range 10 {
		marker := guardtest.Marker()
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i*i)*time.Millisecond)
		g, err := Start(ctx, Config{Path: "/bin/sleep", Argv: []string{"sleep", marker}, Dir: "/"})
		cancel()
		if err == nil {
			_ = g.Close()
			await(t, "the end", g.Gone())
		}
		guardtest.NoneAlive(t, marker)
	}
}

// TestLinksLittle keeps the guard lean: its init runs in every agent's guard.
func TestLinksLittle(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", ".").Output()
	if err != nil {
		t.Skipf("go list: %v", err)
	}
	want := []string{"golang.org/x/sys/unix", "github.com/terret-dev/terret/internal/guard"}
	if diff := cmp.Diff(want, strings.Fields(string(out))); diff != "" {
		t.Errorf("packages outside the standard library (-want +got):\n%s", diff)
	}
}

// BenchmarkStart is the cost of a guard: start, agent, end.
func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		g, err := Start(b.Context(), Config{Path: "/bin/true", Argv: []string{"true"}, Dir: "/"})
		if err != nil {
			b.Fatal(err)
		}
		<-g.Gone()
	}
}

// TestGuardLetsGoOfThePipes is that only the agent holds its standard files once it is
// said to run: a harness that writes to an agent whose input is closed must notice.
func TestGuardLetsGoOfThePipes(t *testing.T) {
	t.Parallel()
	for range 20 {
		a := run(t, Config{}, "read line")
		for fd := range 3 {
			if held, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", a.GuardPID(), fd)); err != nil || held != os.DevNull {
				t.Errorf("descriptor %d of the guard is %q, %v", fd, held, err)
			}
		}
		_ = a.stdin.Close()
		await(t, "the end", a.Gone())
	}
}
