// Command mutants looks for code that no test would miss. It changes one thing at a
// time (a comparison, a condition, a constant, a statement), runs the package's tests,
// and lists the changes that they let pass.
//
//	go run ./test/mutants [-base REV] [-sample N] [-skip TESTS] [-timeout D] PACKAGE-FOLDER...
//
// With -base, only lines that changed since that revision are tried. The files
// themselves are never touched: each change is an overlay of the build. It fails if
// something survived.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	survived, err := run(ctx, os.Args[1:], os.Stdout)
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(2)
	case survived > 0:
		os.Exit(1)
	}
}

// run tries the mutants that the arguments ask for, and returns how many survived.
func run(ctx context.Context, args []string, out io.Writer) (int, error) {
	f := flag.NewFlagSet("mutants", flag.ContinueOnError)
	base := f.String("base", "", "try only lines that changed since this revision")
	sample := f.Int("sample", 0, "try only this many of each package, chosen at random (0: all)")
	seed := f.Uint64("seed", 1, "what the random choice depends on")
	timeout := f.Duration("timeout", 2*time.Minute, "how long the tests of a package may take")
	skip := f.String("skip", "", "leave out the tests that this pattern matches, such as slow ones")
	if err := f.Parse(args); err != nil {
		return 0, err
	}
	if f.NArg() == 0 {
		return 0, errors.New("name the folders of packages, such as ./policy")
	}
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	survived := 0
	for _, pkg := range f.Args() {
		all, err := mutantsOf(ctx, pkg, *base)
		if err != nil {
			return survived, err
		}
		if *sample > 0 && *sample < len(all) {
			r := rand.New(rand.NewPCG(*seed, 0)) // a sample, not a secret
			r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
			all = all[:*sample]
		}
		t := trial{dir: dir, pkg: pkg, skip: *skip, timeout: *timeout}
		if fate, words, err := t.run(ctx, nil); err != nil || fate != survivor {
			return survived, errors.Join(err, fmt.Errorf("the tests of %s fail without a change:\n%s", pkg, words))
		}
		counts := map[fate]int{}
		for _, m := range all {
			fate, _, err := t.run(ctx, &m)
			if err != nil {
				return survived, err
			}
			if counts[fate]++; fate == survivor {
				fmt.Fprintln(out, m)
			}
		}
		fmt.Fprintf(out, "%s: %d changes noticed, %d not, %d do not build\n", pkg, counts[killed], counts[survivor], counts[stillborn])
		survived += counts[survivor]
	}
	return survived, nil
}

// fate is what became of a mutant.
type fate string

const (
	killed    fate = "killed"    // a test failed, or never ended
	survivor  fate = "survivor"  // all tests passed
	stillborn fate = "stillborn" // it does not build
)

// trial runs the tests of a package.
type trial struct {
	dir, pkg, skip string
	timeout        time.Duration
}

// run runs the tests with the mutant, or without one, and returns what they said.
func (t trial) run(ctx context.Context, m *mutant) (fate, string, error) {
	args := []string{"test", "-count=1", "-failfast", "-vet=off", "-timeout", t.timeout.String()}
	if t.skip != "" {
		args = append(args, "-skip", t.skip)
	}
	if m != nil {
		file, overlay := filepath.Join(t.dir, "mutant.go"), filepath.Join(t.dir, "overlay.json")
		replace, err := json.Marshal(map[string]map[string]string{"Replace": {m.path: file}})
		if err != nil {
			return "", "", err
		}
		if err := errors.Join(os.WriteFile(file, m.source(), 0o600), os.WriteFile(overlay, replace, 0o600)); err != nil {
			return "", "", err
		}
		args = append(args, "-overlay", overlay)
	}
	cmd := exec.CommandContext(ctx, "go", append(args, ".")...)
	cmd.Dir = t.pkg
	words, err := cmd.CombinedOutput()
	switch _, failed := errors.AsType[*exec.ExitError](err); {
	case ctx.Err() != nil:
		return "", "", ctx.Err()
	case err == nil:
		return survivor, "", nil
	case !failed:
		return "", "", err
	case strings.Contains(string(words), "[build failed]") || strings.Contains(string(words), "[setup failed]"):
		return stillborn, string(words), nil
	}
	return killed, string(words), nil
}
