// Package agenttest runs the real agents of the folder agents/ in tests: with a
// throw-away home folder, a fake key, and a scripted model on loopback. It knows the
// settings that each agent needs for that.
//
//	for _, a := range agenttest.All() {
//		t.Run(a.Name, func(t *testing.T) {
//			p := a.Prepare(t, running.URL())
//			out, err := p.Run(t, a.Once("make a file")...)
//		})
//	}
//
// Without TERRET_CONFORMANCE the tests are skipped, since no agent is installed;
// `make conformance` installs them and sets it. TERRET_CONFORMANCE_AGENTS names
// another folder with the programs.
package agenttest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/terret-dev/terret/internal/proc"
)

// Patience bounds what an agent does in a test. Machines can be slow.
const Patience = 3 * time.Minute

// Agent is a real agent, as tests run it.
type Agent struct {
	Name    string
	Program string // in the folder of programs
	// Dialect is the path of the model's API that it calls.
	Dialect string
	// Once returns the arguments to run one prompt, with everything allowed, and exit.
	// It is nil for agents that only serve.
	Once func(prompt string) []string
	// ACP are the arguments to speak the Agent Client Protocol on stdin and stdout.
	// They are nil for agents that do not.
	ACP []string
	// settings writes the agent's settings into the home folder, and returns its
	// environment.
	settings func(Place) (env []string, err error)
	optional bool // not available for every machine
}

// Place is where an agent runs in a test.
type Place struct {
	Home string   // of the agent
	Dir  string   // the project's folder
	URL  string   // of the scripted model
	Env  []string // of the agent

	Program string // its path
}

// Find returns the agent of that name.
func Find(t testing.TB, name string) Agent {
	t.Helper()
	for _, a := range All() {
		if a.Name == name {
			return a
		}
	}
	t.Fatalf("there is no agent %q", name)
	return Agent{}
}

// Modules is the folder with the packages of agents and protocols from npm.
func Modules(t testing.TB) string {
	t.Helper()
	bin, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Dir(bin)
}

// programs is the folder with the agents' programs.
func programs() (string, error) {
	if dir := os.Getenv("TERRET_CONFORMANCE_AGENTS"); dir != "" {
		return dir, nil
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for { // tests run in the folder of their package
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return filepath.Join(dir, "agents", "node_modules", ".bin"), nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("this does not run within the module")
		}
		dir = filepath.Dir(dir)
	}
}

// Prepare makes a home folder and a project for the agent, or skips the test.
func (a Agent) Prepare(t testing.TB, url string) Place {
	t.Helper()
	if os.Getenv("TERRET_CONFORMANCE") == "" {
		t.Skipf("this runs the real %s: run `make conformance`, which installs it and sets TERRET_CONFORMANCE", a.Name)
	}
	p, err := a.At(t.TempDir(), t.TempDir(), url)
	if errors.Is(err, fs.ErrNotExist) && a.optional && runtime.GOOS+runtime.GOARCH != "linuxamd64" {
		t.Skipf("%s is not available for this machine", a.Name)
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// At writes the agent's settings into the home folder, for a project and a scripted
// model. The error is [fs.ErrNotExist] if the agent is not installed.
func (a Agent) At(home, dir, url string) (Place, error) {
	bin, err := programs()
	if err != nil {
		return Place{}, err
	}
	p := Place{Home: home, Dir: dir, URL: url, Program: filepath.Join(bin, a.Program)}
	if _, err := os.Stat(p.Program); err != nil {
		return p, fmt.Errorf("%s is not installed: %w; run agents/install.sh", a.Name, err)
	}
	env, err := a.settings(p)
	if err != nil {
		return p, err
	}
	p.Env = append([]string{
		"PATH=" + bin + string(os.PathListSeparator) + os.Getenv("PATH"), "HOME=" + p.Home, "LANG=C.UTF-8", "NO_COLOR=1",
	}, env...)
	return p, nil
}

// Start starts the agent in the project's folder. It ends with the test at the latest.
func (p Place) Start(t testing.TB, args ...string) *proc.Process {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	defer cancel()
	agent, err := proc.Start(ctx, proc.Spec{Argv: append([]string{p.Program}, args...), Dir: p.Dir, Env: p.Env})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := agent.Kill(); err != nil {
			t.Error(err)
		}
	})
	return agent
}

// Run runs the agent to its end and returns what it printed. The error is about its
// exit code, and includes its stderr.
func (p Place) Run(t testing.TB, args ...string) (string, error) {
	t.Helper()
	agent := p.Start(t, args...)
	timer := time.AfterFunc(Patience, func() { _, _ = agent.Kill() })
	defer timer.Stop()
	if err := agent.Stdin().Close(); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if _, err := io.Copy(&out, agent.Stdout()); err != nil {
		t.Fatal(err)
	}
	<-agent.Done()
	exit, err := agent.Kill() // it has ended: this only says how
	if err != nil {
		t.Fatal(err)
	}
	if exit.Code != 0 {
		return out.String(), fmt.Errorf("it ended with %+v and said:\n%s", exit, agent.StderrTail())
	}
	return out.String(), nil
}

// write writes a file into the home folder.
func (p Place) write(name, content string) error {
	path := filepath.Join(p.Home, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(content), 0o600)
}

// fill inserts the place into a template of settings.
func (p Place) fill(template string) string {
	return strings.NewReplacer("{url}", p.URL, "{dir}", p.Dir).Replace(template)
}
