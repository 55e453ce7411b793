package drivertest

import (
	"slices"
	"strings"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine"
)

// keeping are scenarios in which a session goes on later, or elsewhere.
var keeping = []scenario{
	{name: "resume", needs: terret.CanReconnect, run: resume},
	{name: "resume after a tool", needs: terret.CanReconnect, run: resumeTool},
	{name: "resume asks again", needs: terret.CanPermissions, run: resumeAsks},
	{name: "stale resume", cannot: forgetsNothing, run: staleResume},
	{name: "stale resume is an error", cannot: forgetsNothing, run: staleError},
	{name: "fork", needs: terret.CanFork, run: fork},
	{name: "fork at a message", needs: terret.CanForkAt, run: forkAt},
	{name: "two sessions at once", run: twoSessions},
	{name: "rename", run: rename},
	{name: "compaction", needs: terret.CanCompact, run: compaction},
}

func (f *fixture) close(session string) {
	f.Helper()
	if err := f.e.CloseSession(f.Context(), session, tester); err != nil {
		f.Fatalf("close: %v", err)
	}
}

func resume(f *fixture) {
	f.play(step{User: "first", Text: "One."}, step{User: "second", Text: "Two."})
	id := f.session()
	f.says(id, "the first thing", "One.")
	f.close(id)
	f.gone()
	f.says(id, "the second thing", "Two.")
	f.heard("the first thing", "the second thing")
	if said := f.model.last().Said; !strings.Contains(said, "One.") {
		f.Errorf("the model was not told what it had said: %q", said)
	}
	events, err := f.read(id)
	if err != nil {
		f.Fatalf("%v", err)
	}
	starts := all[terret.SessionStart](events)
	if len(starts) != 2 || starts[1].Source != "resume" || starts[1].NativeID != starts[0].NativeID {
		f.Errorf("the agent started as %+v", starts)
	}
}

func resumeTool(f *fixture) {
	f.play(
		step{User: "first", Calls: []Call{f.target.Tools.Shell("echo tool said so")}}, step{Text: "One."},
		step{User: "second", Text: "Two."},
	)
	id := f.session()
	f.says(id, "the first thing", "One.")
	f.close(id)
	f.says(id, "the second thing", "Two.")
	f.heard("tool said so")
}

// resumeAsks is that an agent that was started again asks as before.
func resumeAsks(f *fixture) {
	f.play(
		step{User: "first", Text: "One."},
		step{User: "second", Calls: []Call{f.target.Tools.Shell("touch made.txt")}}, step{Text: "Two."},
	)
	id := f.session(withPolicy(terret.PolicyAsk))
	f.says(id, "the first thing", "One.")
	f.close(id)
	turn := f.prompt(id, "the second thing")
	ev, _ := f.permission(id, turn)
	f.holds("made.txt", "(no file)")
	f.decide(ev, allow(ev))
	f.completed(f.end(id, turn), "Two.")
	f.holds("made.txt", "")
}

func forgetsNothing(t Target) string {
	if t.Forget == nil {
		return "its memory is the session's log, which is not lost"
	}
	return ""
}

// lose has a turn, and then the agent lose the session.
func (f *fixture) lose(id string) {
	f.Helper()
	f.says(id, "the first thing", "One.")
	f.close(id)
	f.gone()
	if err := f.target.Forget(f.place); err != nil {
		f.Fatalf("%v", err)
	}
}

// staleResume is that the session goes on in a fresh one of the agent's, and that
// the log says so.
func staleResume(f *fixture) {
	f.play(step{User: "first", Text: "One."}, step{User: "second", Text: "Two."}, step{User: "third", Text: "Three."})
	id := f.session()
	f.lose(id)
	f.says(id, "the second thing", "Two.")
	f.says(id, "the third thing", "Three.")
	events, err := f.read(id)
	if err != nil {
		f.Fatalf("%v", err)
	}
	if !slices.ContainsFunc(all[terret.SessionNativeID](events), func(d terret.SessionNativeID) bool {
		return d.Reason == "stale" && d.Old != "" && (d.New != string(d.Old) || f.target.Lacks.NewIDs)
	}) {
		f.Errorf("the log does not say that the agent lost the session")
	}
	f.heard("the second thing", "the third thing")
}

func staleError(f *fixture) {
	f.play(step{User: "first", Text: "One."})
	id := f.session(withOptions(terret.SessionOptions{OnStale: terret.OnStaleError}))
	f.lose(id)
	f.failed(f.run(id, "the second thing"), terret.CodeResumeFailed)
	if n := len(f.model.requests()); n != 1 {
		f.Errorf("the model was asked %d times", n)
	}
}

// fork is that both sessions know what was said before, and not what the other one
// says after.
func fork(f *fixture) {
	f.play(
		step{User: "first", Text: "One."}, step{User: "in the fork", Text: "Forked."}, step{User: "in the trunk", Text: "Trunk."},
		step{User: "more of the fork", Text: "Forked more."},
	)
	id := f.session()
	f.says(id, "the first thing", "One.")
	made, err := f.e.Fork(f.Context(), id, "")
	if err != nil {
		f.Fatalf("fork: %v", err)
	}
	f.says(made.ID, "in the fork", "Forked.")
	f.heard("the first thing")
	f.says(id, "in the trunk", "Trunk.")
	f.heard("the first thing")
	if strings.Contains(f.model.last().User, "in the fork") {
		f.Errorf("the trunk knows what was said in the fork")
	}
	f.says(made.ID, "more of the fork", "Forked more.")
	if heard := f.model.last().User; strings.Contains(heard, "in the trunk") || !strings.Contains(heard, "in the fork") {
		f.Errorf("the fork knows %q", cut(heard))
	}
	a, errA := f.seats[0].store.Session(f.Context(), id)
	b, errB := f.seats[0].store.Session(f.Context(), made.ID)
	if errA != nil || errB != nil || a.NativeID == b.NativeID || b.ForkedFrom != id {
		f.Errorf("%v %v: %s, and %s forked from %s", errA, errB, a.NativeID, b.NativeID, b.ForkedFrom)
	}
}

// forkAt is a copy that ends with a message of the past.
func forkAt(f *fixture) {
	f.play(step{User: "first", Text: "One."}, step{User: "second", Text: "Two."}, step{User: "in the fork", Text: "Forked."})
	id := f.session()
	message := last[terret.MessageComplete](f, f.says(id, "the first thing", "One.")).MessageID
	f.says(id, "the second thing", "Two.")
	made, err := f.e.Fork(f.Context(), id, message)
	if err != nil {
		f.Fatalf("fork: %v", err)
	}
	f.says(made.ID, "in the fork", "Forked.")
	f.heard("the first thing", "in the fork")
	if said := f.model.last(); strings.Contains(said.User, "the second thing") || !strings.Contains(said.Said, "One.") {
		f.Errorf("the fork knows %q and %q", cut(said.User), cut(said.Said))
	}
}

// twoSessions is that two agents in one folder do not get in each other's way.
func twoSessions(f *fixture) {
	f.play(
		step{User: "talk to me", Anywhere: true, Pieces: []string{"I ", "talk."}, Hold: "end"},
		step{User: "work for me", Anywhere: true, Calls: []Call{f.target.Tools.Write(f.at("a.txt"), "a")}},
		step{First: "work for me", Anywhere: true, Text: "I work."},
	)
	talks, works := f.session(), f.session()
	turn := f.prompt(talks, "talk to me")
	f.says(works, "work for me", "I work.")
	f.model.server.Player().Release("end")
	f.completed(f.end(talks, turn), "I talk.")
	f.holds("a.txt", "a")
}

func rename(f *fixture) {
	f.play(step{User: "first", Text: "One."}, step{User: "second", Text: "Two."})
	id := f.session()
	f.says(id, "the first thing", "One.")
	title := "Ein “neuer” Name"
	if err := f.e.Update(f.Context(), id, terret.SessionUpdated{Title: &title}, tester); err != nil {
		f.Fatalf("rename: %v", err)
	}
	f.says(id, "the second thing", "Two.")
	if s, err := f.seats[0].store.Session(f.Context(), id); err != nil || s.Title != title {
		f.Errorf("the title is %q (%v)", s.Title, err)
	}
}

// compaction is that the model is sent a summary from then on.
func compaction(f *fixture) {
	f.play(
		step{User: "first", Text: "One."}, step{User: "second", Text: "Two."},
		step{User: "third", Anywhere: true, Text: "Three."},
		step{Text: "We talked about the first and the second thing.", Repeat: true},
	)
	id := f.session()
	f.says(id, "the first thing", "One.")
	f.says(id, "the second thing", "Two.")
	turn, err := f.e.Compact(f.Context(), engine.CompactRequest{Session: id, By: tester})
	if err != nil {
		f.Fatalf("compact: %v", err)
	}
	events := f.end(id, turn.ID)
	last[terret.TurnComplete](f, events)
	last[terret.CompactPost](f, events)
	f.says(id, "the third thing", "Three.")
	if said := f.model.last(); strings.Contains(said.Said, "One.") {
		f.Errorf("the model was still sent what it had said: %q", said.Said)
	}
}
