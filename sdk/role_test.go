package sdk_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/sdk"
	"github.com/terret-dev/terret/test/sim"
)

// A persona and a mode mean the same here as on the command line.
func TestPersona(t *testing.T) {
	t.Parallel()
	scenario, err := sim.Parse("scenario.yaml", []byte("steps:\n"+strings.Repeat("  - {match: {user: hello}, answer: {text: Hello to you.}}\n", 4)))
	if err != nil {
		t.Fatal(err)
	}
	var bodies []string
	srv, err := sim.NewServer(scenario, sim.Options{Record: func(r sim.Recorded) error {
		bodies = append(bodies, string(r.Body)) // one request after the other
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	running, err := srv.Start(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer running.Close()
	o := demo(t)
	o.Model, o.ProductName = "anthropic/claude-sonnet-4-5", "Acme Coder"
	o.Env = append(o.Env, "ANTHROPIC_API_KEY=not-a-key", "ANTHROPIC_BASE_URL="+running.URL())
	if err := os.Mkdir(filepath.Join(o.Cwd, "agents"), 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(o.Cwd, "agents", "AGENT_READER.md")
	if err := os.WriteFile(file, []byte("---\ntools: Read\nmodel: another\n---\nYou only look."), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		persona string
		mode    terret.Mode
		want    map[string]bool // whether it is in the request
	}{
		"nothing": {want: map[string]bool{"terminal mode": false, `"name":"Bash"`: true}},
		"persona": {persona: "READER", want: map[string]bool{
			"You only look.": true, "Direct terminal mode": true, "You are operating within Acme Coder": true, `"name":"Read"`: true, `"name":"Bash"`: false, `"model":"claude-sonnet-4-5"`: true,
		}},
		"direct":   {mode: terret.ModeDirect, want: map[string]bool{"Direct terminal mode": true, "You only look.": false}},
		"pipeline": {mode: terret.ModePipeline, want: map[string]bool{"Pipeline execution mode": true}},
	} {
		bodies = nil
		one := o
		one.Persona, one.Mode = c.persona, c.mode
		result, err := sdk.Prompt(deadline(t), "hello", one)
		if err != nil || result.IsError || len(bodies) != 1 {
			t.Fatalf("%s: %+v, %v, %d requests", name, result, err, len(bodies))
		}
		for text, want := range c.want {
			if got := strings.Contains(bodies[0], text); got != want {
				t.Errorf("%s: %q in the request is %v\n%s", name, text, got, bodies[0])
			}
		}
	}

	o.Persona = "NOBODY"
	if _, err := sdk.NewSession(deadline(t), o); !errors.Is(err, terret.ErrNotFound) || terret.AsError(err).Field != "persona" {
		t.Errorf("an unknown persona: %v", err)
	}
	o.Persona = "READER"
	s := newSession(t, o)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := s.Send(deadline(t), "hello"); !errors.Is(err, terret.ErrConflict) {
		t.Errorf("without its persona: %v", err)
	}
}

// Secrets of the environment are kept out of what a session says and stores.
func TestSecrets(t *testing.T) {
	t.Parallel()
	const secret = "sk-not-a-real-secret-0123456789"
	o := scripted(t, []mock.Step{{Text: "the key is " + secret}})
	o.Env = append(o.Env, "MY_API_KEY="+secret)
	o.DataDir = t.TempDir()
	s := newSession(t, o)
	send(t, s, "print your environment")
	thread, result := receive(t, s)
	said := fmt.Sprint(result.Content)
	for _, m := range thread {
		said += m.Text()
	}
	if strings.Contains(said, secret) || !strings.Contains(said, "the key is [redacted:MY_API_KEY]") {
		t.Errorf("it says %s", said)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(o.DataDir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if strings.Contains(string(b), secret) {
			t.Errorf("%s holds the secret", d.Name())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// What no session can be made with is refused, and names the field.
func TestRefusedOptions(t *testing.T) {
	t.Parallel()
	o := demo(t)
	o.Session.Gates = []terret.Gate{"stopp"}
	if _, err := sdk.NewSession(deadline(t), o); err == nil || terret.AsError(err).Field != "gates" {
		t.Errorf("an unknown gate: %v", err)
	}
	o = demo(t)
	o.Gates = []terret.Gate{terret.GateStop}
	if _, err := sdk.NewSession(deadline(t), o); err == nil || terret.AsError(err).Field != "Gates" {
		t.Errorf("a gate at which nobody decides: %v", err)
	}
	o.OnRequest = func(context.Context, terret.Request) (terret.Decision, error) { return terret.Decision{}, nil }
	o.Gates, o.DataDir = []terret.Gate{"stopp"}, t.TempDir()
	if _, err := sdk.NewSession(deadline(t), o); err == nil || terret.AsError(err).Field != "Gates" {
		t.Errorf("an unknown gate for OnRequest: %v", err)
	}
	if _, err := sdk.Resume(deadline(t), terret.NewSessionID(), o); err == nil || terret.AsError(err).Field != "Gates" {
		t.Errorf("an unknown gate of a resumed session: %v", err)
	}
	o = demo(t)
	o.Mode = "sideways"
	if _, err := sdk.NewSession(deadline(t), o); err == nil || terret.AsError(err).Field != "mode" {
		t.Errorf("an unknown mode: %v", err)
	}
}
