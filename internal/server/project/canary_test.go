package project_test

import (
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/redact"
	"github.com/terret-dev/terret/internal/server/project"
)

// Canaries. None of them is, or ever was, a key.
const (
	canary = `cAnAry"0123456789\<zZyYxXwW>`
	shaped = "sk-ant-api03-CANARYcanaryCANARYcanary"
)

// allFiles is everything that was written to a project.
func allFiles(t *testing.T, s terret.Session) string {
	t.Helper()
	var all strings.Builder
	err := fs.WalkDir(os.DirFS(s.Cwd), ".", func(name string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			var b []byte
			b, err = fs.ReadFile(os.DirFS(s.Cwd), name)
			all.Write(b)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

func TestSecretsStayOut(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	s.Persona, s.Title = canary, "Use "+canary+shaped
	f := project.New(project.Options{Redactor: redact.New(redact.FromEnv([]string{"MY_API_KEY=" + canary}))})
	escaped := `{"command":"echo cAnAry\"0123456789\\\u003czZyYxXwW\u003e ` + shaped + `"}`
	spread := strings.Repeat("x", 190) // so that the cut is within the secret
	f.Record(s, nil)
	f.Record(s, entries(
		t, s,
		terret.TurnStart{Prompt: []terret.Block{terret.Text(spread + canary + shaped)}},
		terret.ProcessSpawn{Argv: []string{"claude", "--api-key", canary, "--x=" + canary, "ANTHROPIC_API_KEY=" + canary, shaped}},
		terret.SessionStart{Source: "resume", NativeID: "n" + canary, Model: canary, Tools: []string{canary, shaped}},
		terret.SessionNativeID{Old: canary, New: "n", Reason: "stale", Error: canary},
		terret.ToolPre{Name: canary, Input: terret.JSON(escaped)},
		terret.ToolPost{Name: canary, Content: []terret.Block{terret.Text(canary)}},
		terret.ToolFailure{Name: shaped, Error: canary},
		terret.DiagParseError{Text: strings.Repeat("y", 490) + canary},
		terret.DiagStderr{Text: canary},
		terret.DiagWarning{Text: canary},
		terret.TurnError{Error: terret.Error{Message: canary, Stderr: []string{canary, canary[:9], canary[9:]}}},
	))
	if _, err := f.SavePrompt(s, "Use "+canary+" and "+shaped); err != nil {
		t.Fatal(err)
	}
	all := allFiles(t, s)
	for _, secret := range []string{canary, `cAnAry\"`, "0123456789", "zZyYxXwW", "CANARYcanary"} {
		if at := strings.Index(all, secret); at >= 0 {
			t.Errorf("%q came out: …%s…", secret, all[max(0, at-80):min(len(all), at+80)])
		}
	}
	if !strings.Contains(all, "[redacted:MY_API_KEY]") {
		t.Error("nothing was redacted by name")
	}
}

// An agent's output comes in pieces, and a driver cuts long lines.
func TestSplitSecretsStayOut(t *testing.T) {
	t.Parallel()
	const secret = "cAnAryVaLuE-0123456789-ZyXwVu"
	for cut := range len(secret) + 1 {
		s := newSession(t)
		f := project.New(project.Options{Redactor: redact.New(map[string]string{"K": secret})})
		first, second := secret[:cut], secret[cut:]
		f.Record(s, entries(
			t, s, terret.MessageDelta{MessageID: "m", Text: first}, terret.MessageDelta{MessageID: "m", Text: second},
			terret.DiagStderr{Text: "a " + first}, terret.DiagParseError{Text: "b " + first},
		))
		f.Record(s, entries(t, s, terret.DiagStderr{Text: second + " c"}, terret.DiagParseError{Text: second + " d"}))
		all := allFiles(t, s)
		for _, part := range []string{secret[:6], secret[6:14], secret[14:22], secret[len(secret)-6:]} {
			if strings.Contains(all, part) {
				t.Errorf("cut at %d: %q came out:\n%s", cut, part, all)
			}
		}
	}
}
