package sim_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
)

// TestHold has answers that stop before their last piece until they are released.
func TestHold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := player(t, "steps:\n  - {repeat: forever, answer: {pieces: [a, b, c], hold: x, thinking: hm}}\n")
		reply, err := p.Answer(t.Context(), ask("go"))
		if err != nil {
			t.Fatal(err)
		}
		var said []string
		done := make(chan struct{})
		go func() {
			defer close(done)
			for ev, err := range reply.Events(t.Context()) {
				if err != nil {
					t.Error(err)
				}
				if ev.Text != "" {
					said = append(said, ev.Text)
				}
			}
		}()
		synctest.Wait()
		if diff := cmp.Diff([]string{"hm", "a", "b"}, said); diff != "" {
			t.Error(diff)
		}
		p.Release("other")
		synctest.Wait()
		if len(said) != 3 {
			t.Errorf("released by another name: %v", said)
		}
		p.Release("x")
		p.Release("x")
		<-done
		if diff := cmp.Diff([]string{"hm", "a", "b", "c"}, said); diff != "" {
			t.Error(diff)
		}
		if got := answer(t, p, ask("go")); got != "hmabc" {
			t.Errorf("once released: %q", got)
		}
	})
}

func TestHoldEndsWithTheRequest(t *testing.T) {
	t.Parallel()
	p := player(t, "steps:\n  - {answer: {text: one, hold: x}}\n")
	reply, err := p.Answer(t.Context(), ask("go"))
	if err != nil {
		t.Fatal(err)
	}
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	for ev, err := range reply.Events(ctx) {
		if ev.Text != "" || err != nil && !errors.Is(err, cause) {
			t.Errorf("%+v, %v", ev, err)
		}
	}
}

// TestReminders has steps that look at what agents tell the model on the side.
func TestReminders(t *testing.T) {
	t.Parallel()
	p := player(t, `
steps:
  - {match: {reminder: "/file is (?P<f>\\S+)\\./"}, repeat: forever, anywhere: true, answer: {text: "I use {{f}}"}}
  - {answer: {text: none}, repeat: forever}
`)
	for text, want := range map[string]string{
		"hi<system-reminder>the file is /a/b.md. Use it</system-reminder>":                         "I use /a/b.md",
		"<system-reminder>x</system-reminder> y <system-reminder>the file is z.</system-reminder>": "I use z",
		"the file is /a/b.md.":                  "none",
		"<system-reminder>the file is /a/b.md.": "none",
	} {
		if got := answer(t, p, ask(text)); got != want {
			t.Errorf("%s: %s", text, got)
		}
	}
	later := request(says("user", textBlock("<system-reminder>file is q.</system-reminder>")), says("assistant", textBlock("file is p.")), says("user", textBlock("go on")))
	if got := answer(t, p, later); got != "I use q" {
		t.Errorf("later: %s", got)
	}
	own := request(says("user", textBlock("go")), says("system", textBlock("# Plan\nfile is s.")))
	if got := answer(t, p, own); got != "I use s" {
		t.Errorf("a message of its own: %s", got)
	}
}
