package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/claude"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/store/sqlite"
)

const (
	warmTurns  = 60
	coldStarts = 8
)

func claudeSection() section {
	return section{
		name: "Claude Code",
		intro: "The real program, with a scripted model on loopback. \"Direct\" is the same program, driven by hand over its stream " +
			"in the same run, turn by turn in alternation.",
		run: benchClaude,
	}
}

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

func benchClaude(ctx context.Context, dir string) ([]row, error) {
	program := claudeProgram()
	if program == "" {
		return []row{{"Claude Code", "not installed: run `make conformance` first", ""}}, nil
	}
	model, err := startModel(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer model.close()
	work := filepath.Join(dir, "work")
	if err := os.MkdirAll(work, 0o755); err != nil {
		return nil, err
	}
	env := []string{
		"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "ANTHROPIC_BASE_URL=" + strings.TrimSpace(model.url), "ANTHROPIC_API_KEY=not-a-key",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1",
	}
	b := claudeBench{program: program, work: work, env: env}
	return b.run(ctx, dir)
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

func (b claudeBench) run(ctx context.Context, dir string) (rows []row, err error) {
	store, err := sqlite.Open(ctx, filepath.Join(dir, "terret.db"), sqlite.Options{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	e, err := engine.New(ctx, engine.Config{
		Store: store, Drivers: []terret.Driver{claude.New(claude.Config{Path: b.program})}, Env: b.env, Home: filepath.Join(dir, "home"),
		Pool: engine.Pool{Size: 1},
	})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, e.Close(context.WithoutCancel(ctx))) }()
	warm, err := b.warm(ctx, e)
	if err != nil {
		return nil, err
	}
	cold, err := b.cold(ctx, e)
	return append(warm, cold...), err
}

// warm compares turns in processes that are up.
func (b claudeBench) warm(ctx context.Context, e *engine.Engine) ([]row, error) {
	direct, err := b.startDirect(ctx)
	if err != nil {
		return nil, err
	}
	defer direct.close()
	s, err := e.Create(ctx, terret.Session{Agent: claude.Name, Cwd: b.work})
	if err != nil {
		return nil, err
	}
	var after int64
	var ours, theirs []time.Duration
	var cpu time.Duration
	for i := range warmTurns + 5 {
		before := cpuTime()
		mine, err := b.turn(ctx, e, s.ID, &after, terret.KindTurnComplete)
		if err != nil {
			return nil, err
		}
		used := cpuTime() - before
		other, err := direct.turn()
		if err != nil {
			return nil, err
		}
		if i >= 5 { // the first ones are slower
			ours, theirs, cpu = append(ours, mine), append(theirs, other), cpu+used
		}
	}
	own, bare := medianTime(ours), medianTime(theirs)
	return []row{
		{fmt.Sprintf("warm turn, prompt to end, median of %d", warmTurns), fmt.Sprintf("%.1f ms; direct %.1f ms: added %.1f ms", ms(own), ms(bare), ms(own-bare)), "added 5 ms"},
		{"CPU of Terret in a warm turn, mean", fmt.Sprintf("%.2f ms", ms(cpu/warmTurns)), "1 ms"},
	}, nil
}

// cold compares the time to the first text of a new session with that of a new
// process.
func (b claudeBench) cold(ctx context.Context, e *engine.Engine) ([]row, error) {
	var pooled, cold []time.Duration
	for range coldStarts {
		s, err := e.Create(ctx, terret.Session{Agent: claude.Name, Cwd: b.work})
		if err != nil {
			return nil, err
		}
		if err := e.Prewarm(ctx, s); err != nil {
			return nil, err
		}
		time.Sleep(3 * time.Second) // it starts in the background
		took, err := b.turn(ctx, e, s.ID, new(int64), terret.KindMessageDelta)
		if err != nil {
			return nil, err
		}
		pooled = append(pooled, took)
		if err := e.CloseSession(ctx, s.ID, "bench"); err != nil {
			return nil, err
		}
		if took, err = b.coldText(ctx); err != nil {
			return nil, err
		}
		cold = append(cold, took)
	}
	own, bare := medianTime(pooled), medianTime(cold)
	return []row{{
		fmt.Sprintf("first text of a new session, from the pool, median of %d", coldStarts),
		fmt.Sprintf("%.0f ms; cold `claude -p` %.0f ms: %.1f times sooner", ms(own), ms(bare), float64(bare)/float64(own)), "10 times",
	}}, nil
}

// turn prompts a session and takes the time until the first event of a kind. It
// returns when the turn is over.
func (b claudeBench) turn(ctx context.Context, e *engine.Engine, session string, after *int64, until terret.Kind) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	began := time.Now()
	t, err := e.Prompt(ctx, engine.PromptRequest{Session: session, Prompt: terret.Prompt{Blocks: []terret.Block{{Type: terret.BlockText, Text: "hello"}}}})
	if err != nil {
		return 0, err
	}
	var took time.Duration
	for entry, err := range e.Events(ctx, engine.EventQuery{Session: session, After: *after, Follow: true}) {
		if err != nil {
			return 0, err
		}
		ev, err := entry.Decode()
		if err != nil {
			return 0, err
		}
		*after = entry.Seq
		if ev.Turn != t.ID {
			continue
		}
		if took == 0 && ev.Kind() == until {
			took = time.Since(began)
		}
		switch d := ev.Data.(type) {
		case terret.TurnComplete:
			return took, nil
		case terret.TurnError:
			return 0, &d.Error
		}
	}
	return 0, errors.New("the turn did not end")
}

// direct is the program, driven by hand.
type direct struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines *bufio.Reader
}

func (b claudeBench) startDirect(ctx context.Context) (*direct, error) {
	cmd := exec.CommandContext(ctx, b.program, "-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose",
		"--include-partial-messages", "--permission-prompt-tool", "stdio", "--replay-user-messages", "--setting-sources=user")
	cmd.Dir, cmd.Env = b.work, b.env
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &direct{cmd: cmd, in: in, lines: bufio.NewReaderSize(out, 1<<20)}, cmd.Start()
}

func (d *direct) turn() (time.Duration, error) {
	began := time.Now()
	if _, err := io.WriteString(d.in, `{"type":"user","message":{"role":"user","content":"hello"}}`+"\n"); err != nil {
		return 0, err
	}
	for {
		line, err := d.lines.ReadBytes('\n')
		if err != nil {
			return 0, err
		}
		var m struct {
			Type string `json:"type"`
		}
		if json.Unmarshal(line, &m) == nil && m.Type == "result" {
			return time.Since(began), nil
		}
	}
}

func (d *direct) close() {
	_ = d.in.Close()
	_ = d.cmd.Wait()
}

// coldText is the time from the start of a new process to its first text.
func (b claudeBench) coldText(ctx context.Context) (time.Duration, error) {
	cmd := exec.CommandContext(ctx, b.program, "-p", "hello", "--output-format", "stream-json", "--verbose", "--include-partial-messages")
	cmd.Dir, cmd.Env = b.work, b.env
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	var took time.Duration
	lines := bufio.NewReaderSize(out, 1<<20)
	for {
		line, err := lines.ReadString('\n')
		if took == 0 && strings.Contains(line, `"text_delta"`) {
			took = time.Since(began)
		}
		if err != nil {
			break
		}
	}
	return took, cmd.Wait()
}

func medianTime(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
