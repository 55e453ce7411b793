package engine_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/engine"
)

func write(name, content string) mock.Step {
	return mock.Step{Do: func(_ context.Context, dir string) error {
		return os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644)
	}}
}

func remove(name string) mock.Step {
	return mock.Step{Do: func(_ context.Context, dir string) error { return os.Remove(filepath.Join(dir, name)) }}
}

// undoFixture works in a folder with two files.
func undoFixture(t *testing.T, turns ...[]mock.Step) (*fixture, string) {
	t.Helper()
	f := newFixture(t, mock.Script{Turns: turns}, func(c *engine.Config) { c.Home = t.TempDir() })
	f.put("a", "a0")
	f.put("b", "b0")
	return f, f.session()
}

func (f *fixture) put(name, content string) {
	f.t.Helper()
	if err := os.WriteFile(filepath.Join(f.dir, name), []byte(content), 0o644); err != nil {
		f.t.Fatal(err)
	}
}

// files is what the folder holds, as "name=content".
func (f *fixture) files() string {
	f.t.Helper()
	entries, err := os.ReadDir(f.dir)
	if err != nil {
		f.t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(f.dir, e.Name()))
		if err != nil {
			f.t.Fatal(err)
		}
		out = append(out, e.Name()+"="+string(b))
	}
	return strings.Join(out, " ")
}

func (f *fixture) wantFiles(want string) {
	f.t.Helper()
	if got := f.files(); got != want {
		f.t.Errorf("folder %q, want %q", got, want)
	}
}

func (f *fixture) undo(id string, files ...string) {
	f.t.Helper()
	got, err := f.Undo(f.t.Context(), id, "ann", false)
	if err != nil {
		f.t.Fatal(err)
	}
	if diff := cmp.Diff(files, got.Files); diff != "" {
		f.t.Errorf("undone (-want +got):\n%s", diff)
	}
}

func (f *fixture) redo(id string, files ...string) {
	f.t.Helper()
	got, err := f.Redo(f.t.Context(), id, "ann", false)
	if err != nil {
		f.t.Fatal(err)
	}
	if diff := cmp.Diff(files, got.Files); diff != "" {
		f.t.Errorf("redone (-want +got):\n%s", diff)
	}
}

func TestUndoRedo(t *testing.T) {
	t.Parallel()
	f, id := undoFixture(t, []mock.Step{write("a", "a1"), write("c", "c1")}, []mock.Step{{Text: "nothing"}}, []mock.Step{write("a", "a2"), remove("b")})
	_, err := f.Undo(t.Context(), id, "", false)
	wantKind(t, err, terret.CodeConflict)
	f.run(id, "1")
	f.run(id, "2")
	third := f.prompt(id, "3").ID
	f.ended(id, third)
	f.wantFiles("a=a2 c=c1")
	f.undo(id, "a", "b")
	f.wantFiles("a=a1 b=b0 c=c1")
	if r := f.stored(id).Revert; r == nil || !r.CanUndo || !r.CanRedo {
		t.Errorf("revert %+v", r)
	}
	f.undo(id, "a", "c") // the turn between changed nothing
	f.wantFiles("a=a0 b=b0")
	_, err = f.Undo(t.Context(), id, "", false)
	wantKind(t, err, terret.CodeConflict)
	f.redo(id, "a", "c")
	f.redo(id, "a", "b")
	f.wantFiles("a=a2 c=c1")
	f.undo(id, "a", "b") // undo of a redo
	_, err = f.Redo(t.Context(), id, "", false)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Redo(t.Context(), id, "", false)
	wantKind(t, err, terret.CodeConflict)
	f.close()
	events := f.log(id)
	r := all[terret.CheckpointRewound](events)
	if len(r) != 6 || r[0].Direction != "undo" || r[2].Direction != "redo" || r[0].Turns[0] != third || r[0].Insertions+r[0].Deletions == 0 {
		t.Errorf("rewound %+v", r)
	}
	if n := len(all[terret.CheckpointCreated](events)); n != 6 {
		t.Errorf("%d checkpoints, want two for each turn", n)
	}
	checkLog(t, f.store, id)
}

// What a person has changed since is a conflict that names the file, and nothing is
// touched, unless forced.
func TestUndoConflict(t *testing.T) {
	t.Parallel()
	f, id := undoFixture(t, []mock.Step{write("a", "a1"), write("c", "c1")})
	f.run(id, "1")
	f.put("a", "mine")
	f.put("b", "also mine, but the turn left it alone")
	_, err := f.Undo(t.Context(), id, "", false)
	wantKind(t, err, terret.CodeConflict)
	if !strings.Contains(err.Error(), "a") || strings.Contains(err.Error(), "[a b") {
		t.Errorf("error %q", err)
	}
	f.wantFiles("a=mine b=also mine, but the turn left it alone c=c1")
	if _, err := f.Undo(t.Context(), id, "", true); err != nil {
		t.Fatal(err)
	}
	f.wantFiles("a=a0 b=also mine, but the turn left it alone")
	if n := len(all[terret.CheckpointRewound](f.log(id))); n != 1 {
		t.Errorf("%d undone", n)
	}
}

// After a new turn there is no way forward any more.
func TestRedoIsLost(t *testing.T) {
	t.Parallel()
	f, id := undoFixture(t, []mock.Step{write("a", "a1")}, []mock.Step{write("a", "a2")})
	f.run(id, "1")
	f.undo(id, "a")
	f.run(id, "2")
	_, err := f.Redo(t.Context(), id, "", false)
	wantKind(t, err, terret.CodeConflict)
	f.wantFiles("a=a2 b=b0")
	f.undo(id, "a")
	f.wantFiles("a=a0 b=b0")
}

// What an interrupted or killed turn did can be undone.
func TestUndoOfAStoppedTurn(t *testing.T) {
	t.Parallel()
	g := newGate()
	f, id := undoFixture(t, []mock.Step{write("a", "a1"), g.step()})
	for _, stop := range []func(context.Context, string, string) error{f.Interrupt, f.Kill} {
		turn := f.prompt(id, "go").ID
		g.wait(t)
		if err := stop(t.Context(), id, ""); err != nil {
			t.Fatal(err)
		}
		f.ended(id, turn)
		f.undo(id, "a")
		f.wantFiles("a=a0 b=b0")
	}
	f.close()
	checkLog(t, f.store, id)
}

// Without a home there is no undo, no events, and an error that says so. A folder
// that cannot be recorded is told of once in each session.
func TestUndoIsOff(t *testing.T) {
	t.Parallel()
	f := newFixture(t, mock.Script{Turns: [][]mock.Step{{write("a", "a1")}}, Overseen: true})
	id := f.session()
	events := f.run(id, "1")
	if n := len(all[terret.CheckpointCreated](events)) + len(all[terret.DiagWarning](events)); n != 0 {
		t.Errorf("events %v", kindsOf(events))
	}
	for _, rewind := range []func(context.Context, string, string, bool) (engine.Rewound, error){f.Undo, f.Redo} {
		_, err := rewind(t.Context(), id, "", false)
		wantKind(t, err, terret.CodeUnsupported)
		if !strings.Contains(err.Error(), "undo is off") || !strings.Contains(err.Error(), "no data folder") {
			t.Errorf("error %q", err)
		}
	}
}

func TestUndoIsOffForAFolder(t *testing.T) {
	t.Parallel()
	f := newFixture(t, mock.Script{}, func(c *engine.Config) { c.Home = t.TempDir() })
	id := f.session(withPolicy(terret.PolicyRules), func(s *terret.Session) { s.Cwd = "/" })
	f.run(id, "1")
	f.run(id, "2")
	warnings := all[terret.DiagWarning](f.log(id))
	if len(warnings) != 1 || strings.Count(warnings[0].Text, "undo is off") != 1 {
		t.Errorf("warnings %+v", warnings)
	}
	_, err := f.Undo(t.Context(), id, "", false)
	wantKind(t, err, terret.CodeUnsupported)
	other := f.session(withPolicy(terret.PolicyRules), func(s *terret.Session) { s.Cwd = "/" })
	f.run(other, "1")
	if warnings := all[terret.DiagWarning](f.log(other)); len(warnings) != 1 {
		t.Errorf("the warnings of another session there are %+v", warnings)
	}
}

// TestRecordsLate proves that an agent which asks before it changes anything costs no
// snapshot until it asks, and that the snapshot is taken before it has its answer.
func TestRecordsLate(t *testing.T) {
	t.Parallel()
	ask := mock.Step{Tool: &mock.Tool{Name: "Edit", Class: terret.ClassEdit, Input: terret.JSON(`{"file_path":"a"}`), Ask: true, Result: "ok"}}
	f := newFixture(t, mock.Script{Overseen: true, Turns: [][]mock.Step{
		{{Text: "only words"}}, {ask, write("a", "a1")}, {{Text: "a command"}, write("a", "a2")},
	}}, func(c *engine.Config) { c.Home = t.TempDir() })
	f.put("a", "a0")
	id := f.session()
	if err := f.Update(t.Context(), id, terret.SessionUpdated{Policy: new(terret.PolicyAutoApprove)}, "ann"); err != nil {
		t.Fatal(err)
	}
	phases := func(turn string) (out []string) {
		for _, ev := range f.ended(id, turn) {
			if d, ok := ev.Data.(terret.CheckpointCreated); ok && d.OfTurn == turn {
				out = append(out, d.Phase)
			}
		}
		return out
	}
	if got := phases(f.prompt(id, "talk").ID); got != nil {
		t.Errorf("snapshots %v of a turn without tools", got)
	}
	if diff := cmp.Diff([]string{"before", "after"}, phases(f.prompt(id, "edit").ID)); diff != "" {
		t.Errorf("snapshots of a turn with tools (-want +got):\n%s", diff)
	}
	f.undo(id, "a")
	f.wantFiles("a=a0")
	if diff := cmp.Diff([]string{"before", "after"}, phases(f.prompt(id, "/command").ID)); diff != "" {
		t.Errorf("snapshots of a command, which may act before the model does (-want +got):\n%s", diff)
	}
}

// A forced undo keeps what it overwrites, and says what it does not take back.
func TestForcedUndoIsNotFinal(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	command := mock.Step{Tool: &mock.Tool{Name: "Bash", Class: terret.ClassExecute, Input: terret.JSON(`{"command":"deploy"}`), Result: "ok"}}
	f, id := undoFixture(t, []mock.Step{write("a", "a1"), write("x.log", "by the turn"), command})
	f.put(".gitignore", "*.log\n")
	f.run(id, "1")
	f.put("a", "mine")
	if list, err := f.Copies(ctx, id); err != nil || len(list) != 0 {
		t.Errorf("copies %v, %v", list, err)
	}
	r, err := f.Undo(ctx, id, "ann", true)
	if err != nil || r.Copy == "" || r.Commands != 1 || !cmp.Equal(r.Lost, []engine.Lost{{Path: "x.log", Reason: "git ignores it"}}) {
		t.Fatalf("%+v, %v", r, err)
	}
	list, err := f.Copies(ctx, id)
	if err != nil || len(list) != 1 || list[0].ID != r.Copy || list[0].For != "undo of turn "+r.Turn || !cmp.Equal(list[0].Files, []engine.CopiedFile{{Path: "a", Bytes: 4}}) {
		t.Fatalf("copies %+v, %v", list, err)
	}
	_, err = f.RestoreCopy(ctx, id, "nothing", "ann", false)
	wantKind(t, err, terret.CodeNotFound)
	f.put("a", "mine too")
	_, err = f.RestoreCopy(ctx, id, r.Copy, "ann", false)
	wantKind(t, err, terret.CodeConflict)
	back, err := f.RestoreCopy(ctx, id, r.Copy, "ann", true)
	if err != nil || !cmp.Equal(back.Files, []string{"a"}) || back.Copy == "" {
		t.Errorf("%+v, %v", back, err)
	}
	f.wantFiles(".gitignore=*.log\n a=mine b=b0 x.log=by the turn")
	said := all[terret.CheckpointRewound](f.log(id))
	if len(said) != 2 || said[0].Copy != r.Copy || said[1].Direction != "restore" || said[1].Copy != r.Copy {
		t.Errorf("log %+v", said)
	}
	if s := f.stored(id).Revert; s == nil || !s.CanRedo {
		t.Errorf("a copy that came back changed the turns: %+v", s)
	}
	f.close()
	checkLog(t, f.store, id)
}
