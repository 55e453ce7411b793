package httpapi_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/server/setup"
)

// TestInstall installs an agent by the command of its driver: what it prints can be followed
// from any point, and what is known of the agent afterwards is what its program says.
func TestInstall(t *testing.T) {
	t.Parallel()
	var m machine
	f := newFixture(t, settable(t, &m, func(o *setup.Options) { o.Environ = append(o.Environ, "MY_TOKEN=sk-secret-variable") }))
	m.npm(t, `echo "npm $*"
echo "the variable is $MY_TOKEN, or sk-secret-variable" >&2
printf '#!/bin/sh\necho 0.73.1\n' >"$(dirname "$0")/pi"
chmod +x "$(dirname "$0")/pi"
`)
	var list terret.Page[setup.Installer]
	f.do("GET", "/v1/installers", nil).want(200, &list)
	by := map[string]setup.Installer{}
	for _, i := range list.Items {
		by[i.Agent] = i
	}
	if pi := by["pi"]; !pi.Runs || pi.Missing != "" || pi.Title != "Pi" || !strings.HasPrefix(pi.Command, "npm install -g @") {
		t.Errorf("%+v", pi)
	}
	if goose := by["goose"]; goose.Runs || !strings.Contains(goose.Command, "| bash") {
		t.Errorf("%+v", goose)
	}
	f.do("GET", "/v1/installation", nil).problem(404, terret.CodeNotFound, "")
	f.do("POST", "/v1/installers/goose", nil).problem(501, terret.CodeUnsupported, "")
	f.do("POST", "/v1/installers/nobody", nil).problem(404, terret.CodeNotFound, "")
	f.do("POST", "/v1/installers/native", nil).problem(404, terret.CodeNotFound, "")

	if before, ok := m.agents.One(t.Context(), "pi"); !ok || before.Found { // the answer still counts when it is installed
		t.Fatalf("%+v", before)
	}
	var begun setup.Installation
	f.do("POST", "/v1/installers/pi", nil).want(202, &begun)
	if begun.Command != by["pi"].Command || begun.By != "admin" {
		t.Errorf("%+v", begun)
	}
	text, last := f.output(t, "?after=0")
	for _, want := range []string{"$ " + begun.Command + "\n", "\nnpm install -g @mariozechner/pi-coding-agent@", "the variable is , or [redacted"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if last.State != setup.Installed || last.Probe == nil || !last.Probe.Found || last.Probe.Version != "0.73.1" || last.Probe.Checking {
		t.Errorf("%+v %+v", last, last.Probe)
	}
	if rest, again := f.output(t, "?after=2"); rest != text[2:] || again.State != setup.Installed {
		t.Errorf("the rest is %q", rest)
	}
	var now setup.Installation
	f.do("GET", "/v1/installation", nil).want(200, &now)
	if now.State != setup.Installed || now.Probe == nil {
		t.Errorf("%+v", now)
	}
	f.do("DELETE", "/v1/installation", nil).problem(409, terret.CodeConflict, "")

	m.npm(t, "echo no room left >&2\nexit 3\n")
	f.do("POST", "/v1/installers/pi", nil).want(202, nil)
	if text, last := f.output(t, ""); last.State != setup.Failed || last.Why != "exit code 3" || !strings.Contains(text, "no room left") {
		t.Errorf("%+v\n%s", last, text)
	}
	m.npm(t, "i=0; while [ $i -lt 20000 ]; do echo \"line $i, and some more of it\"; i=$((i+1)); done\n")
	f.do("POST", "/v1/installers/pi", nil).want(202, nil)
	f.output(t, "")
	if text, last := f.output(t, ""); last.State != setup.Installed || len(text) > 256<<10 || !strings.HasSuffix(text, "line 19999, and some more of it\n") {
		t.Errorf("%+v, %d bytes", last, len(text))
	}
}

// output follows an installation to its end.
func (f *fixture) output(t *testing.T, query string) (text string, last setup.Installation) {
	t.Helper()
	for ev, err := range f.events("/v1/installation/output" + query) {
		if err != nil {
			t.Fatal(err)
		}
		var piece struct{ Text string }
		switch ev.Name {
		case "output":
			err = json.Unmarshal(ev.Data, &piece)
			text += piece.Text
		case "installation":
			last = setup.Installation{}
			err = json.Unmarshal(ev.Data, &last)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return text, last
}

// TestInstallCancelled is one at a time, and all of it ends when a person cancels it.
func TestInstallCancelled(t *testing.T) {
	t.Parallel()
	var m machine
	f := newFixture(t, settable(t, &m))
	fifo := filepath.Join(f.home, "alive")
	m.npm(t, "mkfifo "+fifo+"\n(trap '' TERM; echo begun; read x <"+fifo+") &\nwait\n")
	f.do("POST", "/v1/installers/pi", nil).want(202, nil)
	begun := false
	for ev, err := range f.events("/v1/installation/output") {
		if err != nil {
			t.Fatal(err)
		}
		if begun = ev.Name == "output" && strings.Contains(string(ev.Data), "begun"); begun {
			break
		}
	}
	if !begun {
		t.Fatal("it ended by itself")
	}
	f.do("POST", "/v1/installers/pi", nil).problem(409, terret.CodeConflict, "")
	f.do("POST", "/v1/installers/codex", nil).problem(409, terret.CodeConflict, "")
	var ended setup.Installation
	f.do("DELETE", "/v1/installation", nil).want(200, &ended)
	if ended.State != setup.Cancelled {
		t.Errorf("%+v", ended)
	}
	// Nobody reads any more: what it had started has ended, too.
	if w, err := os.OpenFile(fifo, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil {
		t.Error("something still reads")
		_ = w.Close()
	}
}

// TestInstallWithoutNPM says what is missing, and how to get it.
func TestInstallWithoutNPM(t *testing.T) {
	t.Parallel()
	var m machine
	f := newFixture(t, settable(t, &m, func(o *setup.Options) { o.Environ = []string{"PATH=" + o.Dir} }))
	if p := f.do("POST", "/v1/installers/pi", nil).problem(503, terret.CodeStartupRefused, ""); !strings.Contains(p.Detail, "npm was not found") || !strings.Contains(p.Detail, "nodejs.org") {
		t.Errorf("%+v", p)
	}
}
