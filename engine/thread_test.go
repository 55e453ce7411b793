package engine_test

import (
	"strings"
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/engine"
)

// A prompt follows the last message, or none. Agents cannot go back to an earlier one.
func TestParent(t *testing.T) {
	t.Parallel()
	g := newGate()
	f := newFixture(t, mock.Script{Turns: [][]mock.Step{{{Text: "one"}}, {{Text: "two"}}, {{Text: "three"}}, {g.step()}}})
	id := f.session()
	send := func(p terret.Prompt, when engine.When) (terret.Turn, error) {
		p.Blocks = text("hi").Blocks
		return f.Prompt(t.Context(), engine.PromptRequest{Session: id, Prompt: p, When: when})
	}
	run := func(p terret.Prompt) terret.TurnStart {
		t.Helper()
		turn, err := send(p, engine.WhenQueue)
		if err != nil {
			t.Fatal(err)
		}
		f.ended(id, turn.ID)
		starts := all[terret.TurnStart](f.log(id))
		return starts[len(starts)-1]
	}
	refused := func(why string, p terret.Prompt) {
		t.Helper()
		_, err := send(p, engine.WhenQueue)
		wantKind(t, err, terret.CodeConflict)
		if !strings.Contains(err.Error(), why) || terret.AsError(err).Field != "parent_id" {
			t.Errorf("%v", err)
		}
	}
	last := func() string {
		said := all[terret.MessageComplete](f.log(id))
		return said[len(said)-1].MessageID
	}
	refused("nothing was said", terret.Prompt{ParentID: terret.NewSessionID()})
	first := run(terret.Prompt{})
	answer := last()
	if got := run(terret.Prompt{ParentID: answer}); got.ParentID != answer {
		t.Errorf("it follows %q, want %q", got.ParentID, answer)
	}
	refused("is not the last one", terret.Prompt{ParentID: answer})
	refused("is not the last one", terret.Prompt{ParentID: first.MessageID})
	// A UUID of the last message will do.
	answer = last()
	if got := run(terret.Prompt{ParentID: terret.MessageUUID(id, answer)}); got.ParentID != answer {
		t.Errorf("it follows %q, want %q", got.ParentID, answer)
	}
	_, err := send(terret.Prompt{ParentID: last(), Root: true}, engine.WhenReject)
	wantKind(t, err, terret.CodeInvalidRequest)

	answer = last()
	turn, err := send(terret.Prompt{Root: true}, engine.WhenReject)
	if err != nil {
		t.Fatal(err)
	}
	if starts := all[terret.TurnStart](f.log(id)); !starts[len(starts)-1].Root {
		t.Error("the prompt does not begin a thread")
	}
	g.wait(t)
	refused("wait for the result", terret.Prompt{ParentID: answer})
	close(g.open)
	f.ended(id, turn.ID)
}

// A prompt cannot follow the last message while others wait before it, also if no turn
// runs: an earlier owner may have left them.
func TestParentBehindAQueue(t *testing.T) {
	t.Parallel()
	g := newGate()
	script := mock.New(mock.Script{Turns: [][]mock.Step{{g.step()}}})
	f := fileFixture(t, "", script)
	id := f.session()
	f.prompt(id, "1")
	g.wait(t)
	f.promptWhen(id, "2", engine.WhenQueue)
	f.close()
	parent := last[terret.TurnStart](t, f.log(id)).MessageID
	h := fileFixture(t, f.path, script)
	p := text("3")
	p.ParentID = parent
	_, err := h.Prompt(t.Context(), engine.PromptRequest{Session: id, Prompt: p, When: engine.WhenQueue})
	wantKind(t, err, terret.CodeConflict)
}
