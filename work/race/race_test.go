package race_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/store/sqlite"
	"github.com/terret-dev/terret/work/race"
	"github.com/terret-dev/terret/work/team"
	"github.com/terret-dev/terret/work/workflow"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// worker is an agent that changes files in its folder.
type worker struct {
	name string
	do   func(dir string) error
}

func (w worker) Name() string { return w.name }

func (w worker) Open(ctx context.Context, r terret.OpenRequest) (terret.Agent, error) {
	return mock.Talker(func(context.Context, string, string) (string, error) {
		return "done by " + w.name, w.do(r.Session.Cwd)
	}).Open(ctx, r)
}

// writes is an agent that writes a text into a file.
func writes(name, file, text string) worker {
	return worker{name, func(dir string) error { return os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600) }}
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=t", "-c", "user.email=t@t", "-c", "commit.gpgsign=false"}, args...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

type fixture struct {
	*race.Runner
	t    *testing.T
	dir  string
	home string
}

func newFixture(t *testing.T, drivers ...terret.Driver) *fixture {
	t.Helper()
	home, dir := t.TempDir(), t.TempDir()
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
	f := &fixture{&race.Runner{
		Log: workflow.Log{Host: host, List: store.ListSessions, Home: home}, Providers: team.FromDrivers(host, drivers), Env: os.Environ(),
	}, t, dir, home}
	git(t, dir, "init", "-q", "-b", "main")
	f.write("a.txt", "one\n")
	f.write(".gitignore", ".env\n")
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-qm", "one")
	f.write(".env", "KEY=1\n")
	return f
}

func (f *fixture) write(name, text string) {
	f.t.Helper()
	if err := os.WriteFile(filepath.Join(f.dir, name), []byte(text), 0o600); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) read(name string) string {
	f.t.Helper()
	b, err := os.ReadFile(filepath.Join(f.dir, name))
	if err != nil {
		f.t.Fatal(err)
	}
	return string(b)
}

// run runs a race of these agents to its finish.
func (f *fixture) run(q race.Request) race.Race {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), time.Minute)
	defer cancel()
	q.Cwd = f.dir
	x, err := f.Start(ctx, "ann", q)
	if err != nil {
		f.t.Fatal(err)
	}
	if x, err = f.Run(ctx, "ann", x.ID); err != nil || x.State != race.Finished {
		f.t.Fatalf("%+v: %v", x, err)
	}
	return x
}

// wantNothingLeft checks that no worktree, branch or file of a race is left.
func (f *fixture) wantNothingLeft() {
	f.t.Helper()
	if list := git(f.t, f.dir, "worktree", "list"); strings.Count(list, "\n") != 0 {
		f.t.Errorf("worktrees: %s", list)
	}
	if list := git(f.t, f.dir, "branch", "--list", "terret/*"); list != "" {
		f.t.Errorf("branches: %s", list)
	}
	for _, pattern := range []string{"worktrees/*", "workflows/*"} {
		if left, err := filepath.Glob(filepath.Join(f.home, pattern)); err != nil || len(left) > 0 {
			f.t.Errorf("left behind: %v %v", left, err)
		}
	}
}

// TestMerge runs a race of three, one of which fails its check, and merges another.
func TestMerge(t *testing.T) {
	t.Parallel()
	fails := worker{"fails", func(string) error { return errors.New("no luck") }}
	f := newFixture(t, writes("good", "a.txt", "two\n"), writes("bad", "b.txt", "x\n"), fails)
	x := f.run(race.Request{
		Task: "write two", Agents: []string{"good", "bad", "fails"}, Check: "grep two a.txt && test -e .env && test -e made.txt", Setup: "test -n \"$PORT\" && echo >made.txt", Copy: []string{".env"},
	})
	good, bad, failed := x.Racers[0], x.Racers[1], x.Racers[2]
	if good.Check != "passed" || good.Files != 2 || good.Insertions != 2 || good.Deletions != 1 || good.Answer != "done by good" || good.CheckOutput != "two" || good.CostUSD == 0 {
		t.Errorf("%+v", good)
	}
	if bad.Check != "failed" || bad.State != race.Finished || failed.State != race.Failed || !strings.Contains(failed.Error, "no luck") {
		t.Errorf("%+v\n%+v", bad, failed)
	}
	if s, err := f.Host.Store.Session(t.Context(), good.Session); err != nil || s.Title != "write two ("+good.Name+")" {
		t.Errorf("the session is called %q: %v", s.Title, err)
	}
	if x.Best() != good.Name {
		t.Errorf("the best is %q", x.Best())
	}
	if f.read("a.txt") != "one\n" {
		t.Error("the folder has changed")
	}
	if err := f.Diffs(t.Context(), &x); err != nil || !strings.Contains(x.Racers[0].Diff, "+two") {
		t.Errorf("%v: %s", err, x.Racers[0].Diff)
	}
	if _, err := f.Keep(t.Context(), "ann", x.ID, "nobody", false); terret.AsError(err).Code != terret.CodeInvalidRequest {
		t.Error(err)
	}
	f.write("a.txt", "mine\n") // a person is at work
	if _, err := f.Keep(t.Context(), "ann", x.ID, good.Name, false); !errors.Is(err, terret.ErrConflict) || f.read("a.txt") != "mine\n" {
		t.Error(err)
	}
	f.write("a.txt", "one\n")
	x, err := f.Keep(t.Context(), "ann", x.ID, good.Name, false)
	if err != nil || x.State != race.Kept || x.Kept != good.Name {
		t.Fatalf("%+v: %v", x, err)
	}
	if f.read("a.txt") != "two\n" || git(t, f.dir, "log", "--format=%s", "-1") != "write two" || git(t, f.dir, "status", "--porcelain") != "" {
		t.Error("it was not merged")
	}
	f.wantNothingLeft()
	if _, err := f.Drop(t.Context(), "ann", x.ID); !errors.Is(err, terret.ErrConflict) {
		t.Error(err)
	}
	if all, err := f.All(t.Context()); err != nil || len(all) != 1 || all[0].Kept != good.Name {
		t.Errorf("%+v: %v", all, err)
	}
}

// TestPreparedIsNotDone holds that what prepares a worktree does not count as a racer's work.
func TestPreparedIsNotDone(t *testing.T) {
	t.Parallel()
	idle := worker{"idle", func(string) error { return nil }}
	f := newFixture(t, idle, writes("good", "a.txt", "two\n"))
	x := f.run(race.Request{Task: "go", Agents: []string{"idle", "good"}, Setup: "echo >made.txt"})
	if x.Racers[0].Files != 0 || x.Racers[1].Files != 2 || x.Best() != "good-2" {
		t.Errorf("the best is %s of %+v", x.Best(), x.Racers)
	}
	if x = f.run(race.Request{Task: "go", Agents: []string{"idle", "idle"}, Setup: "echo >made.txt"}); x.Best() != "" {
		t.Errorf("the best is %s of %+v", x.Best(), x.Racers)
	}
}

// TestOneAtATime holds that nobody keeps or drops anything while somebody else does.
func TestOneAtATime(t *testing.T) {
	t.Parallel()
	f := newFixture(t, writes("one", "a.txt", "1\n"), writes("two", "b.txt", "2\n"))
	x := f.run(race.Request{Task: "go", Agents: []string{"one", "two"}})
	other, err := f.Lock(t.Context(), x.ID) // who has not merged anything yet
	if err != nil {
		t.Fatal(err)
	}
	for _, patch := range []bool{false, true} {
		if _, err := f.Keep(t.Context(), "ann", x.ID, "one-1", patch); !errors.Is(err, terret.ErrConflict) || f.read("a.txt") != "one\n" {
			t.Errorf("patch %v: %v", patch, err)
		}
	}
	if _, err := f.Drop(t.Context(), "ann", x.ID); !errors.Is(err, terret.ErrConflict) {
		t.Error(err)
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Keep(t.Context(), "ann", x.ID, "two-2", false); err != nil || f.read("a.txt") != "one\n" || f.read("b.txt") != "2\n" {
		t.Error(err)
	}
	if _, err := f.Keep(t.Context(), "ann", x.ID, "one-1", false); !errors.Is(err, terret.ErrConflict) || f.read("a.txt") != "one\n" {
		t.Errorf("it kept two: %v", err)
	}
	f.wantNothingLeft()
}

// TestOtherBranch keeps what an agent committed elsewhere than on the branch it was given.
func TestOtherBranch(t *testing.T) {
	t.Parallel()
	for name, checkout := range map[string][]string{"branch": {"checkout", "-qb", "fix"}, "no branch": {"checkout", "-q", "--detach"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wanders := worker{"wanders", func(dir string) error {
				git(t, dir, checkout...)
				if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("two\n"), 0o600); err != nil {
					return err
				}
				git(t, dir, "commit", "-qam", "fixed")
				return os.WriteFile(filepath.Join(dir, "b.txt"), []byte("more\n"), 0o600)
			}}
			f := newFixture(t, wanders, writes("stays", "c.txt", "x\n"))
			x := f.run(race.Request{Task: "go", Agents: []string{"wanders", "stays"}})
			f.write("d.txt", "mine\n") // no fast-forward
			git(t, f.dir, "add", ".")
			git(t, f.dir, "commit", "-qm", "meanwhile")
			if _, err := f.Keep(t.Context(), "ann", x.ID, "wanders-1", false); err != nil {
				t.Fatal(err)
			}
			if f.read("a.txt") != "two\n" || f.read("b.txt") != "more\n" || f.read("d.txt") != "mine\n" {
				t.Error("the work is lost")
			}
			f.wantNothingLeft()
		})
	}
}

// TestPatch keeps one as a patch, after the branch has moved on.
func TestPatch(t *testing.T) {
	t.Parallel()
	f := newFixture(t, writes("one", "new.txt", "new\n"), writes("two", "a.txt", "two\n"))
	x := f.run(race.Request{Task: "go", Agents: []string{"one", "two"}})
	f.write("a.txt", "other\n")
	git(t, f.dir, "commit", "-qam", "meanwhile")
	if _, err := f.Keep(t.Context(), "ann", x.ID, "two-2", true); !errors.Is(err, terret.ErrConflict) || !strings.Contains(err.Error(), "do not fit") {
		t.Error(err)
	}
	if _, err := f.Keep(t.Context(), "ann", x.ID, "two-2", false); !errors.Is(err, terret.ErrConflict) || git(t, f.dir, "status", "--porcelain") != "" {
		t.Error(err)
	}
	if _, err := f.Keep(t.Context(), "ann", x.ID, "one-1", true); err != nil {
		t.Fatal(err)
	}
	if status := git(t, f.dir, "status", "--porcelain"); status != "?? new.txt" {
		t.Errorf("status %s", status)
	}
	f.wantNothingLeft()
}

// TestDrop drops a race of which somebody has removed a worktree.
func TestDrop(t *testing.T) {
	t.Parallel()
	f := newFixture(t, writes("one", "new.txt", "new\n"), writes("two", "a.txt", "two\n"))
	x := f.run(race.Request{Task: "go", Agents: []string{"one", "two", "one"}})
	if err := os.RemoveAll(x.Racers[0].Dir); err != nil {
		t.Fatal(err)
	}
	if err := f.Diffs(t.Context(), &x); !errors.Is(err, terret.ErrConflict) {
		t.Error(err)
	}
	if _, err := f.Keep(t.Context(), "ann", x.ID, x.Racers[0].Name, true); !errors.Is(err, terret.ErrConflict) {
		t.Error(err)
	}
	x, err := f.Drop(t.Context(), "ann", x.ID)
	if err != nil || x.State != race.Dropped || x.Racers[1].Dir != "" {
		t.Errorf("%+v: %v", x, err)
	}
	f.wantNothingLeft()
}

// TestRefused holds where no race begins.
func TestRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t, writes("one", "new.txt", "new\n"))
	q := race.Request{Task: "go", Agents: []string{"one", "one"}, Cwd: f.dir}
	for want, change := range map[string]func(q *race.Request){
		"is not in a git repository":   func(q *race.Request) { q.Cwd = t.TempDir() },
		"at least two agents":          func(q *race.Request) { q.Agents = q.Agents[:1] },
		"it is empty":                  func(q *race.Request) { q.Task = "" },
		`there is no agent "nobody"`:   func(q *race.Request) { q.Agents = []string{"one", "nobody"} },
		"has uncommitted changes (x y": func(*race.Request) { f.write("x y", "") },
	} {
		bad := q
		change(&bad)
		if _, err := f.Start(t.Context(), "ann", bad); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		if err := os.RemoveAll(filepath.Join(f.dir, "x y")); err != nil {
			t.Fatal(err)
		}
	}
	f.wantNothingLeft()
	f.Home = ""
	if _, err := f.Start(t.Context(), "ann", q); err == nil || terret.AsError(err).Field != "home" {
		t.Error(err)
	}
}

// TestSameStart commits to the folder after the race was started: all agents begin with
// the commit of the start, and nothing of the new one counts as theirs.
func TestSameStart(t *testing.T) {
	t.Parallel()
	seen := make(chan bool, 2)
	looks := func(name string) worker {
		return worker{name, func(dir string) error {
			_, err := os.Stat(filepath.Join(dir, "later.txt"))
			seen <- err == nil
			return os.WriteFile(filepath.Join(dir, "new.txt"), []byte("new\n"), 0o600)
		}}
	}
	f := newFixture(t, looks("a"), looks("b"))
	x, err := f.Start(t.Context(), "ann", race.Request{Task: "go", Agents: []string{"a", "b"}, Cwd: f.dir})
	if err != nil {
		t.Fatal(err)
	}
	f.write("later.txt", "later\n")
	git(t, f.dir, "add", ".")
	git(t, f.dir, "commit", "-qm", "later")
	if x, err = f.Run(t.Context(), "ann", x.ID); err != nil || x.State != race.Finished {
		t.Fatalf("%+v: %v", x, err)
	}
	for _, one := range x.Racers {
		if <-seen || one.Files != 1 || one.Insertions != 1 {
			t.Errorf("%+v begins with another commit", one)
		}
	}
	if _, err := f.Keep(t.Context(), "ann", x.ID, "a-1", false); err != nil || f.read("new.txt") != "new\n" || f.read("later.txt") != "later\n" {
		t.Errorf("%v", err)
	}
	f.wantNothingLeft()
}

// TestCutOff runs a race again that was cut off. An agent that was done is not asked again.
func TestCutOff(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	asked := 0
	slow := worker{"slow", func(string) error { cancel(); return nil }}
	fast := worker{"fast", func(dir string) error {
		asked++
		return os.WriteFile(filepath.Join(dir, "new.txt"), nil, 0o600)
	}}
	f := newFixture(t, slow, fast)
	x, err := f.Start(t.Context(), "ann", race.Request{Task: "go", Agents: []string{"fast", "slow"}, Cwd: f.dir})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Run(ctx, "ann", x.ID); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if x, err = f.Get(t.Context(), x.ID); err != nil || x.State != race.Interrupted {
		t.Errorf("%+v: %v", x, err)
	}
	if x, err = f.Run(t.Context(), "ann", x.ID); err != nil || x.State != race.Finished || x.Racers[0].Files != 1 || asked != 1 {
		t.Errorf("asked %d times: %+v: %v", asked, x, err)
	}
	if _, err := f.Drop(t.Context(), "ann", x.ID); err != nil {
		t.Fatal(err)
	}
	f.wantNothingLeft()
}

// TestNestedRepository holds that what a racer did in a repository of its own is not lost
// with its worktree.
func TestNestedRepository(t *testing.T) {
	t.Parallel()
	nests := worker{"nests", func(dir string) error {
		sub := filepath.Join(dir, "sub")
		git(t, dir, "init", "-q", sub)
		if err := os.WriteFile(filepath.Join(sub, "new.txt"), []byte("new\n"), 0o600); err != nil {
			return err
		}
		git(t, sub, "add", ".")
		git(t, sub, "commit", "-qm", "new")
		return nil
	}}
	f := newFixture(t, nests, writes("other", "c.txt", "x\n"))
	x := f.run(race.Request{Task: "go", Agents: []string{"nests", "other"}})
	for _, patch := range []bool{false, true} {
		_, err := f.Keep(t.Context(), "ann", x.ID, "nests-1", patch)
		if !errors.Is(err, terret.ErrConflict) || !strings.Contains(err.Error(), "sub") {
			t.Errorf("patch %v: %v", patch, err)
		}
		if _, err := os.Stat(filepath.Join(x.Racers[0].Dir, "sub", "new.txt")); err != nil {
			t.Errorf("patch %v: %v", patch, err)
		}
		if status := git(t, f.dir, "status", "--porcelain"); status != "" {
			t.Errorf("patch %v: %s", patch, status)
		}
	}
	git(t, f.dir, "clone", "-q", "--bare", filepath.Join(x.Racers[0].Dir, "sub"), filepath.Join(f.home, "sub.git"))
	git(t, filepath.Join(x.Racers[0].Dir, "sub"), "remote", "add", "origin", filepath.Join(f.home, "sub.git"))
	git(t, filepath.Join(x.Racers[0].Dir, "sub"), "fetch", "-q", "origin")
	if _, err := f.Keep(t.Context(), "ann", x.ID, "nests-1", false); err != nil {
		t.Errorf("what is elsewhere: %v", err)
	}
}

// TestIgnoredFiles holds that a merge does not replace files of the person's that git
// ignores.
func TestIgnoredFiles(t *testing.T) {
	t.Parallel()
	for name, path := range map[string]string{"file": ".env", "folder": ".env/key"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shows := worker{"shows", func(dir string) error {
				file := filepath.Join(dir, path)
				err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte("KEY=example\n"), 0o600))
				git(t, dir, "add", "--force", path)
				return err
			}}
			f := newFixture(t, shows, writes("other", "c.txt", "x\n"))
			x := f.run(race.Request{Task: "go", Agents: []string{"shows", "other"}})
			for _, patch := range []bool{false, true} {
				_, err := f.Keep(t.Context(), "ann", x.ID, "shows-1", patch)
				if !errors.Is(err, terret.ErrConflict) || !strings.Contains(err.Error(), ".env") || f.read(".env") != "KEY=1\n" {
					t.Fatalf("patch %v: %v", patch, err)
				}
			}
			if err := os.Remove(filepath.Join(f.dir, ".env")); err != nil {
				t.Fatal(err)
			}
			if _, err := f.Keep(t.Context(), "ann", x.ID, "shows-1", false); err != nil || f.read(path) != "KEY=example\n" {
				t.Error(err)
			}
		})
	}
}
