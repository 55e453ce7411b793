package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/client"
	"github.com/terret-dev/terret/internal/test/agenttest"
)

// hooked is an interactive Claude Code in a terminal, whose hooks are installed, and a
// server that they report to.
type hooked struct {
	*place
	t        *testing.T
	c        *client.Client
	terminal *terminal
	session  terret.Session
	effects  string // a file to which each call adds a line
}

// claudeKey is not a key.
const claudeKey = "sk-scripted-00000000000000000000"

// claudePlace is a place in which the real Claude Code runs, with a model that wants to run a
// command in each of the rounds.
func claudePlace(t *testing.T, rounds int) (p *place, bin string) {
	t.Helper()
	script := "steps:\n"
	for i := range rounds {
		script += fmt.Sprintf("  - match: {user: round %d.}\n    answer: {text: Round %d begins., tools: [{name: Bash, input: {command: 'echo %d >> effects', description: run}}]}\n", i, i, i)
		script += fmt.Sprintf("  - match: {tool_result: /./}\n    answer: {text: Round %d is over.}\n", i)
	}
	p = newPlace(t)
	p.columns = 100
	url, err := scriptModel(t, p.file("model.yaml", script), p.dir)
	if err != nil {
		t.Fatal(err)
	}
	bin = filepath.Join(agenttest.Modules(t), ".bin")
	p.environ = append(p.environ, "PATH="+os.Getenv("PATH")+string(os.PathListSeparator)+bin, "ANTHROPIC_BASE_URL="+url, "ANTHROPIC_API_KEY="+claudeKey,
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1", "LANG=C.UTF-8", "TERRET_MODEL=")
	return p, bin
}

// openHooked starts both, with a model that wants to run a command in each of the rounds.
func openHooked(t *testing.T, rounds int) *hooked {
	t.Helper()
	p, bin := claudePlace(t, rounds)
	home := valueOf(p.environ, "HOME")
	config, err := json.Marshal(map[string]any{ // as if a person had started it before
		"hasCompletedOnboarding": true, "theme": "dark", "numStartups": 5,
		"customApiKeyResponses": map[string]any{"approved": []string{claudeKey[len(claudeKey)-20:]}, "rejected": []string{}},
		"projects":              map[string]any{p.dir: map[string]any{"hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true}},
	})
	if err == nil {
		err = os.WriteFile(filepath.Join(home, ".claude.json"), config, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	p.terret("hooks", "install")
	h := &hooked{place: p, t: t, c: serveIn(p), effects: filepath.Join(p.dir, "effects")}
	h.terminal = p.startProgram(nil, filepath.Join(bin, "claude"), "--permission-mode", "default")
	h.terminal.shows("? for shortcuts", "")
	return h
}

func valueOf(environ []string, name string) (value string) {
	for _, e := range environ {
		if v, ok := strings.CutPrefix(e, name+"="); ok {
			value = v
		}
	}
	return value
}

// serveIn runs the server of a place until the test ends.
func serveIn(p *place) *client.Client {
	t := p.t
	t.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), "terret", "serve", "--addr", "127.0.0.1:0")
	cmd.Dir, cmd.Env = p.dir, p.environ
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(unix.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("terret serve: %v", err)
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	token, err := os.ReadFile(filepath.Join(valueOf(p.environ, "TERRET_HOME"), "token"))
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(strings.TrimSpace(strings.TrimPrefix(line, "listening on ")), client.Options{Token: strings.TrimSpace(string(token))})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// until calls try until it is true.
func (h *hooked) until(what string, try func() bool) {
	h.t.Helper()
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	for !try() {
		select {
		case <-timeout.C:
			h.t.Fatalf("not in time: %s; the terminal shows\n%s", what, h.terminal.screen())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// open is the request that waits.
func (h *hooked) open() (r terret.Request) {
	h.t.Helper()
	h.until("a request", func() bool {
		page, err := h.c.Requests(h.t.Context(), terret.RequestFilter{State: terret.RequestOpen})
		if err != nil {
			h.t.Fatal(err)
		}
		if len(page.Items) > 1 {
			h.t.Fatalf("%d requests wait", len(page.Items))
		}
		if len(page.Items) == 1 {
			r = page.Items[0]
		}
		return len(page.Items) == 1
	})
	return r
}

// idle waits until no turn runs.
func (h *hooked) idle() {
	h.t.Helper()
	h.until("the end of the turn", func() bool {
		s, err := h.c.Session(h.t.Context(), h.session.ID)
		return err == nil && s.State == terret.SessionIdle
	})
}

// press answers the dialog that says so. It takes no key before a person can have read it.
func (h *hooked) press(key, dialog string) {
	h.t.Helper()
	var pressed time.Time
	h.until("the end of the dialog", func() bool {
		if time.Since(pressed) > time.Second { // a key too many would be typed into the next prompt
			h.terminal.send(key)
			pressed = time.Now()
		}
		return !strings.Contains(h.terminal.screen(), dialog)
	})
}

// TestHookedTerminal answers what an interactive Claude Code asks, over HTTP and at its
// keyboard, in both orders: always exactly one answer counts. TERRET_HOOKED says how often.
func TestHookedTerminal(t *testing.T) {
	t.Parallel()
	if os.Getenv("TERRET_CONFORMANCE") == "" {
		t.Skip("this runs the real Claude Code: run `make conformance`, which installs it")
	}
	times, err := strconv.Atoi(os.Getenv("TERRET_HOOKED"))
	if err != nil {
		times = 3
	}
	h := openHooked(t, 3*times)
	want := ""
	for i := range 3 * times {
		h.terminal.send(fmt.Sprintf("\x15round %d.", i))
		h.terminal.shows(fmt.Sprintf("round %d.", i), "")
		h.terminal.send("\r")
		r := h.open()
		h.session.ID = r.Session
		h.terminal.shows("Do you want to proceed?", "") // the dialog is there, too
		d := terret.Decision{RequestID: r.RequestID, Behavior: terret.BehaviorAllow}
		end := fmt.Sprintf("Round %d is over.", i)
		switch i % 3 {
		case 0: // HTTP first
			if _, err := h.c.Decide(t.Context(), d, ""); err != nil {
				t.Fatal(err)
			}
			h.terminal.shows(end, "")
			want += fmt.Sprintln(i)
		case 1: // the keyboard first
			h.press("1", "Do you want to proceed?")
			h.terminal.shows(end, "")
			if _, err := h.c.Decide(t.Context(), d, ""); err == nil {
				t.Errorf("round %d: both have decided", i)
			}
			want += fmt.Sprintln(i)
		case 2: // the keyboard says no (4), and the turn ends
			h.press("4", "Do you want to proceed?")
			h.idle()
			if _, err := h.c.Decide(t.Context(), d, ""); err == nil {
				t.Errorf("round %d: both have decided", i)
			}
			// The script waits for a result that does not come: the next prompt brings it.
			h.terminal.send("\x15go on")
			h.terminal.shows("go on", "")
			h.terminal.send("\r")
			h.terminal.shows(end, "")
		}
		h.idle()
		if got, err := os.ReadFile(h.effects); err != nil || string(got) != want {
			t.Fatalf("round %d: the effects are %q, want %q (%v)", i, got, want, err)
		}
	}
	if _, err := h.c.Prompt(t.Context(), h.session.ID, client.NewTurn{Prompt: "hello"}); terret.AsError(err).Code != terret.CodeUnsupported {
		t.Errorf("a prompt from elsewhere: %v", err)
	}
	kinds := map[terret.Kind]int{}
	for e, err := range h.c.Events(t.Context(), client.EventQuery{Session: h.session.ID}) {
		if err != nil {
			t.Fatal(err)
		}
		kinds[e.Kind]++
	}
	for kind, n := range map[terret.Kind]int{
		terret.KindUserPrompt: 4 * times, terret.KindToolPre: 3 * times, terret.KindToolPost: 2 * times, terret.KindToolFailure: times,
		terret.KindPermissionRequest: 3 * times, terret.KindTurnError: times,
	} {
		if kinds[kind] != n {
			t.Errorf("the log has %d of %s, want %d", kinds[kind], kind, n)
		}
	}
	h.terminal.send("\x03")
	h.terminal.send("\x03")
	<-h.terminal.ended
	h.until("the end of the session", func() bool {
		s, err := h.c.Session(t.Context(), h.session.ID)
		return err == nil && slices.Contains([]terret.SessionState{terret.SessionIdle, terret.SessionClosed}, s.State)
	})
	before := h.terret("hooks", "list")
	if strings.Count(before, " yes ") == 0 {
		t.Errorf("no hook is installed:\n%s", before)
	}
	h.terret("hooks", "uninstall")
	if _, err := os.Stat(filepath.Join(valueOf(h.environ, "HOME"), ".claude", "settings.json")); err == nil {
		t.Error("the settings were not there before")
	}
}

// say types a prompt, where nothing else has been typed.
func (h *hooked) say(text string) {
	h.t.Helper()
	h.terminal.shows("Type your message", "\x7f")
	h.terminal.send(text)
	h.terminal.shows(text, "")
	time.Sleep(100 * time.Millisecond) // a return right behind a text counts as pasted
	h.terminal.send("\r")
}

// TestHookedQwen watches an interactive Qwen Code.
func TestHookedQwen(t *testing.T) {
	t.Parallel()
	watchHooked(t, "qwen", "4")
}

// TestHookedGemini watches an interactive Gemini CLI.
func TestHookedGemini(t *testing.T) {
	t.Parallel()
	watchHooked(t, "gemini", "3")
}

// watchHooked watches an agent that is answered at its keyboard only, unless a rule denies
// before its dialog is shown. The key no refuses there.
func watchHooked(t *testing.T, name, no string) {
	if os.Getenv("TERRET_CONFORMANCE") == "" {
		t.Skip("this runs the real agents: run `make conformance`, which installs them")
	}
	p := newPlace(t)
	p.columns = 100
	url, err := scriptModel(t, p.file("model.yaml", `steps:
  - match: {user: round 0.}
    answer: {text: Round 0 begins., tools: [{do: shell, input: {command: echo 0 >> effects}}]}
  - match: {tool_result: /./}
    answer: {text: Round 0 is over.}
  - match: {user: round 1.}
    answer: {text: Round 1 begins., tools: [{do: shell, input: {command: echo 1 >> effects}}]}
  - match: {user: round 2.}
    answer: {text: Round 2 begins., tools: [{do: shell, input: {command: rm effects}}]}
  - match: {tool_result: /./}
    answer: {text: Round 2 is over.}
`), p.dir)
	if err != nil {
		t.Fatal(err)
	}
	home := valueOf(p.environ, "HOME")
	agent, err := agenttest.Find(t, name).At(home, p.dir, url)
	if err != nil {
		t.Fatal(err)
	}
	p.environ = append(p.environ, agent.Env...)
	p.environ = append(p.environ, "PATH="+os.Getenv("PATH")+string(os.PathListSeparator)+filepath.Dir(agent.Program))
	settings := filepath.Join(home, "."+name, "settings.json")
	before, err := os.ReadFile(settings)
	before = bytes.Replace(before, []byte("{"), []byte(`{"$version": 4,`), 1) // else Qwen Code does so itself
	if err := errors.Join(err, os.WriteFile(settings, before, 0o600)); err != nil {
		t.Fatal(err)
	}
	p.terret("hooks", "install", "--agent", name)
	p.terret("rules", "add", "deny", "Bash(rm *)")
	h := &hooked{place: p, t: t, c: serveIn(p), effects: filepath.Join(p.dir, "effects")}
	h.terminal = p.startProgram(nil, agent.Program, "--approval-mode", "default")
	h.terminal.shows("Type your message", "")
	dialog := "Allow execution of"

	h.say("round 0.")
	h.terminal.shows(dialog, "")
	h.until("the session", func() bool {
		page, err := h.c.Sessions(t.Context(), terret.SessionFilter{})
		if err != nil || len(page.Items) != 1 {
			return false
		}
		h.session = page.Items[0]
		return h.session.Agent == name+"-terminal"
	})
	h.press("1", dialog)
	h.terminal.shows("Round 0 is over.", "")
	h.idle()

	h.say("round 1.")
	h.terminal.shows(dialog, "")
	h.press(no, dialog)
	h.idle()

	h.say("round 2.")
	h.terminal.shows("Round 2 is over.", "")
	h.idle()

	if got, err := os.ReadFile(h.effects); err != nil || string(got) != "0\n" {
		t.Errorf("the effects are %q (%v)", got, err)
	}
	h.say("/quit")
	<-h.terminal.ended
	var got []terret.Kind
	told := []terret.Kind{terret.KindUserPrompt, terret.KindToolPre, terret.KindToolPost, terret.KindToolFailure, terret.KindPermissionRequest, terret.KindTurnComplete, terret.KindTurnError, terret.KindSessionEnd}
	for e, err := range h.c.Events(t.Context(), client.EventQuery{Session: h.session.ID}) {
		if err != nil {
			t.Fatal(err)
		}
		if slices.Contains(told, e.Kind) {
			got = append(got, e.Kind)
		}
	}
	if want := []terret.Kind{
		terret.KindUserPrompt, terret.KindToolPre, terret.KindToolPost, terret.KindTurnComplete,
		terret.KindUserPrompt, terret.KindToolPre, terret.KindToolFailure, terret.KindTurnError,
		terret.KindUserPrompt, terret.KindToolPre, terret.KindToolFailure, terret.KindTurnComplete, terret.KindSessionEnd,
	}; !slices.Equal(got, want) {
		t.Errorf("the log has %v, want %v", got, want)
	}
	h.terret("hooks", "uninstall", "--agent", name)
	if after, err := os.ReadFile(settings); err != nil || string(after) != string(before) {
		t.Errorf("the settings are\n%s\nthey were\n%s", after, before)
	}
}

// TestWorkspaceClaude tells the story of the full-screen workspace by keys with the real
// Claude Code, in two windows and over HTTP as a browser would: one answer counts, and all see
// what came of it.
func TestWorkspaceClaude(t *testing.T) {
	t.Parallel()
	if os.Getenv("TERRET_CONFORMANCE") == "" {
		t.Skip("this runs the real Claude Code: run `make conformance`, which installs it")
	}
	p, _ := claudePlace(t, 3)
	h := &hooked{place: p, t: t, c: serveIn(p), effects: filepath.Join(p.dir, "effects")}
	one := p.start(nil, "--agent", "claude")
	h.terminal = one
	one.shows("What should the agent do?", "")
	one.send("round 0.\r")
	one.shows("y allow", "")
	r := h.open()
	two := p.start(nil, "attach", r.Session)
	two.shows("y allow", "")
	one.shows("Round 0 is over.", "y")
	two.shows("Round 0 is over.", "")
	if _, err := h.c.Decide(t.Context(), terret.Decision{RequestID: r.RequestID, Behavior: terret.BehaviorDeny}, ""); !errors.Is(err, terret.ErrAlreadyDecided) {
		t.Errorf("a second answer: %v", err)
	}

	h.session.ID = r.Session
	h.idle() // else it would be said in the turn that runs
	two.send("round 1.\r")
	two.shows("y allow", "")
	one.shows("y allow", "")
	if _, err := h.c.Decide(t.Context(), terret.Decision{RequestID: h.open().RequestID, Behavior: terret.BehaviorAllow}, ""); err != nil {
		t.Fatal(err)
	}
	for _, x := range []*terminal{one, two} {
		x.shows("Round 1 is over.", "")
	}

	h.idle()
	one.send("round 2.\r")
	two.shows("n deny", "")
	two.shows("Round 2 is over.", "n")
	one.shows("Round 2 is over.", "")
	if got, err := os.ReadFile(h.effects); err != nil || string(got) != "0\n1\n" {
		t.Errorf("the effects are %q (%v)", got, err)
	}
	for _, x := range []*terminal{one, two} {
		x.send("\x03")
		x.shows("Ctrl-C again leaves", "")
		x.send("\x03")
		x.end(0)
	}
}
