package drivertest

import (
	"strings"

	"github.com/terret-dev/terret"
)

// changing are scenarios in which things change and change back.
var changing = []scenario{
	{name: "undo of an edit", needs: terret.CanUndo, run: undoEdit},
	{name: "undo of a shell command", needs: terret.CanUndo, run: undoShell},
	{name: "undo of the conversation", needs: terret.CanUndo, byAgent: true, run: undoTalk},
	{name: "redo", needs: terret.CanRedo, run: redo},
	{name: "redo of the conversation", needs: terret.CanRedo, byAgent: true, run: redoTalk},
	{name: "model switch", also: []terret.Capability{terret.CanSelectModel}, cannot: keepsModel, run: modelSwitch},
	{name: "model of one turn", needs: terret.CanSelectModel, run: modelOfTurn},
}

func (f *fixture) undo(session string) {
	f.Helper()
	if _, err := f.e.Undo(f.Context(), session, tester, false); err != nil {
		f.Fatalf("undo: %v", err)
	}
}

func undoEdit(f *fixture) {
	tools := f.target.Tools
	f.write("old.txt", "before\n")
	f.play(
		step{User: "look", Calls: []Call{tools.Read(f.at("old.txt"))}}, step{Text: "Seen."},
		step{User: "change", Calls: []Call{tools.Edit(f.at("old.txt"), "before", "after"), tools.Write(f.at("new.txt"), "new")}}, step{Text: "Changed."},
		step{User: "go on", Anywhere: true, Text: "Gone on."},
	)
	id := f.session()
	f.says(id, "look at it", "Seen.")
	f.says(id, "change it", "Changed.")
	f.holds("old.txt", "after")
	f.holds("new.txt", "new")
	f.undo(id)
	f.holds("old.txt", "before")
	f.holds("new.txt", "(no file)")
	f.says(id, "go on", "Gone on.")
}

func undoShell(f *fixture) {
	f.write("old.txt", "before\n")
	f.write("gone.txt", "kept\n")
	f.play(
		step{User: "change", Calls: []Call{f.target.Tools.Shell("echo after > old.txt; rm gone.txt; mkdir -p d; echo x > d/new.txt; ln -s d link")}},
		step{Text: "Changed."}, step{User: "go on", Text: "Gone on."},
	)
	id := f.session()
	f.says(id, "change it", "Changed.")
	f.holds("old.txt", "after")
	f.holds("link/new.txt", "x")
	f.undo(id)
	f.holds("old.txt", "before")
	f.holds("gone.txt", "kept")
	f.holds("d/new.txt", "(no file)")
	f.holds("link/new.txt", "(no file)")
	f.says(id, "go on", "Gone on.")
}

func redo(f *fixture) {
	tools := f.target.Tools
	f.play(
		step{User: "change", Calls: []Call{tools.Write(f.at("new.txt"), "new"), tools.Shell("echo x > shell.txt")}}, step{Text: "Changed."},
	)
	id := f.session()
	f.says(id, "change it", "Changed.")
	f.undo(id)
	f.holds("new.txt", "(no file)")
	f.holds("shell.txt", "(no file)")
	if _, err := f.e.Redo(f.Context(), id, tester, false); err != nil {
		f.Fatalf("redo: %v", err)
	}
	f.holds("new.txt", "new")
	f.holds("shell.txt", "x")
}

// undoTalk is that the agent no longer knows of a turn that was undone, whether it
// changed files or not.
func undoTalk(f *fixture) {
	f.play(
		step{User: "first", Calls: []Call{f.target.Tools.Write(f.at("a.txt"), "a")}}, step{Text: "One."},
		step{User: "second", Text: "Two."}, step{User: "third", Text: "Three."},
	)
	id := f.session()
	f.says(id, "the first thing", "One.")
	f.says(id, "the second thing", "Two.")
	if r, err := f.e.Undo(f.Context(), id, tester, false); err != nil || !r.Conversation {
		f.Fatalf("undo: %+v, %v", r, err)
	}
	f.holds("a.txt", "a")
	f.says(id, "the third thing", "Three.")
	f.heard("the first thing")
	if strings.Contains(f.model.last().User, "the second thing") {
		f.Errorf("it still knows what was undone")
	}
}

func redoTalk(f *fixture) {
	f.play(step{User: "first", Text: "One."}, step{User: "second", Text: "Two."}, step{User: "third", Text: "Three."})
	id := f.session()
	f.says(id, "the first thing", "One.")
	f.says(id, "the second thing", "Two.")
	f.undo(id)
	f.undo(id)
	for range 2 {
		if r, err := f.e.Redo(f.Context(), id, tester, false); err != nil || !r.Conversation {
			f.Fatalf("redo: %+v, %v", r, err)
		}
	}
	f.says(id, "the third thing", "Three.")
	f.heard("the first thing", "the second thing")
}

func keepsModel(t Target) string { return t.Lacks.ModelSwitch }

func modelSwitch(f *fixture) {
	f.play(step{User: "first", Text: "One."}, step{User: "second", Text: "Two."}, step{User: "third", Text: "Three."})
	id := f.session()
	f.says(id, "first", "One.")
	if err := f.e.Update(f.Context(), id, terret.SessionUpdated{Model: &f.target.Other}, tester); err != nil {
		f.Fatalf("%v", err)
	}
	f.says(id, "second", "Two.")
	if got, want := f.model.last().Model, f.target.wire(f.target.Other); !strings.Contains(got, want) {
		f.Errorf("the model was %q, not %q", got, want)
	}
	f.close(id)
	f.says(id, "third", "Three.")
	if got, want := f.model.last().Model, f.target.wire(f.target.Other); !strings.Contains(got, want) {
		f.Errorf("after it was closed, the model was %q, not %q", got, want)
	}
}

func modelOfTurn(f *fixture) {
	f.play(step{User: "first", Text: "One."}, step{User: "second", Text: "Two."})
	id := f.session()
	p := words("first")
	p.Options.Model = f.target.Other
	f.completed(f.end(id, f.promptWith(id, p, "")), "One.")
	if got, want := f.model.last().Model, f.target.wire(f.target.Other); got != want {
		f.Errorf("the model was %q, not %q", got, want)
	}
	f.says(id, "second", "Two.")
	if got, want := f.model.last().Model, f.target.wire(f.target.Model); got != want {
		f.Errorf("after that turn the model was %q, not %q", got, want)
	}
}
