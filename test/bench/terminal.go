package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"time"
)

func terminalSection() section {
	return section{
		name: "Terminal workspace",
		intro: "What the full-screen workspace does before a frame is written: opening a session, and a key to the frame that shows it, at rest and " +
			"while a command prints 2,000 pieces of output in each frame (`tui: BenchmarkOpen, BenchmarkKey`).",
		run: benchTerminal,
	}
}

// benchLine is a line of a benchmark: its name without the number of processors, the time
// and the memory of one run.
var benchLine = regexp.MustCompile(`(?m)^Benchmark(\S+?)(?:-\d+)?\s+\d+\s+([\d.]+) ns/op\s+(\d+) B/op`)

func benchTerminal(ctx context.Context, _ string) ([]row, error) {
	cmd := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-bench", "^Benchmark(Open|Key)$", "-benchmem", "-benchtime", "300ms", "./tui")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("the benchmarks of tui: %w\n%s", err, out)
	}
	took, memory := map[string]time.Duration{}, map[string]float64{}
	for _, m := range benchLine.FindAllStringSubmatch(string(out), -1) {
		ns, err := strconv.ParseFloat(m[2], 64)
		if err != nil {
			return nil, err
		}
		took[m[1]] = time.Duration(ns)
		if memory[m[1]], err = strconv.ParseFloat(m[3], 64); err != nil {
			return nil, err
		}
	}
	if len(took) != 4 {
		return nil, fmt.Errorf("the benchmarks of tui said %q", out)
	}
	return []row{
		{"opening a session of 50,000 events, to its first frame", against(took["Open/50000"], "an empty one", took["Open/0"]), ""},
		{"what that allocates", fmt.Sprintf("%.0f MB; an empty one %.1f MB", memory["Open/50000"]/1e6, memory["Open/0"]/1e6), ""},
		{"a key to its frame while a command floods the terminal", against(took["Key/flood=2000"], "at rest", took["Key/flood=0"]), ""},
	}, nil
}
