//go:build unix

package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

const examplesDir = "../../examples"

// TestExamples runs each program in examples/ for real, by a script of the same name: with the
// demo model or a scripted one, on loopback. What is in the folder itself is on the PATH, and
// $ELSEWHERE is the address of whoever the example talks to: it keeps what it is sent in the
// file sent.
func TestExamples(t *testing.T) {
	t.Parallel()
	examples, err := filepath.Abs(examplesDir)
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", bin, "./review-bot", "./chat-ops", "./custom-agent", "./dashboard", "./evaluation")
	build.Dir, build.Env = examples, append(os.Environ(), "CGO_ENABLED=0") // custom-policy has a test of its own
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	p := scripts(t, "testdata/examples")
	common := p.Setup
	p.Setup = func(e *testscript.Env) error {
		if err := common(e); err != nil {
			return err
		}
		elsewhere := httptest.NewServer(keeper(filepath.Join(e.WorkDir, "sent")))
		e.Defer(elsewhere.Close)
		e.Setenv("ELSEWHERE", elsewhere.URL)
		e.Setenv("PATH", strings.Join([]string{bin, filepath.Join(examples, "nightly-upgrade"), e.Getenv("PATH")}, string(os.PathListSeparator)))
		for _, who := range []string{"AUTHOR", "COMMITTER"} {
			e.Setenv("GIT_"+who+"_NAME", "ann")
			e.Setenv("GIT_"+who+"_EMAIL", "ann@example.org")
		}
		return nil
	}
	testscript.Run(t, p)
}

// keeper appends what it is sent to a file, one request a line.
func keeper(file string) http.HandlerFunc {
	var mu sync.Mutex
	return func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		body, err := io.ReadAll(r.Body)
		if err == nil {
			var f *os.File
			if f, err = os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err == nil {
				_, err = fmt.Fprintf(f, "%s %s %s %s\n", r.Method, r.URL.Path, r.Header.Get("Authorization"), strings.Join(strings.Fields(string(body)), " "))
				_ = f.Close()
			}
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	}
}

// TestExamplesAreRun holds that each example is in the table of examples/README.md, and is run
// by a script of its name or by a test of its own.
func TestExamplesAreRun(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join(examplesDir, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	all, err := os.ReadDir(examplesDir)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, entry := range all {
		name := entry.Name()
		if !entry.IsDir() {
			continue
		}
		found++
		if !strings.Contains(string(page), "| ["+name+"]("+name+") |") {
			t.Errorf("examples/README.md has no line for %s", name)
		}
		own, _ := filepath.Glob(filepath.Join(examplesDir, name, "*_test.go"))
		if _, err := os.Stat("testdata/examples/" + strings.ReplaceAll(name, "-", "_") + ".txtar"); err != nil && len(own) == 0 {
			t.Errorf("nothing runs examples/%s", name)
		}
	}
	if found < 7 {
		t.Errorf("only %d examples", found)
	}
}
