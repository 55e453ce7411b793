// Command bench measures Terret and prints the table of docs/BENCHMARKS.md. Rates
// stand beside a baseline that is measured in the same run, since the machines
// this runs on are shared and noisy: trust the ratios.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/pprof"
	"strings"
	"time"
)

// row is a line of the report.
type row struct{ what, result, target string }

// section is one part of the report. It runs in a folder of its own.
type section struct {
	name  string
	intro string
	run   func(ctx context.Context, dir string) ([]row, error)
}

func sections() []section {
	return []section{footprintSection(), storeSection(), serverSection(), deadSection(), claudeHTTPSection(), doorsSection(), terminalSection(), agentsSection()}
}

func main() {
	write := flag.String("write", "", "file to write the report to, beside printing it")
	only := flag.String("only", "", "run only the sections whose name contains this")
	profile := flag.String("cpuprofile", "", "file to write a profile to, for go tool pprof")
	flag.Parse()
	if *profile != "" {
		f, err := os.Create(*profile)
		if err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1) // there is nothing in the file
		}
		defer pprof.StopCPUProfile()
	}
	if err := report(context.Background(), *write, *only); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func report(ctx context.Context, path, only string) error {
	var text bytes.Buffer
	out := io.MultiWriter(os.Stdout, &text)
	fmt.Fprintf(out, "# Benchmarks\n\nMade by `make bench` on %s, %s/%s, %d cores, %s. Shared machines are noisy: ratios of a single run mean more than rates.\n",
		time.Now().UTC().Format(time.DateOnly), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version())
	for _, s := range sections() {
		if !strings.Contains(s.name, only) {
			continue
		}
		dir, err := os.MkdirTemp("", "terret-bench-")
		if err != nil {
			return err
		}
		rows, err := s.run(ctx, dir)
		if rmErr := os.RemoveAll(dir); err == nil {
			err = rmErr
		}
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		fmt.Fprintf(out, "\n## %s\n\n%s\n\n| what | measured | target |\n|---|---|---|\n", s.name, s.intro)
		for _, r := range rows {
			fmt.Fprintf(out, "| %s | %s | %s |\n", r.what, r.result, r.target)
		}
	}
	if path == "" || only != "" {
		return nil
	}
	return os.WriteFile(path, text.Bytes(), 0o644)
}
