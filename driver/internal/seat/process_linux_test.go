package seat

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/terret-dev/terret"
)

func start(t *testing.T, does string) *Process {
	t.Helper()
	p, err := Program{}.Start(t.Context(), Spec{
		Argv: []string{script(t, does), "--key=hush-hush-hush"}, Dir: "/", Env: []string{"PATH=/usr/bin:/bin", "AGENT_API_KEY=hush-hush-hush"},
		Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// The end of a process says how it ended and why, without secrets.
func TestProcess(t *testing.T) {
	t.Parallel()
	p := start(t, "echo no luck with hush-hush-hush >&2; exit 3")
	if spawn := p.Spawned().Data.(terret.ProcessSpawn); spawn.PID != p.PID() || strings.Contains(strings.Join(spawn.Argv, " "), "hush") {
		t.Errorf("%+v", spawn)
	}
	<-p.Done()
	if p.Alive() {
		t.Error("it is alive")
	}
	worked, last := false, false
	p.Work.Go(func() {
		<-p.Life.Done()
		worked = errors.Is(context.Cause(p.Life), ErrEnded)
	})
	p.End(func() { last = worked })
	<-p.Told()
	_ = p.Stdout().Close()
	if !last {
		t.Error("its work was not waited for")
	}
	why := p.ExitError("It ended", "try again")
	if why.Code != terret.CodeProcessFailed || *why.ExitCode != 3 || !why.Retryable || len(why.Stderr) != 1 ||
		!strings.HasPrefix(why.Message, "It ended (") || !strings.HasSuffix(why.Message, ": no luck with [redacted:AGENT_API_KEY]; try again") {
		t.Errorf("%+v", why)
	}
	if never := terret.AsError(p.NeverReady(t.Context(), "It did not start", "look")); never.Retryable || !strings.HasPrefix(never.Message, "It did not start") {
		t.Errorf("%+v", never)
	}
	unwanted := p.Exited(false)
	if exit := unwanted[0].Data.(terret.ProcessExit); *exit.Code != 3 || len(unwanted) != 2 || unwanted[1].Data.(terret.SessionEnd).Reason != "agent_exit" {
		t.Errorf("%+v", unwanted)
	}
	if wanted := p.Exited(true); len(wanted) != 1 {
		t.Errorf("%+v", wanted)
	}
}

// A process that nobody reads is gone when it was discarded.
func TestDiscard(t *testing.T) {
	t.Parallel()
	p := start(t, "cat; trap '' TERM; while :; do sleep 0.01; done")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("no time"))
	p.Discard(ctx)
	<-p.Told()
	if exit := p.Exited(true)[0].Data.(terret.ProcessExit); exit.Signal == "" || exit.Code != nil || p.Alive() {
		t.Errorf("%+v", exit)
	}
	if err := p.NeverReady(ctx, "It did not start", "look"); err.Error() != "no time" {
		t.Error(err)
	}
}

func TestNotInstalled(t *testing.T) {
	t.Parallel()
	for install, want := range map[string]string{
		"get agent": "Agent is not installed: no-such-agent was not found; run `get agent`, or set agents.a.path",
		"":          "Agent is not installed: no-such-agent was not found; install it, or set agents.a.path",
	} {
		_, err := Program{Name: "a", Title: "Agent", Install: install}.Start(t.Context(), Spec{Argv: []string{"no-such-agent"}, Dir: "/", Log: slog.New(slog.DiscardHandler)})
		if e := terret.AsError(err); e.Code != terret.CodeAgentNotFound || e.Message != want {
			t.Errorf("%+v", e)
		}
	}
	_, err := Program{}.Start(t.Context(), Spec{Argv: []string{script(t, "true")}, Dir: "/there/is/none", Log: slog.New(slog.DiscardHandler)})
	if e := terret.AsError(err); e.Code != terret.CodeStartupRefused {
		t.Errorf("%+v", e)
	}
}
