package drivertest_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/terret-dev/terret/driver/drivertest"
)

// third, if set to 0, 1 or 2, has CI run less than everything: a column is run whole if
// what it is made of has changed since everything was run, or if it is in that third.
// The others run the core of the suite. `make conformance` runs everything, and keeps
// what each column was made of.
const third = "TERRET_CONFORMANCE_THIRD"

// sums holds what each column was made of when everything was run.
const sums = "testdata/whole.json"

// variants differ from another column only in how they are spoken to, or speak to their
// model.
var variants = []string{"native, OpenAI's API", "native, Responses", "native, Gemini's API", "claude-acp", "codex-acp", "opencode-acp"}

// made holds the sum of each column that was run.
var made sync.Map

// partOf is how much of the suite is run on the target, which is that many columns from
// the left.
func partOf(t *testing.T, target drivertest.Target, column int) drivertest.Part {
	t.Helper()
	sum, err := sumOf(target)
	if err != nil {
		t.Fatal(err)
	}
	made.Store(title(target), sum)
	turn, err := strconv.Atoi(os.Getenv(third))
	if err != nil || target.Program == "" && !slices.Contains(variants, title(target)) {
		return drivertest.Everything // our own agent takes seconds
	}
	switch whole := readSums(t)[title(target)] != sum || column%3 == turn; {
	case !whole:
		return drivertest.Core
	case slices.Contains(variants, title(target)):
		return drivertest.Wire
	default:
		return drivertest.Everything
	}
}

// sumOf is of the driver's files, of what tests know of the agent, and of its version.
func sumOf(target drivertest.Target) (string, error) {
	folder := target.Name
	if _, err := os.Stat(filepath.Join("..", folder)); err != nil {
		folder = "acp"
	}
	all := []string{folder + "_test.go"}
	for _, dir := range []string{filepath.Join("..", folder), filepath.Join("..", "internal")} {
		err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") {
				all = append(all, name)
			}
			return err
		})
		if err != nil {
			return "", err
		}
	}
	h := sha256.New()
	fmt.Fprintln(h, title(target), target.Version)
	for _, name := range all {
		content, err := os.ReadFile(name)
		if err != nil {
			return "", err
		}
		fmt.Fprintln(h, filepath.ToSlash(name), len(content))
		h.Write(content)
	}
	return hex.EncodeToString(h.Sum(nil))[:16], nil
}

func readSums(t *testing.T) (out map[string]string) {
	t.Helper()
	content, err := os.ReadFile(sums)
	if err == nil {
		err = json.Unmarshal(content, &out)
	}
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return out
}

// writeSums keeps what the columns were made of, if everything was run.
func writeSums(path string) error {
	out := map[string]string{}
	made.Range(func(title, sum any) bool {
		out[title.(string)] = sum.(string)
		return true
	})
	text, err := json.MarshalIndent(out, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o600)
}

// TestVariants holds that there are such columns.
func TestVariants(t *testing.T) {
	t.Parallel()
	var all []string
	for _, target := range targets() {
		all = append(all, title(target))
	}
	for _, v := range variants {
		if !slices.Contains(all, v) {
			t.Errorf("there is no column %q, only %q", v, all)
		}
	}
}
