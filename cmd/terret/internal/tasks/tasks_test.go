package tasks

import (
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/terret-dev/terret/internal/check"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestCheckers proves each checker both ways: it fails on the untouched repository, and
// passes with the reference solution.
func TestCheckers(t *testing.T) {
	t.Parallel()
	all, err := All()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 20 {
		t.Errorf("there are %d tasks", len(all))
	}
	for _, task := range all {
		t.Run(task.Name, func(t *testing.T) {
			t.Parallel()
			for _, solved := range []bool{false, true} {
				dir := t.TempDir()
				if err := task.Prepare(t.Context(), dir, os.Environ()); err != nil {
					t.Fatal(err)
				}
				if solved {
					solve(t, task, dir)
				}
				r, err := task.Judge(t.Context(), dir, os.Environ())
				if err != nil || r.OK != solved {
					t.Errorf("solved %v, but passes %v (%s, %v): %s", solved, r.OK, r.Exit, err, r.Output)
				}
			}
		})
	}
}

func solve(t *testing.T, task Task, dir string) {
	t.Helper()
	if err := write(dir, task.Solution); err != nil {
		t.Fatal(err)
	}
	if r, err := check.Run(t.Context(), dir, os.Environ(), "set -e\n"+task.Script); err != nil || !r.OK {
		t.Fatalf("%+v: %v", r, err)
	}
}

func TestNamed(t *testing.T) {
	t.Parallel()
	got, err := Named("nil-map", "cherry-pick")
	if err != nil || len(got) != 2 || got[0].Name != "nil-map" || got[1].Name != "cherry-pick" {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := Named("nothing"); err == nil || !strings.Contains(err.Error(), `no task "nothing"`) {
		t.Error(err)
	}
}

func TestBadTasks(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                              "it needs a prompt",
		"do it\n-- check.sh --\nexit 1": "files below repo/",
		"do it\n-- repo/../x --\n":      "means nothing",
		"do it\n-- readme --\n":         "means nothing",
	} {
		if _, err := parse("x", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestPrepareFails says what is missing.
func TestPrepareFails(t *testing.T) {
	t.Parallel()
	task := Task{Name: "x", repo: map[string]string{"a": "b"}, setup: "echo no >&2; exit 3"}
	if err := task.Prepare(t.Context(), t.TempDir(), os.Environ()); err == nil || !strings.Contains(err.Error(), "task x cannot be prepared (exit code 3)") || !strings.Contains(err.Error(), "no") {
		t.Error(err)
	}
}
