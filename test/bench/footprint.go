package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
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
	bin, size, err := built(ctx, dir)
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
	first, err := firstText(ctx, bin, dir)
	if err != nil {
		return nil, err
	}
	idle, err := idleMemory(ctx, bin, dir)
	if err != nil {
		return nil, err
	}
	return []row{
		{"direct dependencies", fmt.Sprintf("%d: %s", len(deps), strings.Join(deps, ", ")), ""},
		{"size of the binary", fmt.Sprintf("%.1f MB", float64(size)/1e6), ""},
		{"`terret version`, median of 50", start.Round(100 * time.Microsecond).String(), "20 ms"},
		{"`terret version`, peak memory", fmt.Sprintf("%.1f MB", float64(memory)/1e3), ""},
		{"`terret run` with the demo model to its first text, median of 20", first.Round(100 * time.Microsecond).String(), "60 ms"},
		{"`terret chat`, memory when idle", idle, "20 MB"},
	}, nil
}

// clean is the environment of a machine on which nothing is set up.
func clean(dir string) []string {
	return []string{"HOME=" + dir, "TERRET_HOME=" + filepath.Join(dir, "data"), "PATH=" + os.Getenv("PATH"), "USER=bench"}
}

// firstText runs a turn in a small folder and takes the time to its first words.
func firstText(ctx context.Context, bin, dir string) (time.Duration, error) {
	work := filepath.Join(dir, "work")
	if err := os.MkdirAll(work, 0o755); err != nil {
		return 0, err
	}
	var took []time.Duration
	for range 20 {
		cmd := exec.CommandContext(ctx, bin, "run", "--model", "demo", "hello")
		cmd.Dir, cmd.Env = work, clean(dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			return 0, err
		}
		began := time.Now()
		if err := cmd.Start(); err != nil {
			return 0, err
		}
		if _, err := out.Read(make([]byte, 1)); err != nil {
			return 0, err
		}
		took = append(took, time.Since(began))
		if _, err := io.Copy(io.Discard, out); err != nil {
			return 0, err
		}
		if err := cmd.Wait(); err != nil {
			return 0, err
		}
	}
	slices.Sort(took)
	return took[len(took)/2], nil
}

// idleMemory is the resident size of a conversation that waits for its person.
func idleMemory(ctx context.Context, bin, dir string) (string, error) {
	cmd := exec.CommandContext(ctx, bin, "chat", "--model", "demo")
	cmd.Dir, cmd.Env = filepath.Join(dir, "work"), clean(dir)
	in, err := cmd.StdinPipe()
	if err != nil {
		return "", err
	}
	talk, err := cmd.StderrPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	for s := bufio.NewScanner(talk); s.Scan(); {
		if strings.Contains(s.Text(), "/help") {
			break
		}
	}
	size := residentSize(cmd.Process.Pid)
	if err := in.Close(); err != nil {
		return "", err
	}
	if _, err := io.Copy(io.Discard, talk); err != nil {
		return "", err
	}
	return size, cmd.Wait()
}

// residentSize is the memory of a process that runs: all of it, and what is not the
// program itself, which processes share.
func residentSize(pid int) string {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return "not known on this system"
	}
	var all, own float64
	for line := range strings.Lines(string(status)) {
		_, _ = fmt.Sscanf(line, "VmRSS: %f kB", &all)
		_, _ = fmt.Sscanf(line, "RssAnon: %f kB", &own)
	}
	return fmt.Sprintf("%.1f MB, %.1f MB without the pages of the program itself", all/1e3, own/1e3)
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

// built builds the program as it is released.
func built(ctx context.Context, dir string) (bin string, size int64, err error) {
	bin = filepath.Join(dir, "terret")
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", bin, "./cmd/terret")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", 0, fmt.Errorf("build: %w\n%s", err, out)
	}
	info, err := os.Stat(bin)
	if err != nil {
		return "", 0, err
	}
	return bin, info.Size(), nil
}
