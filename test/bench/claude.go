package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine"
)

// claudeProgram is the pinned one that `make conformance` installs.
func claudeProgram() string {
	if path := os.Getenv("TERRET_CONFORMANCE_CLAUDE"); path != "" {
		return path
	}
	path, err := filepath.Abs(filepath.Join("agents", "node_modules", ".bin", "claude"))
	if err != nil {
		return ""
	}
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}

// claudeEnv is the environment of a program that talks to a model of ours.
func claudeEnv(home, model string) []string {
	return []string{
		"HOME=" + home, "PATH=" + os.Getenv("PATH"), "ANTHROPIC_BASE_URL=" + strings.TrimSpace(model), "ANTHROPIC_API_KEY=not-a-key",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1",
	}
}

// startModel serves a scripted model in a process of its own, so that its work is not
// taken for ours.
func startModel(ctx context.Context, dir string) (*served, error) {
	path, bin := filepath.Join(dir, "model.yaml"), filepath.Join(dir, "terret")
	script := "steps:\n  - match: {user: /./}\n    repeat: forever\n    answer: {text: Hello.}\n"
	if err := os.WriteFile(path, []byte(script), 0o600); err != nil {
		return nil, err
	}
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", bin, "./cmd/terret").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build: %w\n%s", err, out)
	}
	cmd := exec.CommandContext(ctx, bin, "sim", path)
	cmd.Env = clean(dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return nil, errors.Join(err, cmd.Wait())
	}
	return &served{cmd: cmd, url: line[strings.Index(line, "http"):]}, nil
}

// served is a model that is served by another process.
type served struct {
	cmd *exec.Cmd
	url string
}

func (s *served) close() {
	_ = s.cmd.Process.Signal(os.Interrupt)
	_ = s.cmd.Wait()
}

type claudeBench struct {
	program, work string
	env           []string
}

// took is how long a turn took, and the CPU time that this process used for it.
type took struct{ text, end, cpu time.Duration }

// alternate takes n turns in processes that are up, one of each after the other.
func alternate(n int, turns ...func() (took, error)) ([][]took, error) {
	all := make([][]took, len(turns))
	for i := range n + 5 {
		for j, turn := range turns {
			before := cpuTime()
			t, err := turn()
			if err != nil {
				return nil, err
			}
			t.cpu = cpuTime() - before
			if i >= 5 { // the first ones are slower
				all[j] = append(all[j], t)
			}
		}
	}
	return all, nil
}

func textOf(t took) time.Duration { return t.text }
func endOf(t took) time.Duration  { return t.end }

func ratioOf(own, direct time.Duration) string {
	return fmt.Sprintf("%.1f ms; direct %.1f ms: ratio %.2f", ms(own), ms(direct), float64(own)/float64(direct))
}

// viewer prompts a session and follows it from turn to turn, as a user interface does.
type viewer struct {
	e       *engine.Engine
	session string
	next    func() (terret.Entry, error, bool)
	cancel  context.CancelFunc
	stop    func()
	line    []byte
}

// watch follows a session. The caller stops the viewer.
func watch(ctx context.Context, e *engine.Engine, session string) *viewer {
	ctx, cancel := context.WithCancel(ctx)
	next, end := iter.Pull2(e.Events(ctx, engine.EventQuery{Session: session, Follow: true}))
	return &viewer{e: e, session: session, next: next, cancel: cancel, stop: func() { cancel(); end() }}
}

// turn prompts the session and returns when the turn is over. It makes the JSON of each
// event, as a frontend that shows it would.
func (v *viewer) turn(ctx context.Context) (t took, err error) {
	defer time.AfterFunc(time.Minute, v.cancel).Stop()
	began := time.Now()
	if _, err := v.e.Prompt(ctx, engine.PromptRequest{Session: v.session, Prompt: hello()}); err != nil {
		return took{}, err
	}
	for {
		entry, err, ok := v.next()
		if err != nil || !ok {
			return took{}, errors.Join(errors.New("the turn did not end"), err)
		}
		v.line = entry.AppendJSON(v.line[:0])
		switch {
		case entry.Kind == terret.KindMessageDelta && t.text == 0:
			t.text = time.Since(began)
		case entry.Kind == terret.KindTurnComplete:
			t.end = time.Since(began)
			return t, nil
		case entry.Kind == terret.KindTurnError:
			return took{}, fmt.Errorf("the turn failed: %s", v.line)
		}
	}
}

func hello() terret.Prompt {
	return terret.Prompt{Blocks: []terret.Block{terret.Text("hello")}, MessageID: terret.NewID(terret.PrefixMessage)}
}

func medianOf(all []took, of func(took) time.Duration) time.Duration {
	var times []time.Duration
	for _, t := range all {
		times = append(times, of(t))
	}
	return medianTime(times)
}

func meanCPU(all []took) (sum time.Duration) {
	for _, t := range all {
		sum += t.cpu
	}
	return sum / time.Duration(len(all))
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func medianTime(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}
