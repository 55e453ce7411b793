package tools

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// childEnv makes the test binary run as the child of TestDenied.
const childEnv = "TOOLS_TEST_CHILD"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childEnv); dir != "" {
		if err := denied(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// input is the fields of a tool's input.
type input map[string]any

func (in input) json() json.RawMessage {
	b, err := json.Marshal(in)
	if err != nil {
		panic(err)
	}
	return b
}

// bench is a folder to work in.
type bench struct {
	*testing.T
	Env
}

func newBench(t *testing.T) *bench {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return &bench{t, Env{Dir: dir, Environ: []string{"PATH=" + os.Getenv("PATH")}, Owner: "test"}}
}

func (b *bench) path(rel string) string { return filepath.Join(b.Dir, rel) }

func (b *bench) write(rel, content string) {
	b.Helper()
	if err := os.MkdirAll(filepath.Dir(b.path(rel)), 0o755); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(b.path(rel), []byte(content), 0o644); err != nil {
		b.Fatal(err)
	}
}

func (b *bench) read(rel string) string {
	b.Helper()
	content, err := os.ReadFile(b.path(rel))
	if err != nil {
		b.Fatal(err)
	}
	return string(content)
}

func (b *bench) link(target, rel string) {
	b.Helper()
	if err := os.Symlink(target, b.path(rel)); err != nil {
		b.Fatal(err)
	}
}

// prepare prepares a use that must be possible.
func (b *bench) prepare(tool string, in input) *Use {
	b.Helper()
	use, err := b.try(tool, in)
	if err != nil {
		b.Fatalf("%s %v: %v", tool, in, err)
	}
	return use
}

func (b *bench) try(tool string, in input) (*Use, error) {
	t, ok := Find(tool)
	if !ok {
		b.Fatalf("no tool %s", tool)
	}
	return t.Prepare(b.Context(), b.Env, in.json())
}

// refused prepares a use that must not be possible, for a reason with all words.
func (b *bench) refused(tool string, in input, words ...string) {
	b.Helper()
	if _, err := b.try(tool, in); err == nil {
		b.Errorf("%s %v was prepared", tool, in)
	} else {
		wantWords(b.T, err.Error(), words...)
	}
}

// run prepares and runs.
func (b *bench) run(tool string, in input) Result {
	b.Helper()
	res, err := b.prepare(tool, in).Run(b.Context(), nil)
	if err != nil {
		b.Fatal(err)
	}
	return res
}

// works is run for what must work.
func (b *bench) works(tool string, in input) Result {
	b.Helper()
	res := b.run(tool, in)
	if res.IsError {
		b.Fatalf("%s %v: %s", tool, in, res.Text)
	}
	return res
}

// fails runs a use whose result must be an error with all words.
func (b *bench) fails(use *Use, words ...string) {
	b.Helper()
	res, err := use.Run(b.Context(), nil)
	if err != nil || !res.IsError {
		b.Errorf("result %+v, error %v", res, err)
	}
	wantWords(b.T, res.Text, words...)
}

// noLeftovers fails when a temporary file of a writer is left.
func (b *bench) noLeftovers() {
	b.Helper()
	_ = filepath.WalkDir(b.Dir, func(p string, _ os.DirEntry, _ error) error {
		if strings.HasSuffix(p, ".tmp") {
			b.Errorf("%s is left", p)
		}
		return nil
	})
}

func wantWords(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("%q does not say %q", text, w)
		}
	}
}

func wantText(t *testing.T, want, got string) {
	t.Helper()
	if want != got {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
