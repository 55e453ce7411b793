package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
)

// inProcess runs a command line in this process, in a home of its own.
func inProcess(t *testing.T, stdin string, environ []string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	home := t.TempDir()
	environ = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TERRET_HOME=" + filepath.Join(home, "terret"), "TERRET_MODEL=demo"}, environ...)
	var out, err bytes.Buffer
	code = run(t.Context(), newApp(strings.NewReader(stdin), &out, &err, environ), args)
	return code, out.String(), err.String()
}

// Each kind of error ends the program with the code of its class, whether the agent
// fails in a turn or cannot be opened.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	for kind, code := range map[terret.ErrorCode]int{
		terret.CodeInvalidRequest: 2, terret.CodeUnauthorized: 4, terret.CodeForbidden: 4, terret.CodeSessionNotFound: 3, terret.CodeNotFound: 3,
		terret.CodeSessionBusy: 3, terret.CodeConflict: 3, terret.CodeSessionClosed: 3, terret.CodeUnsupported: 3,
		terret.CodeAgentNotFound: 5, terret.CodeNotAuthenticated: 5, terret.CodeConnectionFailed: 6, terret.CodeProcessFailed: 6,
		terret.CodeMalformedOutput: 6, terret.CodeExecutionError: 6, terret.CodeModelError: 6, terret.CodeRateLimited: 6,
		terret.CodeOverloaded: 6, terret.CodeBilling: 6, terret.CodeModelNotFound: 6, terret.CodeMaxTurns: 7, terret.CodeMaxBudget: 7, terret.CodeMaxStructured: 7,
		terret.CodeInterrupted: 130, terret.CodeKilled: 137, terret.CodeTimeout: 124, terret.CodeStartupRefused: 1, terret.CodeInternal: 1,
	} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			fault := &terret.Error{Code: kind, Message: "it went wrong like this"}
			for name, script := range map[string]mock.Script{
				"turn": {Turns: [][]mock.Step{{{Text: "words"}, {Fail: fault}}}},
				"open": {OpenError: fault},
			} {
				text, err := json.Marshal(script)
				if err != nil {
					t.Fatal(err)
				}
				file := filepath.Join(t.TempDir(), "script.json")
				if err := os.WriteFile(file, text, 0o600); err != nil {
					t.Fatal(err)
				}
				got, stdout, stderr := inProcess(t, "", []string{"TERRET_MOCK_SCRIPT=" + file}, "run", "--agent", "mock", "--cwd", t.TempDir(), "go")
				if got != code || !strings.Contains(stderr, "terret: it went wrong like this\n") {
					t.Errorf("%s: exit code %d, want %d: %s", name, got, code, stderr)
				}
				if want := (name == "turn"); strings.Contains(stdout, "words") != want {
					t.Errorf("%s: standard output %q", name, stdout)
				}
			}
		})
	}
}

// What no shell can pass on is refused all the same.
func TestNUL(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, c := range map[string]struct {
		args  []string
		code  int
		shows string
	}{
		"folder":  {[]string{"run", "--cwd", "a\x00b", "hello"}, 2, "cwd: "},
		"session": {[]string{"sessions", "show", "0\x00"}, 2, "is not a session id"},
		"command": {[]string{"a\x00b"}, 2, "there is no command"},
		"agent":   {[]string{"run", "--cwd", dir, "--agent", "a\x00b", "hello"}, 5, "there is no agent"},
		"data":    {[]string{"--data", dir + "/a\x00b", "sessions"}, 1, "data folder"},
		"backup":  {[]string{"--data", dir + "/data", "db", "backup", dir + "/a\x00b"}, 2, "cannot write the backup"},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := inProcess(t, "", nil, c.args...)
			if code != c.code || !strings.Contains(stderr, c.shows) || strings.ContainsAny(stderr+stdout, "\x00") {
				t.Errorf("exit code %d, want %d: %q", code, c.code, stderr)
			}
		})
	}
}

// A command that there is not is named, and not the first of its flags.
func TestNoSuchCommand(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args  []string
		shows string
	}{
		{[]string{"tema"}, `there is no command "tema"; did you mean team? ` + "`terret help` lists them"},
		{[]string{"nonsense"}, `there is no command "nonsense"; ` + "`terret help` lists them"},
		{[]string{"tema", "add", "--model", "m"}, `there is no command "tema"`},
		{[]string{"team", "add", "ann", "--model", "m"}, `there is no command "add"; ` + "`terret team --help` lists them"},
		{[]string{"help", "tema"}, `there is no command "tema"; did you mean team? ` + "`terret help` lists them"},
		{[]string{"help", "team", "nonsense"}, `there is no command "nonsense"; ` + "`terret team --help` lists them"},
		{[]string{"team", "--model", "m"}, "unknown flag: --model; see `terret team --help`"},
		{[]string{"--colour", "m"}, "unknown flag: --colour; `terret run PROMPT` asks one thing"},
		{[]string{"resume"}, "did you mean chat?"},
		{[]string{"team", "spawn", "ann", "--colour", "m"}, "unknown flag: --colour; see `terret team spawn --help`"},
	} {
		if code, _, stderr := inProcess(t, "", nil, c.args...); code != 2 || !strings.Contains(stderr, c.shows) {
			t.Errorf("%q: exit code %d: %q", c.args, code, stderr)
		}
	}
}

// A list has as many items as were asked for, however many a page holds.
func TestUpTo(t *testing.T) {
	t.Parallel()
	const there, most = 7, 3
	pages := func(limit int, cursor string) (p terret.Page[int], err error) {
		n := len(cursor)
		for len(p.Items) < min(limit, most) && n < there {
			p.Items = append(p.Items, n)
			n++
		}
		if n < there {
			p.Next = strings.Repeat("x", n)
		}
		return p, nil
	}
	for wanted, want := range map[int]int{1: 1, 3: 3, 4: 4, 6: 6, 7: 7, 100: 7} {
		got, err := upTo(wanted, pages)
		if err != nil || len(got.Items) != want || got.Items[want-1] != want-1 || (got.Next == "") != (want == there) {
			t.Errorf("%d: %+v, %v", wanted, got, err)
		}
	}
	for _, args := range [][]string{{"sessions", "ls", "--limit", "0"}, {"search", "--limit", "-1", "x"}} {
		if code, _, stderr := inProcess(t, "", nil, append([]string{"--data", t.TempDir()}, args...)...); code != 2 || !strings.Contains(stderr, "limit: ") {
			t.Errorf("%q: %d %q", args, code, stderr)
		}
	}
}

// Text of an agent cannot move the cursor, recolour or hide anything.
func TestPrintable(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain\n\ttext": "plain\n\ttext",
		"\x1b[31mred":   "␛[31mred",
		"a\rb\x00\x7f":  "a␍b␀␡",
		"x\u202egpj":    "x\ufffdgpj",
		"\x9b31m":       "\ufffd31m",
		"\u009b31m":     "\ufffd31m",
	} {
		if got := printable(in); got != want {
			t.Errorf("printable(%q) = %q, want %q", in, got, want)
		}
	}
	if got := fit(oneLine("  many\nwords\there  "), 8); got != "many wo…" {
		t.Errorf("fit: %q", got)
	}
}
