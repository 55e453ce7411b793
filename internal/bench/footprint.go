package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

func footprintSection() section {
	return section{
		name:  "Footprint",
		intro: "The binary as released (`CGO_ENABLED=0`, stripped).",
		run:   footprint,
	}
}

func footprint(ctx context.Context, dir string) ([]row, error) {
	bin := filepath.Join(dir, "terret")
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", bin, "./cmd/terret")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build: %w\n%s", err, out)
	}
	info, err := os.Stat(bin)
	if err != nil {
		return nil, err
	}
	deps, err := directDependencies("go.mod")
	if err != nil {
		return nil, err
	}
	start, memory, err := startOf(ctx, bin)
	if err != nil {
		return nil, err
	}
	return []row{
		{"direct dependencies", fmt.Sprintf("%d: %s", len(deps), strings.Join(deps, ", ")), ""},
		{"size of the binary", fmt.Sprintf("%.1f MB", float64(info.Size())/1e6), ""},
		{"`terret version`, median of 50", start.Round(100 * time.Microsecond).String(), "20 ms"},
		{"`terret version`, peak memory", fmt.Sprintf("%.1f MB", float64(memory)/1e3), ""},
	}, nil
}

// startOf runs the binary 50 times and returns the median time and the peak
// resident size in kilobytes.
func startOf(ctx context.Context, bin string) (time.Duration, int64, error) {
	var took []time.Duration
	var peak int64
	for range 50 {
		began := time.Now()
		cmd := exec.CommandContext(ctx, bin, "version")
		if err := cmd.Run(); err != nil {
			return 0, 0, err
		}
		took = append(took, time.Since(began))
		peak = max(peak, maxRSS(cmd.ProcessState))
	}
	slices.Sort(took)
	return took[len(took)/2], peak, nil
}

func directDependencies(path string) ([]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var out []string
	inside := false
	for s := bufio.NewScanner(f); s.Scan(); {
		line := strings.TrimSpace(s.Text())
		switch {
		case strings.HasPrefix(line, "require ("):
			inside = true
		case line == ")":
			inside = false
		case inside && line != "" && !strings.Contains(line, "// indirect"):
			out = append(out, strings.Fields(line)[0])
		}
	}
	return out, nil
}
