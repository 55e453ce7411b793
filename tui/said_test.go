package tui

import (
	"strings"
	"testing"
	"time"
)

// flowed is what the screen says, whatever rows it is broken into.
func flowed(s string) string { return strings.Join(strings.Fields(s), " ") }

// TestHelpIsWhole holds that no line of the help is cut on a narrow terminal.
func TestHelpIsWhole(t *testing.T) {
	t.Parallel()
	m := screenOf(t, 60, 200, "none", nil)
	m.overlay = &help{}
	got := flowed(seen(t, m))
	for _, want := range []string{"while nothing is written: send on what a stop has held", "the wheel scrolls; Shift selects text", "use another model, or for a new session another agent"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, seen(t, m))
		}
	}
}

// TestErrorsAreWhole holds that what went wrong can be read to its end, unless it is so long
// that it would fill the screen.
func TestErrorsAreWhole(t *testing.T) {
	t.Parallel()
	m := screenOf(t, 60, 16, "none", story().events)
	m.say(bad, `there is no model "foo"; use demo, or one of anthropic/MODEL, openai/MODEL, gemini/MODEL, openrouter/MODEL, ollama/MODEL`)
	golden(t, "error-60x16-none.txt", seen(t, m))

	m.say(bad, strings.Repeat("much is wrong ", 100))
	got := seen(t, m)
	if n := strings.Count(got, "\n"); n > 16 || !strings.Contains(got, "…") || !strings.Contains(got, "fix flaky login") {
		t.Errorf("%d rows:\n%s", n, got)
	}
	m.say(plain, "Renamed.")
	if got := seen(t, m); !strings.Contains(got, "─ Renamed. ─") {
		t.Errorf("what fits is not in the rule:\n%s", got)
	}
}

// TestSaidNoMore holds that what was said about one thing is gone once the person goes on
// to the next.
func TestSaidNoMore(t *testing.T) {
	t.Parallel()
	m := screenOf(t, 100, 40, "none", story().events)
	connectedTo(t, m)
	seen(t, m)
	m.now = func() time.Time { return began.Add(2 * time.Minute) }
	m.say(plain, "Nothing was changed.")
	if press(m, "y") == nil || m.toast.words != "" {
		t.Errorf("after an answer: %q", m.toast.words)
	}
	m.say(bad, "There is no /diff.")
	press(m, "h", "i", "enter")
	if m.toast.words != "" {
		t.Errorf("after a message: %q", m.toast.words)
	}
}

// TestModeNames holds that a mode that does not exist is answered with those that people see.
func TestModeNames(t *testing.T) {
	t.Parallel()
	m := screenOf(t, 100, 40, "none", nil)
	m.command("mode", "fast")
	if want := "There is no mode fast; use ask, auto-edit, plan or full-auto."; m.toast.words != want {
		t.Errorf("%q, want %q", m.toast.words, want)
	}
}

// TestNothingToChoose holds that a list in which there is nothing yet says what to do rather
// than that nothing fits.
func TestNothingToChoose(t *testing.T) {
	t.Parallel()
	m := screenOf(t, 100, 40, "none", nil)
	m.command("handoff", "")
	if got := seen(t, m); m.overlay != nil || !strings.Contains(got, "No other agent is installed and signed in") {
		t.Errorf("no agent to hand over to:\n%s", got)
	}
	m.command("search", "")
	if got := seen(t, m); !strings.Contains(got, "Type what to look for.") {
		t.Errorf("nothing to look for:\n%s", got)
	}
	press(m, "x")
	if got := seen(t, m); !strings.Contains(got, "Nothing fits.") {
		t.Errorf("nothing found:\n%s", got)
	}
}
