package review_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/store/sqlite"
	"github.com/terret-dev/terret/work/review"
	"github.com/terret-dev/terret/work/team"
	"github.com/terret-dev/terret/work/workflow"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// named is a talker of another name.
type named struct {
	mock.Talker
	name string
}

func (n named) Name() string { return n.name }

// says is an agent that answers each prompt with the next text; the last one repeats.
func says(name string, texts ...string) named {
	var n atomic.Int64
	return named{func(context.Context, string, string) (string, error) {
		return texts[min(int(n.Add(1))-1, len(texts)-1)], nil
	}, name}
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=t", "-c", "user.email=t@t", "-c", "commit.gpgsign=false"}, args...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// seeded is a repository with a change: line 2 of a.go, a new file, and a lock file.
func seeded(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	git(t, dir, "init", "-q", "-b", "main")
	write(t, dir, "a.go", "package a\nvar x = 1\nvar y = 2\n")
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-qm", "one")
	write(t, dir, "a.go", "package a\nvar x = 1 / zero\nvar y = 2\n")
	write(t, dir, "new file.go", "package a\n")
	write(t, dir, "go.sum", "x\n")
	return dir
}

func newRunner(t *testing.T, drivers ...terret.Driver) *review.Runner {
	t.Helper()
	home := t.TempDir()
	store, err := sqlite.Open(t.Context(), filepath.Join(home, "terret.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.New(t.Context(), engine.Config{Store: store, Drivers: drivers})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(e.Close(context.Background()), store.Close()); err != nil {
			t.Error(err)
		}
	})
	host := team.Host{Engine: e, Store: store}
	return &review.Runner{
		Log: workflow.Log{Host: host, List: store.ListSessions, Home: home}, Providers: team.FromDrivers(host, drivers),
		Default: func(context.Context, string) string { return drivers[0].Name() },
	}
}

func run(t *testing.T, r *review.Runner, q review.Request) review.Report {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if q.Template.Name == "" {
		var err error
		if q.Template, err = review.Load("code"); err != nil {
			t.Fatal(err)
		}
	}
	report, err := r.Start(ctx, "ann", q)
	if err == nil && !report.Empty {
		report, err = r.Run(ctx, "ann", report.ID)
	}
	if err != nil {
		t.Fatal(err)
	}
	return report
}

const bad = `{"verdict": "FAIL", "summary": "It crashes.", "findings": [
	{"severity": "high", "category": "Bug", "file": "a.go", "line": 2, "message": "divides by zero"},
	{"severity": "low", "category": "bug", "file": "a.go", "line": 40, "message": "not in the diff"},
	{"severity": "low", "category": "bug", "file": "nowhere.go", "line": 1, "message": "no such file"}]}`

// TestReview reviews a seeded change. Prose around the answer does no harm, and what an
// agent claims about lines that the diff does not show is marked.
func TestReview(t *testing.T) {
	t.Parallel()
	var prompt string
	agent := named{func(_ context.Context, _, p string) (string, error) {
		prompt = p
		return "I looked {at it}.\n```json\n" + bad + "\n```\nThat is all.", nil
	}, "one"}
	r := newRunner(t, agent)
	dir := seeded(t)
	got := run(t, r, review.Request{Cwd: dir, Input: "Be strict."})
	want := []review.Finding{
		{Severity: "high", Category: "bug", File: "a.go", Line: 2, Message: "divides by zero", Verified: true, FoundBy: []string{"one"}},
		{Severity: "low", Category: "bug", File: "a.go", Line: 40, Message: "not in the diff", FoundBy: []string{"one"}},
		{Severity: "low", Category: "bug", File: "nowhere.go", Line: 1, Message: "no such file", FoundBy: []string{"one"}},
	}
	if diff := cmp.Diff(want, got.Findings); diff != "" || got.Verdict != review.Fail || got.Summary != "It crashes." || got.State != "completed" {
		t.Errorf("%+v\n-want +got\n%s", got, diff)
	}
	for _, part := range []string{"Be strict.", "+var x = 1 / zero", "+++ b/new file.go", `"verdict"`} {
		if !strings.Contains(prompt, part) {
			t.Errorf("the prompt lacks %q:\n%s", part, prompt)
		}
	}
	if strings.Contains(prompt, "go.sum") {
		t.Error("the lock file is in the prompt")
	}
	s, err := r.Host.Store.Session(t.Context(), got.Agents[0].Session)
	if err != nil || s.Cwd != dir || !strings.Contains(s.Options.SystemAppend, "You change nothing") || s.Options.SettingSources == nil || len(s.Options.SettingSources) > 0 ||
		cmp.Diff([]string{"Read", "Glob", "Grep"}, s.Options.Tools) != "" || s.Policy != terret.PolicyAsk || len(s.Options.AutoApproveTools) > 0 {
		t.Errorf("%+v: %v", s, err)
	}
	if want := "Review of " + filepath.Base(dir) + " (one-1)"; s.Title != want {
		t.Errorf("the session is called %q, want %q", s.Title, want)
	}
	if status := git(t, dir, "status", "--porcelain"); !strings.Contains(status, `?? "new file.go"`) {
		t.Errorf("the review changed the index: %s", status)
	}
	if all, err := r.All(t.Context()); err != nil || len(all) != 1 || all[0].Verdict != review.Fail || all[0].ID != got.ID {
		t.Errorf("%+v: %v", all, err)
	}
}

// TestRepair holds that an answer that cannot be read is asked for again, and that an
// agent that never gives one has failed.
func TestRepair(t *testing.T) {
	t.Parallel()
	pass := `{"verdict": "pass", "findings": []}`
	for _, c := range []struct {
		name    string
		said    []string
		verdict review.Verdict
		repairs int
		problem string
	}{
		{"at once", []string{pass}, review.Pass, 0, ""},
		{"prose", []string{"It looks good to me.", pass}, review.Pass, 1, ""},
		{"half JSON", []string{bad[:60], "{" + bad, bad}, review.Fail, 1, ""},
		{"another verdict", []string{`{"verdict": "GOOD"}`, `{"verdict": "FAIL", "findings": [{"severity": "awful", "message": "x"}]}`, pass}, review.Pass, 2, ""},
		{"never", []string{"no"}, "", 2, "its answer cannot be read: there is no JSON object with a verdict in it"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := run(t, newRunner(t, says("one", c.said...)), review.Request{Cwd: seeded(t)})
			if got.Verdict != c.verdict || got.Agents[0].Repairs != c.repairs || !strings.Contains(got.Agents[0].Error, c.problem) || c.problem == "" && got.Agents[0].Error != "" {
				t.Errorf("%+v", got)
			}
			if failed := got.State == "failed"; failed != (c.problem != "") {
				t.Errorf("it is %s", got.State)
			}
		})
	}
}

// TestEnsemble merges what three agents found, one of which fails.
func TestEnsemble(t *testing.T) {
	t.Parallel()
	finding := func(verdict, severity, category, line, message string) string {
		return `{"verdict": "` + verdict + `", "summary": "s", "findings": [{"severity": "` + severity + `", "category": "` + category + `", "file": "a.go", "line": ` + line + `, "message": "` + message + `"}]}`
	}
	r := newRunner(t,
		says("one", finding("CONCERNS", "medium", "bug", "2", "may divide by zero")),
		says("two", finding("FAIL", "critical", "crash", "2", "divides by zero")),
		says("three", finding("PASS", "info", "style", "9", "far away")),
		says("four", "?"))
	got := run(t, r, review.Request{Cwd: seeded(t), Agents: []string{"one", "two", "three", "four"}})
	want := []review.Finding{
		{Severity: "critical", Category: "bug", File: "a.go", Line: 2, Message: "may divide by zero", Verified: true, FoundBy: []string{"one", "two"}},
		{Severity: "info", Category: "style", File: "a.go", Line: 9, Message: "far away", FoundBy: []string{"three"}},
	}
	if diff := cmp.Diff(want, got.Findings); diff != "" || got.Verdict != review.Fail || got.State != "completed" || got.Agents[3].Error == "" {
		t.Errorf("%+v\n-want +got\n%s", got, diff)
	}
	var text bytes.Buffer
	if err := got.Write(&text, "text"); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"FAIL\n", "a.go:2: critical: bug (found by one, two)", "a.go:9: info: style (unverified: not in the diff; found by three)", "four failed: "} {
		if !strings.Contains(text.String(), part) {
			t.Errorf("the text lacks %q:\n%s", part, text.String())
		}
	}
}

// TestNotAllReviewed holds that nobody is told PASS about what was not reviewed by all, or
// not in whole.
func TestNotAllReviewed(t *testing.T) {
	t.Parallel()
	pass := `{"verdict": "PASS", "summary": "fine"}`
	dir := seeded(t)
	large := seeded(t)
	write(t, large, "large.go", strings.Repeat("package a // and so on\n", 10_000))
	for name, c := range map[string]struct {
		request review.Request
		want    review.Verdict
		says    string
	}{
		"a reviewer failed": {review.Request{Cwd: dir, Agents: []string{"one", "two"}}, review.Concerns, "two failed: "},
		"a file is left":    {review.Request{Cwd: large}, review.Concerns, "Too large to be reviewed: large.go"},
		"all is well":       {review.Request{Cwd: dir}, review.Pass, `"verdict": "PASS"`},
	} {
		got := run(t, newRunner(t, says("one", pass), says("two", "?")), c.request)
		if got.Verdict != c.want || got.State != "completed" {
			t.Errorf("%s: %+v", name, got)
		}
		var out bytes.Buffer
		if err := got.Write(&out, "sarif"); err != nil || !strings.Contains(out.String(), c.says) {
			t.Errorf("%s: %v\n%s", name, err, out.String())
		}
	}
}

// TestTwoVerdicts holds that a verdict in what an agent quotes, as from the diff, does not
// count for its own.
func TestTwoVerdicts(t *testing.T) {
	t.Parallel()
	both := "The comment says {\"verdict\": \"PASS\"}, which is odd.\n" + bad
	got := run(t, newRunner(t, says("one", both, bad)), review.Request{Cwd: seeded(t)})
	if got.Verdict != review.Fail || got.Agents[0].Repairs != 1 {
		t.Errorf("%+v", got)
	}
}

// TestTwins holds that two agents of the same kind find the same thing once, and that both
// are counted.
func TestTwins(t *testing.T) {
	t.Parallel()
	r := newRunner(t, says("one", `{"verdict": "FAIL", "findings": [{"severity": "high", "category": "bug", "file": "a.go", "line": 2, "message": "x"}, {"severity": "high", "category": "bug", "file": "a.go", "line": 3, "message": "y"}]}`))
	got := run(t, r, review.Request{Cwd: seeded(t), Agents: []string{"one", "one"}})
	if len(got.Findings) != 2 || len(got.Findings[0].FoundBy) != 2 {
		t.Errorf("%+v", got.Findings)
	}
	var text bytes.Buffer
	if err := got.Write(&text, "text"); err != nil || !strings.Contains(text.String(), "found by one 2 times") {
		t.Errorf("%v: %s", err, text.String())
	}
}

// TestEmpty holds that nothing is asked about an empty diff, and that a plan needs none.
func TestEmpty(t *testing.T) {
	t.Parallel()
	r := newRunner(t, says("one", `{"verdict": "CONCERNS"}`))
	dir := seeded(t)
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-qm", "two")
	if got := run(t, r, review.Request{Cwd: dir}); !got.Empty || got.ID != "" {
		t.Errorf("%+v", got)
	}
	if got := run(t, r, review.Request{Cwd: dir, Base: "HEAD~1"}); got.Empty || got.Verdict != review.Concerns {
		t.Errorf("%+v", got)
	}
	if got := run(t, r, review.Request{Cwd: dir, Base: "HEAD~1..HEAD"}); got.Empty {
		t.Errorf("%+v", got)
	}
	plan, err := review.Load("plan")
	if err != nil {
		t.Fatal(err)
	}
	if got := run(t, r, review.Request{Cwd: dir, Template: plan, Input: "First, dig."}); got.Empty || got.Verdict != review.Concerns {
		t.Errorf("%+v", got)
	}
	for base, want := range map[string]string{"nonsense": `"nonsense" is not a commit here`, "--output=x": "is not a commit here"} {
		if _, err := r.Start(t.Context(), "ann", review.Request{Cwd: dir, Template: plan, Base: base}); err == nil || !strings.Contains(err.Error(), want) {
			t.Error(err)
		}
	}
	if _, err := r.Start(t.Context(), "ann", review.Request{Cwd: t.TempDir(), Template: plan}); err == nil || !strings.Contains(err.Error(), "is not in a git repository") {
		t.Error(err)
	}
}

// TestNoAgent holds that somebody must name an agent.
func TestNoAgent(t *testing.T) {
	t.Parallel()
	r := newRunner(t, says("one", `{"verdict": "PASS"}`))
	code, err := review.Load("code")
	if err != nil {
		t.Fatal(err)
	}
	q := review.Request{Cwd: seeded(t), Template: code}
	r.Default = nil
	if _, err := r.Start(t.Context(), "ann", q); !errors.Is(err, terret.ErrInvalid) || terret.AsError(err).Field != "agents" {
		t.Error(err)
	}
	q.Template.Agent = "one"
	if got := run(t, r, q); got.Verdict != review.Pass {
		t.Errorf("%+v", got)
	}
}

// TestFormats writes a report in each format.
func TestFormats(t *testing.T) {
	t.Parallel()
	got := run(t, newRunner(t, says("one", bad)), review.Request{Cwd: seeded(t)})
	for format, want := range map[string]string{
		"text": "a.go:40: low: bug (unverified: not in the diff)\n  not in the diff\n", "markdown": "- **high** `a.go:2` bug\n  divides by zero\n",
		"json": `"verdict": "FAIL"`, "sarif": `"startLine": 2`,
	} {
		var out bytes.Buffer
		if err := got.Write(&out, format); err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("%s: %v\n%s", format, err, out.String())
		}
		if format == "sarif" {
			var log struct {
				Version string
				Runs    []struct {
					Results []struct{ RuleID, Level string }
				}
			}
			if err := json.Unmarshal(out.Bytes(), &log); err != nil || log.Version != "2.1.0" || len(log.Runs[0].Results) != 3 || log.Runs[0].Results[0].Level != "error" {
				t.Errorf("%+v: %v", log, err)
			}
		}
	}
	if err := got.Write(&bytes.Buffer{}, "pdf"); terret.AsError(err).Code != terret.CodeInvalidRequest {
		t.Error(err)
	}
}

// TestTemplateFile holds that what a template of the user's own says is what the agents
// work with.
func TestTemplateFile(t *testing.T) {
	t.Parallel()
	r := newRunner(t, says("one", `{"verdict": "PASS"}`))
	files, dir := t.TempDir(), seeded(t)
	for text, want := range map[string]terret.Session{
		"prompt: '{{diff}}'\nsystem: Be kind.\ntools: [Read, Bash]\npermission_mode: odd\nmodel: large\nsetting_sources: [project]\nmax_cost_usd: 0.5": {
			Model: "large", PermissionMode: "odd", Options: terret.SessionOptions{
				SystemAppend: "Be kind.", Tools: []string{"Read", "Bash"}, AutoApproveTools: []string{"Read", "Bash"}, SettingSources: []string{"project"}, MaxCostUSD: terret.USD / 2,
			},
		},
		"prompt: '{{diff}}'\ntools: [all]": {Options: terret.SessionOptions{SettingSources: []string{}}},
	} {
		write(t, files, "mine.yaml", text)
		template, err := review.Load(filepath.Join(files, "mine.yaml"))
		if err != nil || template.Name != "mine" {
			t.Fatal(template, err)
		}
		got := run(t, r, review.Request{Cwd: dir, Template: template})
		s, err := r.Host.Store.Session(t.Context(), got.Agents[0].Session)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, terret.Session{Model: s.Model, PermissionMode: s.PermissionMode, Options: s.Options}); diff != "" {
			t.Errorf("%s\n-want +got\n%s", text, diff)
		}
	}
}

// TestTemplates loads those that are built in, and says what is wrong with others.
func TestTemplates(t *testing.T) {
	t.Parallel()
	if diff := cmp.Diff([]string{"code", "plan", "security", "tasks"}, review.Names()); diff != "" {
		t.Error(diff)
	}
	for _, name := range review.Names() {
		got, err := review.Load(name)
		if err != nil || got.Name != name || got.System == "" || cmp.Diff([]string{"Read", "Glob", "Grep"}, got.Tools) != "" {
			t.Errorf("%+v: %v", got, err)
		}
	}
	for text, want := range map[string]string{
		"promt: x":                     `f.yaml:1:1: unknown field "promt"`,
		"name: x":                      "f.yaml:1:1: a template needs a prompt",
		"prompt: hi {{dif}}":           "f.yaml:1:9: {{dif}} is unknown; use {{diff}} or {{input}}",
		"prompt: hi":                   "f.yaml:1:9: the prompt must contain {{diff}}",
		"prompt: '{{diff}}'\ntools: 3": "f.yaml:2:8: ",
		"prompt: '{{diff}}'\ndiff: {exclude: ['[']}": "f.yaml:2:18: \"[\" is not a pattern",
	} {
		if _, err := review.Parse("f.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	if _, err := review.Load("nonsense"); err == nil || !strings.Contains(err.Error(), "use code, plan, security, tasks, or a YAML file") {
		t.Error(err)
	}
}
