package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret/internal/test/guardtest"
)

func TestBash(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.Environ = append(b.Environ, "GREETING=hello")
	b.write("here", "")
	for _, c := range []struct {
		command, want string
		failed        bool
	}{
		{"echo one", "one\n", false},
		{"printf one", "one", false},
		{"true", "[no output]", false},
		{"false", "[exit code 1]", true},
		{"printf one; exit 3", "one\n[exit code 3]", true},
		{"kill -KILL $$", "[ended by SIGKILL]", true},
		{"echo 1; echo 2 >&2; echo 3; echo 4 >&2", "1\n2\n3\n4\n", false},
		{"ls", "here\n", false},
		{"echo $GREETING $HOME", "hello\n", false},
		{"cat; echo ended", "ended\n", false},
		{"read x || echo no input", "no input\n", false},
		{"[ -t 0 ] || [ -t 1 ] || echo no terminal", "no terminal\n", false},
		{`printf '\033[31mred\033[0m \000 \377 \r\nx'`, "red  \uFFFD \nx", false},
		{"echo line one\necho line two", "line one\nline two\n", false},
		{"# only a comment", "[no output]", false},
		{"echo hi > >(sleep 0.1; cat)", "hi\n", false}, // bash does not wait for it
		{"[[ -n $BASH_VERSION ]] && echo bash", "bash\n", false},
	} {
		res := b.run("Bash", input{"command": c.command})
		wantText(t, c.want, res.Text)
		if res.IsError != c.failed || res.Duration <= 0 || res.Truncated {
			t.Errorf("%s: %+v", c.command, res)
		}
	}
	res := b.run("Bash", input{"command": "-x"})
	wantWords(t, res.Text, "-x: command not found", "[exit code 127]")
	res = b.run("Bash", input{"command": "no-such-program-here"})
	wantWords(t, res.Text, "command not found", "[exit code 127]")
}

func TestBashUse(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	use := b.prepare("Bash", input{"command": "go test ./...", "description": "Run tests"})
	wantText(t, "Run `go test ./...`", use.Title)
	wantText(t, "go test ./...", use.Command)
	if use.Inside || use.Paths != nil || use.Class != Execute || use.Diff != "" {
		t.Errorf("%+v", use)
	}
	wantText(t, "Run `a↵b\uFFFD`", b.prepare("Bash", input{"command": "a\nb\x1b"}).Title)
	if n := utf8.RuneCountInString(b.prepare("Bash", input{"command": strings.Repeat("é", 500)}).Title); n > 130 {
		t.Errorf("a title of %d characters", n)
	}
	var facts bashFacts
	res := b.run("Bash", input{"command": "echo x; exit 7"})
	if err := json.Unmarshal(res.Structured, &facts); err != nil {
		t.Error(err)
	}
	if d := cmp.Diff(bashFacts{ExitCode: 7, OutputBytes: 2}, facts); d != "" {
		t.Error(d)
	}
}

func TestBashRefuses(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.refused("Bash", input{}, `"command" is missing`)
	b.refused("Bash", input{"command": " \n"}, "is empty")
	b.refused("Bash", input{"command": "a\x00b"}, "NUL")
	b.refused("Bash", input{"command": strings.Repeat("x", commandLimit+1)}, "write it to a file")
	b.refused("Bash", input{"command": "x", "timeout_ms": 600001}, "between 1 and 600000")
	b.refused("Bash", input{"command": "x", "timeout_ms": 0}, "between 1 and 600000")
	b.refused("Bash", input{"command": "x", "run_in_the_background": true}, "no field", "command, timeout_ms, description")
	b.Shell = "no-such-shell"
	b.refused("Bash", input{"command": "x"}, "no-such-shell")
	b.Shell = "sh"
	wantText(t, "sh\n", b.works("Bash", input{"command": `basename "$0"`}).Text)
	wantWords(t, b.works("Bash", input{"command": ": " + strings.Repeat("x", commandLimit-2)}).Text, "no output")
	use := b.prepare("Bash", input{"command": "echo x"})
	b.Dir = b.path("none")
	b.refused("Bash", input{"command": "x"}, "is not there")
	b.Dir = "."
	b.refused("Bash", input{"command": "x"}, "is not there")
	if res, err := use.Run(t.Context(), nil); err != nil || res.Text != "x\n" {
		t.Errorf("%+v, %v", res, err)
	}
}

// TestBashFolderGone has the session's folder deleted before the command runs.
func TestBashFolderGone(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	use := b.prepare("Bash", input{"command": "echo x"})
	if err := os.Remove(b.Dir); err != nil {
		t.Fatal(err)
	}
	b.fails(use, "was not run", "folder is gone")
}

func TestBashLongOutput(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	res := b.works("Bash", input{"command": "echo BEGIN; seq 100000; echo END"})
	if n := utf8.RuneCountInString(res.Text); n > outputLimit || n < outputLimit-100 || !res.Truncated {
		t.Errorf("%d characters, truncated %v", n, res.Truncated)
	}
	if !strings.HasPrefix(res.Text, "BEGIN\n1\n2\n") || !strings.HasSuffix(res.Text, "\n100000\nEND\n") {
		t.Errorf("begins %q, ends %q", res.Text[:20], res.Text[len(res.Text)-20:])
	}
	wantWords(t, res.Text, " characters cut ...]")
}

// TestBashGigabyte prints far more than may be held. It is not parallel, so that
// the memory is its own.
func TestBashGigabyte(t *testing.T) {
	b := newBench(t)
	use := b.prepare("Bash", input{"command": fmt.Sprintf("yes | head -c %d", gigabyte)})
	var before runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	most := before.HeapInuse
	res, err := use.Run(t.Context(), func(string) {
		var now runtime.MemStats
		runtime.ReadMemStats(&now)
		most = max(most, now.HeapInuse)
	})
	if err != nil || res.IsError {
		t.Fatalf("%.200s, %v", res.Text, err)
	}
	var after runtime.MemStats
	runtime.ReadMemStats(&after)
	most = max(most, after.HeapInuse)
	if grown := int64(most) - int64(before.HeapInuse); grown > 16<<20 {
		t.Errorf("the heap has grown by %d bytes", grown)
	}
	var facts bashFacts
	if err := json.Unmarshal(res.Structured, &facts); err != nil || facts.OutputBytes != gigabyte || !res.Truncated {
		t.Errorf("facts %+v, error %v", facts, err)
	}
	if total := after.TotalAlloc - before.TotalAlloc; total > 64<<20 {
		t.Errorf("%d bytes were allocated in all", total)
	}
	t.Logf("%v for %d bytes", res.Duration, gigabyte)
}

func TestBashTimeout(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	marker := guardtest.Marker()
	res := b.run("Bash", input{"command": "echo begun; setsid sleep " + marker + " & sleep " + marker, "timeout_ms": 2000})
	wantText(t, "begun\n[timed out after 2s: the command and everything it started were ended]", res.Text)
	var facts bashFacts
	if err := json.Unmarshal(res.Structured, &facts); err != nil || !facts.TimedOut || facts.ExitCode != -1 || !res.IsError {
		t.Errorf("%+v, error %v", res, err)
	}
	guardtest.NoneAlive(t, marker)
}

// TestBashCancelled cancels in the middle of a command that tries to escape.
func TestBashCancelled(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	marker := guardtest.Marker()
	// The tree reads its stdin to live on; here that is at its end.
	tree := strings.ReplaceAll(strings.ReplaceAll(guardtest.Tree, "while read line; do :; done", "sleep $1"), "$1", marker)
	cause := errors.New("the user said stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	use := b.prepare("Bash", input{"command": tree})
	var wg sync.WaitGroup
	wg.Go(func() {
		guardtest.Eventually(t, "sleeps", func() bool { return guardtest.Sleeps(t, marker) >= guardtest.TreeSize })
		cancel(cause)
	})
	res, err := use.Run(ctx, nil)
	wg.Wait()
	if !errors.Is(err, cause) {
		t.Errorf("error %v", err)
	}
	if !strings.HasPrefix(res.Text, "ready\n") || !strings.HasSuffix(res.Text, "\n[cancelled: the command and everything it started were ended]") {
		t.Errorf("result %q", res.Text) // in between the shell may say what was ended
	}
	guardtest.NoneAlive(t, marker)
}

func TestBashBackground(t *testing.T) {
	t.Parallel()
	for name, command := range map[string]string{
		"holds the pipe": "sleep MARK & echo out",
		"has let go":     "setsid nohup sleep MARK >/dev/null 2>&1 </dev/null & echo out",
		"stubborn":       `(trap "" TERM HUP INT; exec setsid sleep MARK) & echo out`,
		"double fork":    `(setsid sh -c 'sleep MARK & sleep MARK &' &) ; echo out`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			marker := guardtest.Marker()
			res := b.works("Bash", input{"command": strings.ReplaceAll(command, "MARK", marker)})
			wantText(t, "out\n[processes that the command left running in the background were ended]", res.Text)
			var facts bashFacts
			if err := json.Unmarshal(res.Structured, &facts); err != nil || !facts.BackgroundEnded {
				t.Errorf("facts %+v, error %v", facts, err)
			}
			guardtest.NoneAlive(t, marker)
		})
	}
}

// TestBashProgress is that output is told while the command runs: it goes on only when
// it was.
func TestBashProgress(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	use := b.prepare("Bash", input{"command": "echo one; until [ -e told ]; do sleep 0.01; done; echo two; until [ -e again ]; do sleep 0.01; done; echo three"})
	var told []string
	res, err := use.Run(t.Context(), func(text string) {
		told = append(told, text)
		b.write([]string{"told", "again", "more"}[len(told)-1], "")
	})
	if err != nil || res.IsError || res.Text != "one\ntwo\nthree\n" {
		t.Fatalf("%+v, %v", res, err)
	}
	if got := strings.Join(told, ""); got != "one\ntwo\n" && got != res.Text {
		t.Errorf("progress %q, output %q", told, res.Text)
	}
}

// TestBashProgressIsSlow is that much output in little time is told in few pieces.
func TestBashProgressIsSlow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out output
		exited := make(chan struct{})
		go func() {
			defer close(exited)
			for range 1000 {
				time.Sleep(time.Millisecond)
				out.add([]byte("x"))
			}
			time.Sleep(time.Second) // in which there is nothing to tell
		}()
		var told []int
		c := &command{timeout: time.Hour}
		if why := c.await(t.Context(), exited, &out, func(text string) { told = append(told, len(text)) }); why != ended {
			t.Errorf("it ended with %v", why)
		}
		all := 0
		for _, n := range told {
			all += n
		}
		if len(told) < 5 || len(told) > 6 || all != 1000 {
			t.Errorf("told in pieces of %v", told)
		}
	})
}

// TestBashProgressPanics has nothing left when the caller's function fails.
func TestBashProgressPanics(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	marker := guardtest.Marker()
	use := b.prepare("Bash", input{"command": "echo x; sleep " + marker})
	func() {
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		_, _ = use.Run(t.Context(), func(string) { panic("mine") })
	}()
	guardtest.AwaitNone(t, marker)
}

// TestBashAtTheSameTime runs many commands at once.
func TestBashAtTheSameTime(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var wg sync.WaitGroup
	for i := range 8 {
		use := b.prepare("Bash", input{"command": fmt.Sprintf("echo %d; echo %d >&2", i, i)})
		wg.Go(func() {
			res, err := use.Run(t.Context(), nil)
			if err != nil || res.Text != fmt.Sprintf("%d\n%d\n", i, i) {
				t.Errorf("%+v, %v", res, err)
			}
		})
	}
	wg.Wait()
}
