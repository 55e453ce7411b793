// Command evaluation runs one prompt on a fresh copy of each of many repositories, and prints
// what came of it, what it cost and how long it took. The repositories stay as they are.
//
//	evaluation -prompt "fix the failing test" -check "go test ./..." ~/src/*/ -- --agent claude
//
// What stands behind -- are flags of `terret run`. The exit code is 1 if any failed.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/terret-dev/terret"
)

type result struct {
	repository, verdict, changed, detail string
	cost                                 terret.Cost
	took                                 time.Duration
}

func main() {
	prompt := flag.String("prompt", "", "what to ask for")
	check := flag.String("check", "", "shell command that must succeed in the copy afterwards")
	jobs := flag.Int("j", 2, "how many at once")
	flag.Parse()
	dirs, flags := flag.Args(), []string{"--policy", "auto-edit"}
	if at := slices.Index(dirs, "--"); at >= 0 {
		dirs, flags = dirs[:at], append(flags, dirs[at+1:]...)
	}
	if *prompt == "" || len(dirs) == 0 || *jobs < 1 {
		fmt.Fprintln(os.Stderr, "usage: evaluation -prompt TEXT [-check COMMAND] [-j N] REPOSITORY... [-- FLAGS OF terret run]")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	results := make([]result, len(dirs))
	var work sync.WaitGroup
	places := make(chan struct{}, *jobs)
	for i, dir := range dirs {
		work.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			results[i] = evaluate(ctx, dir, *prompt, *check, flags)
		})
	}
	work.Wait()
	if !show(results) {
		os.Exit(1)
	}
}

// evaluate does one repository.
func evaluate(ctx context.Context, dir, prompt, check string, flags []string) (r result) {
	r = result{repository: filepath.Base(filepath.Clean(dir)), verdict: "error"}
	temp, err := os.MkdirTemp("", "evaluation-")
	if err == nil {
		defer func() { _ = os.RemoveAll(temp) }()
		err = command(ctx, temp, "git", "clone", "-q", "--no-hardlinks", absolute(dir), "copy").Run()
	}
	if err != nil {
		r.detail = fmt.Sprintf("cannot copy %s: %v", dir, err)
		return r
	}
	folder := filepath.Join(temp, "copy")
	run := command(ctx, folder, "terret", slices.Concat([]string{"run", "--json"}, flags, []string{"--", prompt})...)
	var out bytes.Buffer
	run.Stdout = &out
	began := time.Now()
	err = run.Run()
	r.took = time.Since(began)
	r.read(&out)
	if err != nil {
		r.verdict, r.detail = "failed", strings.TrimSpace(r.detail+" "+err.Error())
		return r
	}
	r.verdict = "done"
	if changed, err := command(ctx, folder, "git", "status", "--porcelain").Output(); err == nil {
		r.changed = fmt.Sprint(bytes.Count(changed, []byte("\n")))
	}
	if check != "" {
		r.verdict = "passed"
		if said, err := command(ctx, folder, "sh", "-c", check).Output(); err != nil {
			r.verdict, r.detail = "failed", strings.TrimSpace("check: "+err.Error()+" "+lastLine(said))
		}
	}
	return r
}

// read takes from the events of a turn what it cost, and why it failed.
func (r *result) read(events *bytes.Buffer) {
	lines := bufio.NewScanner(events)
	lines.Buffer(nil, 64<<20) // an event holds whole files
	for lines.Scan() {
		var event struct {
			Kind terret.Kind
			Data json.RawMessage
		}
		var end terret.TurnError // a good end has the same fields, but for the error
		if json.Unmarshal(lines.Bytes(), &event) != nil || event.Kind != terret.KindTurnComplete && event.Kind != terret.KindTurnError {
			continue
		}
		if json.Unmarshal(event.Data, &end) == nil {
			r.cost, r.detail = end.CostUSD, end.Error.Message
		}
	}
}

// show prints the table, and reports whether all went well.
func show(results []result) bool {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "REPOSITORY\tRESULT\tFILES\tCOST\tTIME\tDETAIL")
	var total result
	good := 0
	for _, r := range results {
		fmt.Fprintf(w, "%s\t%s\t%s\t$%.4f\t%.1fs\t%s\n", r.repository, r.verdict, r.changed, r.cost.Dollars(), r.took.Seconds(), r.detail)
		total.cost, total.took = total.cost+r.cost, total.took+r.took
		if r.verdict == "passed" || r.verdict == "done" {
			good++
		}
	}
	fmt.Fprintf(w, "all\t%d/%d\t\t$%.4f\t%.1fs\t\n", good, len(results), total.cost.Dollars(), total.took.Seconds())
	return w.Flush() == nil && good == len(results)
}

func command(ctx context.Context, dir, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Cancel, cmd.WaitDelay = dir, func() error { return cmd.Process.Signal(os.Interrupt) }, time.Minute
	return cmd
}

func absolute(dir string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		return abs
	}
	return dir
}

func lastLine(text []byte) string {
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return lines[len(lines)-1]
}
