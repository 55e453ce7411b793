package native

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret"
)

func said(role terret.Role, blocks ...terret.Block) message {
	return message{role: role, blocks: blocks}
}

func calling(ids ...string) message {
	var blocks []terret.Block
	for _, id := range ids {
		blocks = append(blocks, terret.Block{Type: terret.BlockToolUse, ToolID: id, Name: "Bash", Input: terret.JSON("{}")})
	}
	return said(terret.RoleAssistant, blocks...)
}

func resultsOf(ids ...string) message {
	var blocks []terret.Block
	for _, id := range ids {
		blocks = append(blocks, resultOf(terret.Block{ToolID: id}, "done", false))
	}
	return said(terret.RoleUser, blocks...)
}

func prompts(text string) message { return said(terret.RoleUser, terret.Text(text)) }
func answers(text string) message { return said(terret.RoleAssistant, terret.Text(text)) }

// shape writes a conversation in short.
func shape(messages []message) []string {
	var out []string
	for _, m := range messages {
		line := string(m.role[0]) + ":"
		for _, b := range m.blocks {
			switch b.Type {
			case terret.BlockToolUse:
				line += " call " + b.ToolID
			case terret.BlockToolResult:
				line += fmt.Sprintf(" result %s %.4s", b.ToolID, terret.TextOf(b.Content))
			default:
				line += " " + b.Text
			}
		}
		out = append(out, line)
	}
	return out
}

func TestRepaired(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in    []message
		known map[string]terret.Block
		want  []string
	}{
		"nothing":          {},
		"all is well":      {in: []message{prompts("a"), calling("1"), resultsOf("1"), answers("b")}, want: []string{"u: a", "a: call 1", "u: result 1 done", "a: b"}},
		"cut after a call": {in: []message{prompts("a"), calling("1", "2")}, want: []string{"u: a", "a: call 1 call 2", "u: result 1 The  result 2 The "}},
		"cut, and then a prompt": {
			in:   []message{prompts("a"), calling("1"), prompts("b")},
			want: []string{"u: a", "a: call 1", "u: result 1 The  b"},
		},
		"one of two is missing": {
			in:   []message{prompts("a"), calling("1", "2"), resultsOf("2"), answers("b")},
			want: []string{"u: a", "a: call 1 call 2", "u: result 1 The  result 2 done", "a: b"},
		},
		"in the order of the calls": {
			in:   []message{prompts("a"), calling("1", "2"), resultsOf("2", "1")},
			want: []string{"u: a", "a: call 1 call 2", "u: result 1 done result 2 done"},
		},
		"a known result": {
			in: []message{prompts("a"), calling("1", "2")}, known: map[string]terret.Block{"2": resultOf(terret.Block{ToolID: "2"}, "wrote", false)},
			want: []string{"u: a", "a: call 1 call 2", "u: result 1 The  result 2 wrot"},
		},
		"a prompt without an answer": {in: []message{prompts("a"), prompts("b")}, want: []string{"u: a", "a: " + noAnswer, "u: b"}},
		"results without an answer":  {in: []message{prompts("a"), calling("1"), resultsOf("1"), prompts("b")}, want: []string{"u: a", "a: call 1", "u: result 1 done b"}},
		"answers in a row":           {in: []message{prompts("a"), answers("b"), answers("c")}, want: []string{"u: a", "a: b c"}},
		"calls in a row":             {in: []message{prompts("a"), calling("1"), calling("2")}, want: []string{"u: a", "a: call 1", "u: result 1 The ", "a: call 2", "u: result 2 The "}},
		"an answer first":            {in: []message{answers("a")}, want: []string{"u: " + noPrompt, "a: a"}},
		"empty messages":             {in: []message{said(terret.RoleUser), prompts("a"), said(terret.RoleAssistant), answers("b"), said(terret.RoleUser)}, want: []string{"u: a", "a: b"}},
		"results of no call":         {in: []message{prompts("a"), answers("b"), resultsOf("9"), prompts("c")}, want: []string{"u: a", "a: b", "u: c"}},
		"results twice":              {in: []message{prompts("a"), calling("1"), resultsOf("1", "1"), resultsOf("1")}, want: []string{"u: a", "a: call 1", "u: result 1 done"}},
		"calls of the same id":       {in: []message{prompts("a"), calling("1", "1"), resultsOf("1"), calling("1")}, want: []string{"u: a", "a: call 1", "u: result 1 done"}},
		"calls without an id":        {in: []message{prompts("a"), calling("")}, want: []string{"u: a"}},
	} {
		before := shape(c.in)
		got := repaired(c.in, c.known)
		if diff := cmp.Diff(c.want, shape(got)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if diff := cmp.Diff(before, shape(c.in)); diff != "" {
			t.Errorf("%s changed what it was given: %s", name, diff)
		}
	}
}

// wellFormed says what a model would not accept of a conversation.
func wellFormed(messages []message) error {
	seen := map[string]bool{}
	for i, m := range messages {
		want := terret.RoleUser
		if i%2 == 1 {
			want = terret.RoleAssistant
		}
		if m.role != want || len(m.blocks) == 0 {
			return fmt.Errorf("message %d is of %s, with %d blocks", i, m.role, len(m.blocks))
		}
		var calls []terret.Block
		if i > 0 {
			calls = callsIn(messages[i-1].blocks)
		}
		for j, b := range m.blocks {
			isResult := b.Type == terret.BlockToolResult
			if isResult != (j < len(calls)) || isResult && b.ToolID != calls[j].ToolID {
				return fmt.Errorf("block %d of message %d is %+v after the calls %v", j, i, b, calls)
			}
			if b.Type == terret.BlockToolUse {
				if m.role != terret.RoleAssistant || b.ToolID == "" || seen[b.ToolID] {
					return fmt.Errorf("a call in block %d of message %d: %+v", j, i, b)
				}
				seen[b.ToolID] = true
			}
		}
		if len(m.blocks) < len(calls) {
			return fmt.Errorf("message %d has %d of %d results", i, len(m.blocks), len(calls))
		}
	}
	if n := len(messages); n > 0 && len(callsIn(messages[n-1].blocks)) > 0 {
		return errors.New("the last message calls a tool")
	}
	return nil
}

// FuzzRepaired makes conversations of bytes: each is a message, or a block of one.
func FuzzRepaired(f *testing.F) {
	for _, seed := range []string{"", "\x00\x10\x20\x30", "\x01\x21\x22\x00\x31\x10", "\x01\x21\x01\x21\x02\x31\x31", "\x02\x10\x02\x10"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var in []message
		known := map[string]terret.Block{}
		for _, b := range data {
			id := fmt.Sprint(b & 3)
			if id == "0" {
				id = ""
			}
			block := terret.Text("x")
			switch b >> 4 {
			case 0:
				in = append(in, said([]terret.Role{terret.RoleUser, terret.RoleAssistant, terret.RoleTool}[b%3]))
				continue
			case 2:
				block = calling(id).blocks[0]
			case 3:
				block = resultsOf(id).blocks[0]
			case 4:
				known[id] = resultOf(terret.Block{ToolID: id}, "known", true)
				continue
			}
			if n := len(in); n > 0 {
				in[n-1].blocks = append(in[n-1].blocks, block)
			}
		}
		got := repaired(in, known)
		if err := wellFormed(got); err != nil {
			t.Fatalf("%v\n%v\n%v", err, shape(in), shape(got))
		}
		if diff := cmp.Diff(shape(got), shape(repaired(got, nil))); diff != "" {
			t.Fatalf("it repairs what it has repaired: %s", diff)
		}
		if wellFormed(in) == nil {
			if diff := cmp.Diff(shape(in), shape(got)); diff != "" {
				t.Fatalf("it changes what is well: %s", diff)
			}
		}
	})
}

// own is the lineage of a session that was not forked.
var own = lineage{"s": math.MaxInt64}

// history is a log of events.
func history(t *testing.T, events ...terret.Event) func(context.Context) iter.Seq2[terret.Entry, error] {
	t.Helper()
	return func(context.Context) iter.Seq2[terret.Entry, error] {
		return func(yield func(terret.Entry, error) bool) {
			for i, ev := range events {
				body, err := ev.Encode()
				if err != nil {
					t.Error(err)
				}
				if !yield(terret.Entry{Session: "s", Seq: int64(i + 1), Kind: ev.Kind(), Body: body}, nil) {
					return
				}
			}
		}
	}
}

func TestRebuild(t *testing.T) {
	t.Parallel()
	event := func(turn string, d terret.Data) terret.Event { return terret.Event{Session: "s", Turn: turn, Data: d} }
	p, err := rebuild(t.Context(), history(t,
		event("", terret.SessionStart{Source: "new"}),
		event("1", terret.TurnStart{Prompt: prompts("one").blocks}),
		event("1", terret.MessageDelta{MessageID: "m", Text: "never finished"}),
		event("1", terret.MessageComplete{MessageID: "m", Role: terret.RoleAssistant, Blocks: calling("c", "d").blocks}),
		event("1", terret.ToolPost{ToolID: "c", Content: []terret.Block{terret.Text("written")}}),
		event("1", terret.ToolFailure{ToolID: "d", Error: "the answer broke off"}),
		event("1", terret.TurnError{Error: terret.Error{Code: terret.CodeProcessFailed}}),
		terret.Event{Session: "s", Turn: "2", Actor: terret.SubActor("x"), Data: terret.MessageComplete{Role: terret.RoleAssistant, Blocks: answers("not mine").blocks}},
		event("2", terret.TurnStart{Prompt: prompts("two").blocks}),
		event("2", terret.UserPrompt{Blocks: prompts("and more").blocks}),
		event("2", terret.MessageComplete{Role: terret.RoleAssistant, Blocks: calling("e").blocks}),
		event("2", terret.MessageComplete{Role: terret.RoleTool, Blocks: resultsOf("e").blocks}),
		event("x", terret.TurnStart{Prompt: prompts("/compact").blocks}),
		event("x", terret.CompactPre{Trigger: "manual"}),
		event("x", terret.TurnError{Error: terret.Error{Code: terret.CodeModelError}}),
		event("3", terret.TurnStart{Prompt: prompts("three").blocks}),
	), own)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"u: one", "a: call c call d", "u: two", "u: and more", "a: call e", "u: result e done", "u: three"}
	if diff := cmp.Diff(want, shape(p.messages)); diff != "" {
		t.Error(diff)
	}
	var turns []string
	for _, m := range p.messages {
		turns = append(turns, m.turn)
	}
	if diff := cmp.Diff([]string{"1", "1", "2", "2", "2", "2", "3"}, turns); diff != "" {
		t.Error(diff)
	}
	// The turn that is prompted is in the log already.
	a := &agent{past: p}
	a.begin("3", terret.Prompt{Blocks: prompts("three").blocks})
	want = []string{
		"u: one", "a: call c call d", "u: result c writ result d The  two", "a: " + noAnswer, "u: and more", "a: call e", "u: result e done three",
	}
	if diff := cmp.Diff(want, shape(a.conversation())); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]bool{"c": true, "d": true, "e": true}, p.calls); diff != "" {
		t.Error(diff)
	}
}

// What was undone is not in the conversation, what was redone is, and after another
// prompt there is no way forward.
func TestRebuildRewound(t *testing.T) {
	t.Parallel()
	turn := func(n string) []terret.Event {
		return []terret.Event{
			{Session: "s", Turn: n, Data: terret.TurnStart{Prompt: prompts(n).blocks, MessageID: "m" + n}},
			{Session: "s", Turn: n, Data: terret.MessageComplete{Role: terret.RoleAssistant, Blocks: answers("to " + n).blocks}},
		}
	}
	rewound := func(direction, message string, conversation bool) []terret.Event {
		return []terret.Event{{Session: "s", Data: terret.CheckpointRewound{Direction: direction, MessageID: message, Conversation: conversation}}}
	}
	undo, redo := rewound("undo", "m2", true), rewound("redo", "m2", true)
	for name, c := range map[string]struct {
		log  [][]terret.Event
		want string
	}{
		"nothing":               {nil, "1 2 3"},
		"undo":                  {[][]terret.Event{rewound("undo", "m3", true)}, "1 2"},
		"undo twice":            {[][]terret.Event{rewound("undo", "m3", true), undo}, "1"},
		"undo over a kept turn": {[][]terret.Event{rewound("undo", "m3", false), undo}, "1"},
		"redo":                  {[][]terret.Event{rewound("undo", "m3", true), undo, redo}, "1 2"},
		"redo twice":            {[][]terret.Event{rewound("undo", "m3", true), undo, redo, rewound("redo", "m3", true)}, "1 2 3"},
		"redo of files":         {[][]terret.Event{undo, rewound("redo", "m2", false)}, "1"},
		"too many redos":        {[][]terret.Event{undo, redo, redo, redo}, "1 2 3"},
		"unknown message":       {[][]terret.Event{rewound("undo", "m9", true), rewound("undo", "", true)}, "1 2 3"},
		"a new turn":            {[][]terret.Event{undo, turn("4"), redo}, "1 4"},
		"undo of a new turn":    {[][]terret.Event{undo, turn("4"), rewound("undo", "m4", true), undo}, "1"},
	} {
		log := slices.Concat(turn("1"), turn("2"), turn("3"), slices.Concat(c.log...))
		p, err := rebuild(t.Context(), history(t, log...), own)
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		for n := range strings.FieldsSeq(c.want) {
			want = append(want, "u: "+n, "a: to "+n)
		}
		if diff := cmp.Diff(want, shape(p.messages)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestRebuildFails(t *testing.T) {
	t.Parallel()
	broken := errors.New("disk on fire")
	for name, entries := range map[string]iter.Seq2[terret.Entry, error]{
		"reading": func(yield func(terret.Entry, error) bool) { yield(terret.Entry{}, broken) },
		"decoding": func(yield func(terret.Entry, error) bool) {
			yield(terret.Entry{Session: "s", Kind: "turn.start", Body: []byte("{")}, nil)
		},
	} {
		_, err := rebuild(t.Context(), func(context.Context) iter.Seq2[terret.Entry, error] { return entries }, own)
		if e := terret.AsError(err); e == nil || e.Code != terret.CodeResumeFailed {
			t.Errorf("%s: %v", name, err)
		}
	}
	if p, err := rebuild(t.Context(), nil, own); err != nil || len(p.messages) > 0 {
		t.Errorf("no history: %v, %v", p, err)
	}
}

func TestBeginLeavesWhatOthersRead(t *testing.T) {
	t.Parallel()
	a := &agent{}
	a.begin("1", terret.Prompt{Blocks: prompts("a").blocks})
	read := a.past.messages
	kept := slices.Clone(read)
	a.add(answers("b"))
	a.begin("2", terret.Prompt{Blocks: prompts("c").blocks})
	a.add(said(terret.RoleAssistant))
	if diff := cmp.Diff(shape(kept), shape(read)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"u: a", "a: b", "u: c"}, shape(a.past.messages)); diff != "" {
		t.Error(diff)
	}
}
