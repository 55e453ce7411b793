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
		intro: "The real program, with a scripted model on loopback, through the engine in the benchmark's own process: no HTTP. \"Direct\" is the same program, driven by hand over its stream, " +
			"started as leanly as it can be with its permission requests; \"the driver alone\" has a host that keeps nothing. Turns that are " +
			"compared were taken in alternation; times are medians.",
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
	b := claudeBench{program: program, work: work, env: claudeEnv(dir, model.url)}
	return b.run(ctx, dir)
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
	warmed        chan struct{} // gets one for each agent that the pool has started
}

// took is how long a turn took, and the CPU time that this process used for it.
type took struct{ text, end, cpu time.Duration }

// prewarmed is the driver, which says when it has started an agent for the pool.
type prewarmed struct {
	*claude.Driver
	done chan<- struct{}
}

func (p prewarmed) Prewarm(ctx context.Context, r terret.OpenRequest) (terret.Warm, error) {
	w, err := p.Driver.Prewarm(ctx, r)
	p.done <- struct{}{}
	return w, err
}

func (b claudeBench) run(ctx context.Context, dir string) (rows []row, err error) {
	driver, err := b.driverAlone(ctx)
	if err != nil {
		return nil, err
	}
	store, err := sqlite.Open(ctx, filepath.Join(dir, "terret.db"), sqlite.Options{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	b.warmed = make(chan struct{}, 100)
	open := func(size int) (*engine.Engine, error) {
		return engine.New(ctx, engine.Config{
			Store: store, Drivers: []terret.Driver{prewarmed{claude.New(claude.Config{Path: b.program}), b.warmed}}, Env: b.env,
			Home: filepath.Join(dir, "home"), Pool: engine.Pool{Size: size},
		})
	}
	e, err := open(0) // nothing else is started while turns are measured
	if err != nil {
		return nil, err
	}
	warm, err := b.warm(ctx, e)
	if err = errors.Join(err, e.Close(context.WithoutCancel(ctx))); err != nil {
		return nil, err
	}
	if e, err = open(1); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, e.Close(context.WithoutCancel(ctx))) }()
	first, err := b.first(ctx, e)
	return slices.Concat(warm, driver, first), err
}

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

// warm compares turns through the engine with direct ones.
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
	view := watch(ctx, e, s.ID)
	defer view.stop()
	all, err := alternate(warmTurns, func() (took, error) { return view.turn(ctx) }, direct.turn)
	if err != nil {
		return nil, err
	}
	text, bareText := medianOf(all[0], textOf), medianOf(all[1], textOf)
	return []row{
		{fmt.Sprintf("warm turn, prompt to end, median of %d", warmTurns), ratioOf(medianOf(all[0], endOf), medianOf(all[1], endOf)), "ratio 1.15"},
		{"first text in a warm turn", fmt.Sprintf("%.1f ms; direct %.1f ms: added %.1f ms", ms(text), ms(bareText), ms(text-bareText)), "added 2 ms"},
		{"CPU of the engine and its driver in a warm turn, mean", fmt.Sprintf("%.2f ms", ms(meanCPU(all[0]))), ""},
	}, nil
}

// driverAlone compares turns of the driver, without an engine and a store, with direct
// ones; and the two ways to start the program directly.
func (b claudeBench) driverAlone(ctx context.Context) (rows []row, err error) {
	lean, err := b.startDirect(ctx)
	if err != nil {
		return nil, err
	}
	defer lean.close()
	printing, err := b.startDirect(ctx, "-p")
	if err != nil {
		return nil, err
	}
	defer printing.close()
	driver, err := b.openDriver(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, driver.close(ctx)) }()
	all, err := alternate(warmTurns, func() (took, error) { return driver.turn(ctx) }, lean.turn, printing.turn)
	if err != nil {
		return nil, err
	}
	return []row{
		{"the same, the driver alone", ratioOf(medianOf(all[0], endOf), medianOf(all[1], endOf)), ""},
		{"CPU of the driver alone in a warm turn, mean", fmt.Sprintf("%.2f ms; to read the direct one %.2f ms", ms(meanCPU(all[0])), ms(meanCPU(all[1]))), ""},
		{"direct warm turn, with `-p`", ratioOf(medianOf(all[2], endOf), medianOf(all[1], endOf)), ""},
	}, nil
}

func ratioOf(own, direct time.Duration) string {
	return fmt.Sprintf("%.1f ms; direct %.1f ms: ratio %.2f", ms(own), ms(direct), float64(own)/float64(direct))
}

// first compares the time to the first text of a new session with that of a process
// that is up, and of one that is not.
func (b claudeBench) first(ctx context.Context, e *engine.Engine) ([]row, error) {
	var pooled, greeted, cold []took
	for range coldStarts {
		t, err := b.firstPooled(ctx, e)
		if err != nil {
			return nil, err
		}
		pooled = append(pooled, t)
		if t, err = b.firstGreeted(ctx); err != nil {
			return nil, err
		}
		greeted = append(greeted, t)
		text, err := b.coldText(ctx)
		if err != nil {
			return nil, err
		}
		cold = append(cold, took{text: text})
	}
	own, up, bare := medianOf(pooled, textOf), medianOf(greeted, textOf), medianOf(cold, textOf)
	return []row{{
		fmt.Sprintf("first text of a new session, from the pool, median of %d", coldStarts),
		fmt.Sprintf("%.0f ms; a direct process that is up %.0f ms; cold `claude -p` %.0f ms: %.1f times sooner", ms(own), ms(up), ms(bare), float64(bare)/float64(own)), "200 ms",
	}}, nil
}

// settled is how long a process is left alone after its start.
const settled = 2 * time.Second

// firstPooled is the first turn of a new session whose agent waits in the pool.
func (b claudeBench) firstPooled(ctx context.Context, e *engine.Engine) (took, error) {
	s, err := e.Create(ctx, terret.Session{Agent: claude.Name, Cwd: b.work})
	if err != nil {
		return took{}, err
	}
	if err := e.Prewarm(ctx, s); err != nil {
		return took{}, err
	}
	select {
	case <-b.warmed:
	case <-time.After(time.Minute):
		return took{}, errors.New("the pool is empty after a minute")
	}
	time.Sleep(settled)
	view := watch(ctx, e, s.ID)
	defer view.stop()
	t, err := view.turn(ctx)
	if err != nil {
		return took{}, err
	}
	return t, e.CloseSession(ctx, s.ID, "bench")
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
