package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/native"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/test/sim"
)

// nativeScript has a model that streams a text in pieces.
const nativeScript = `{steps: [{answer: {text: "` + nativeText + `", chunk: 40}, repeat: forever}]}`

const nativeText = "The quick brown fox jumps over the lazy dog, and the dog does not mind at all. " +
	"It has seen foxes before, and it will see them again, for that is how the days go by here. "

func nativeSection() section {
	return section{
		name:  "Native",
		intro: fmt.Sprintf("%d sessions of the native agent in one process, all streaming at once from a scripted model over HTTP, into a file of `store/sqlite`; then all of them open and idle.", crowd),
		run:   benchNative,
	}
}

func benchNative(ctx context.Context, dir string) (rows []row, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*engineDeadline)
	defer cancel()
	scenario, err := sim.Parse("bench.yaml", []byte(nativeScript))
	if err != nil {
		return nil, err
	}
	server, err := sim.NewServer(scenario, sim.Options{})
	if err != nil {
		return nil, err
	}
	running, err := server.Start(ctx, "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, running.Close()) }()
	env := map[string]string{"ANTHROPIC_API_KEY": "none", "ANTHROPIC_BASE_URL": running.URL()}
	d := native.New(native.Config{Getenv: func(name string) string { return env[name] }})
	err = withEngine(ctx, filepath.Join(dir, "native.db"), d, func(e *engine.Engine) error {
		before := inUse()
		took, err := crowdOf(ctx, e, dir)
		if err != nil {
			return err
		}
		if err := d.Shutdown(ctx); err != nil { // connections that wait are not the sessions'
			return err
		}
		each := float64(inUse()-before) / crowd / 1e6
		rows = []row{
			{fmt.Sprintf("a turn in each of %d sessions, all at once, until the last one ends", crowd), took.Round(10 * time.Millisecond).String(), ""},
			{"memory of an open, idle session (heap and stacks, after a collection)", fmt.Sprintf("%.3f MB", each), "1 MB"},
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	_, size, err := built(ctx, dir)
	return append(rows, row{"size of the binary, with the agent, its tools, MCP and plugins", fmt.Sprintf("%.1f MB", float64(size)/1e6), ""}), err
}

// crowdOf has a turn in each of many sessions, and says how long all of them took.
func crowdOf(ctx context.Context, e *engine.Engine, dir string) (time.Duration, error) {
	ids := make([]string, crowd)
	for i := range ids {
		s, err := e.Create(ctx, terret.Session{Agent: native.Name, Cwd: dir, Model: "anthropic/claude-test", Policy: terret.PolicyAutoApprove})
		if err != nil {
			return 0, err
		}
		ids[i] = s.ID
	}
	errs := make([]error, crowd)
	began := time.Now()
	var group sync.WaitGroup
	for i, id := range ids {
		group.Go(func() { _, errs[i] = turn(ctx, e, id, 0) })
	}
	group.Wait()
	return time.Since(began), errors.Join(errs...)
}

// inUse is the memory that is in use after a collection, in bytes.
func inUse() int64 {
	runtime.GC()
	runtime.GC() // what the first one found dead is given back by the second
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse) // it fits
}

// built builds the program as it is released, and returns its size in bytes.
func built(ctx context.Context, dir string) (bin string, size int64, err error) {
	bin = filepath.Join(dir, "terret")
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", bin, "./cmd/terret")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", 0, fmt.Errorf("build: %w\n%s", err, out)
	}
	info, err := os.Stat(bin)
	if err != nil {
		return "", 0, err
	}
	return bin, info.Size(), nil
}
