package drivertest

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine"
)

// talking are scenarios without tools.
var talking = []scenario{
	{name: "hello", run: hello},
	{name: "probe", run: probe},
	{name: "streaming", needs: terret.CanStream, run: streaming},
	{name: "reasoning", needs: terret.CanReasoning, run: reasoning},
	{name: "unicode", run: unicode},
	{name: "prompt of 3 MB", cannot: shortPrompts, run: longPrompt},
	{name: "answer of 200 KB", run: longAnswer},
	{name: "image", needs: terret.CanAttachments, run: image},
	{name: "follow-up", needs: terret.CanMultiTurn, run: followUp},
	{name: "queue", needs: terret.CanQueue, run: queue},
	{name: "steer", needs: terret.CanSteer, run: steer},
	{name: "system prompt", needs: terret.CanSystemPrompt, run: systemPrompt},
	{name: "cost", needs: terret.CanCost, run: cost},
	{name: "command", needs: terret.CanCommands, cannot: noCommands, run: command},
}

func hello(f *fixture) {
	f.play(step{User: "hello there", Text: "Hello yourself."})
	id := f.session()
	turn := f.prompt(id, "hello there")
	events := f.until(id, "end of the turn", func(ev terret.Event) bool { return ev.Turn == turn && ev.Kind().EndsTurn() })
	end := f.completed(events, "Hello yourself.")
	if end.Usage.Output == 0 {
		f.Errorf("nothing was counted: %+v", end.Usage)
	}
	start := last[terret.SessionStart](f, events)
	if start.Agent != f.target.Name || start.Cwd != f.dir || start.Source != "new" || start.NativeID == "" || len(start.Tools) == 0 && !f.target.Lacks.ToolNames {
		f.Errorf("the session started as %+v", start)
	}
	whole := all[terret.MessageComplete](events)
	if !slices.ContainsFunc(whole, func(m terret.MessageComplete) bool {
		return m.Role == terret.RoleAssistant && terret.TextOf(m.Blocks) == "Hello yourself."
	}) {
		f.Errorf("the whole message is not in the log: %+v", whole)
	}
	if got, want := f.model.last().Model, f.target.wire(f.target.Model); got != want {
		f.Errorf("the model was %q, not %q", got, want)
	}
	if odd := all[terret.Unknown](events); len(odd) > 0 {
		f.Errorf("the agent said what the driver does not know: %+v", odd)
	}
}

// probe is that an agent can be looked at without a session, and says the same in one.
func probe(f *fixture) {
	f.play(step{User: "hello", Text: "x"})
	var version string
	for key, want := range map[string]string{canary: "ok", "": "missing"} {
		place := f.place
		place.Key = key
		p, ok := f.target.Driver(place).(terret.Prober)
		if !ok {
			f.Fatalf("the driver cannot look for the agent")
		}
		got, err := p.Probe(f.Context())
		if err != nil {
			f.Fatalf("%v", err)
		}
		if got.Agent != f.target.Name || !got.Found || got.Version == "" || got.Auth != want {
			f.Errorf("%+v, where auth should be %s", got, want)
		}
		version = got.Version
		if want != "ok" && got.Fix == "" {
			f.Errorf("it does not say how to sign in")
		}
		if want != "ok" && f.target.Program == "" {
			continue // without a key it has another model, which may do less
		}
		for _, name := range terret.AllCapabilities() {
			if before, after := got.Capabilities.Has(name), f.declared.Has(name); before != after && !f.target.PerTurn {
				f.Errorf("%s: %v without a session, %v in one", name, before, after)
			}
		}
	}
	id := f.session()
	if start := last[terret.SessionStart](f, f.end(id, f.prompt(id, "hello"))); start.AgentVersion != version {
		f.Errorf("version %q without a session, %q in one", version, start.AgentVersion)
	}
}

// streaming is that the beginning is seen before the end is said.
func streaming(f *fixture) {
	f.play(step{User: "count", Pieces: []string{"one, ", "two, ", "three"}, Hold: "end"})
	id := f.session()
	turn := f.prompt(id, "count")
	f.until(id, "beginning of the answer", func(ev terret.Event) bool {
		_, ok := ev.Data.(terret.MessageDelta)
		return ok
	})
	f.model.server.Player().Release("end")
	events := f.end(id, turn)
	f.completed(events, "one, two, three")
	var said strings.Builder
	for _, d := range all[terret.MessageDelta](events) {
		said.WriteString(d.Text)
	}
	if said.String() != "one, two, three" {
		f.Errorf("the pieces are %q", said.String())
	}
	if len(all[terret.MessageDelta](events)) < 2 {
		f.Errorf("it came in one piece")
	}
}

func reasoning(f *fixture) {
	f.play(step{User: "think", Thinking: "Let me see.", Text: "I see.", Chunk: 20}) // some agents tell whole thoughts
	id := f.session()
	events := f.says(id, "think", "I see.")
	var said strings.Builder
	for _, d := range all[terret.ReasoningDelta](events) {
		said.WriteString(d.Text)
	}
	if said.String() != "Let me see." {
		f.Errorf("it thought %q", said.String())
	}
	if !f.model.last().Thinking {
		f.Errorf("the model was not asked to think")
	}
}

// odd is text that gets lost where somebody is careless.
const odd = "Grüße, 世界! \U0001F469\u200D\U0001F4BB \u202Eright to left\u202C e\u0301 \u2028 \u2029 \" ' \\ </script> \\u0041 \U0010FFFD\tend"

func unicode(f *fixture) {
	f.play(step{User: "\U0001F469\u200D\U0001F4BB", Text: odd})
	id := f.session()
	f.says(id, odd, odd)
	if !f.target.Lacks.ExactText {
		f.heard(odd)
	}
}

func shortPrompts(t Target) string { return t.Lacks.LongPrompts }

func longPrompt(f *fixture) {
	f.play(step{User: "the very end", Text: "That was long."})
	id := f.session()
	long := strings.Repeat("0123456789abcde\n", 3<<20/16) + "the very end"
	f.says(id, long, "That was long.")
	f.heard(long)
}

func longAnswer(f *fixture) {
	var long strings.Builder // that does not repeat itself: some agents would stop it
	for i := 0; long.Len() < 200<<10; i++ {
		fmt.Fprintf(&long, "%d ", i)
	}
	f.play(step{User: "talk", Text: long.String(), Chunk: 100})
	id := f.session()
	end := last[terret.TurnComplete](f, f.run(id, "talk"))
	if strings.TrimSpace(end.Text) != strings.TrimSpace(long.String()) {
		f.Errorf("the answer has %d bytes, not %d: %s", len(end.Text), long.Len(), cut(end.Text))
	}
}

// png is a picture of one point.
func png() []byte {
	var out bytes.Buffer
	out.WriteString("\x89PNG\r\n\x1a\n")
	chunk := func(name string, data []byte) {
		body := append([]byte(name), data...)
		_ = binary.Write(&out, binary.BigEndian, uint32(len(data))) // a buffer takes everything
		out.Write(body)
		_ = binary.Write(&out, binary.BigEndian, crc32.ChecksumIEEE(body))
	}
	chunk("IHDR", []byte{0, 0, 0, 1, 0, 0, 0, 1, 8, 0, 0, 0, 0})
	chunk("IDAT", []byte("\x78\x9c\x63\x60\x00\x00\x00\x02\x00\x01"))
	chunk("IEND", nil)
	return out.Bytes()
}

func image(f *fixture) {
	f.play(step{User: "look", Text: "A point."})
	id := f.session()
	p := words("look at this")
	p.Blocks = append(p.Blocks, terret.Block{Type: terret.BlockImage, MediaType: "image/png", Bytes: png(), Name: "point.png"})
	events := f.end(id, f.promptWith(id, p, ""))
	f.completed(events, "A point.")
	if got := f.model.last().Images; len(got) != 1 || got[0] != base64.StdEncoding.EncodeToString(png()) {
		f.Errorf("the model saw %d pictures: %s", len(got), cut(strings.Join(got, " ")))
	}
}

// followUp is that the same agent goes on, and remembers.
func followUp(f *fixture) {
	f.play(step{User: "first", Text: "One."}, step{User: "second", Text: "Two."}, step{User: "third", Text: "Three."})
	id := f.session()
	f.says(id, "the first thing", "One.")
	f.says(id, "the second thing", "Two.")
	f.says(id, "the third thing", "Three.")
	f.heard("the first thing", "the second thing", "the third thing")
	if said := f.model.last().Said; !strings.Contains(said, "One.") || !strings.Contains(said, "Two.") {
		f.Errorf("the model was not told what it had said: %q", said)
	}
	events, err := f.read(id)
	if err != nil {
		f.Fatalf("%v", err)
	}
	if n := len(all[terret.SessionStart](events)); n != 1 && !f.target.PerTurn {
		f.Errorf("%d agents were started for one conversation", n)
	}
}

func queue(f *fixture) {
	f.play(
		step{User: "first", Pieces: []string{"One", "."}, Hold: "first"},
		step{User: "second", Text: "Two."}, step{User: "third", Text: "Three."},
	)
	id := f.session()
	first := f.prompt(id, "the first thing")
	second := f.promptWith(id, words("the second thing"), engine.WhenQueue)
	third := f.promptWith(id, words("the third thing"), engine.WhenQueue)
	f.model.server.Player().Release("first")
	f.completed(f.end(id, first), "One.")
	f.completed(f.end(id, second), "Two.")
	f.completed(f.end(id, third), "Three.")
}

// steer is that a message reaches the model within the running turn.
func steer(f *fixture) {
	if f.target.Tools.Shell == nil {
		f.Fatalf("there is no tool to wait for")
	}
	f.play(
		step{User: "begin", Calls: []Call{f.target.Tools.Shell("touch begun; until test -e go; do sleep 0.1; done; echo went")}},
		step{Result: "went", Text: "Blue it is."}, // agents may send it as a reminder
	)
	id := f.session()
	turn := f.prompt(id, "begin")
	f.await("the tool runs", func() bool { return f.file("begun") == "" })
	if got := f.promptWith(id, words("use blue"), engine.WhenSteer); got != turn {
		f.Errorf("the message went to turn %s, not %s", got, turn)
	}
	f.write("go", "")
	events := f.end(id, turn)
	f.completed(events, "Blue it is.")
	f.heard("use blue", "went")
}

func systemPrompt(f *fixture) {
	f.play(step{User: "hi", Text: "Arr."})
	id := f.session(withOptions(terret.SessionOptions{SystemAppend: "Talk like a pirate."}))
	f.says(id, "hi", "Arr.")
	if system := f.model.last().System; !strings.Contains(system, "Talk like a pirate.") || len(system) < 100 {
		f.Errorf("the system prompt is %q", cut(system))
	}
}

func cost(f *fixture) {
	f.play(step{User: "first", Text: "One.", Input: 10_000}, step{User: "second", Text: "Two.", Input: 20_000})
	id := f.session()
	one := f.completed(f.run(id, "first"), "One.")
	two := f.completed(f.run(id, "second"), "Two.")
	if one.CostUSD <= 0 || two.CostUSD <= one.CostUSD {
		f.Errorf("the turns cost %s and %s", one.CostUSD, two.CostUSD)
	}
	s, err := f.seats[0].store.Session(f.Context(), id)
	if err != nil || s.CostUSD != one.CostUSD+two.CostUSD {
		f.Errorf("the session cost %s, the turns %s and %s (%v)", s.CostUSD, one.CostUSD, two.CostUSD, err)
	}
}

func noCommands(t Target) string {
	if t.Command == nil {
		return "it has no commands of its own"
	}
	return ""
}

func command(f *fixture) {
	text, want := "Greet $ARGUMENTS politely.", "Greet Ada politely"
	if f.target.ArgsApart {
		text, want = "Greet politely whom I name.", "Greet politely"
	}
	f.play(step{User: want, Text: "Good day, Ada."})
	if err := f.target.Command(f.place, "greet", text); err != nil {
		f.Fatalf("%v", err)
	}
	id := f.session()
	list, err := f.e.Commands(f.Context(), id)
	if err != nil || !slices.ContainsFunc(list, func(c terret.Command) bool { return c.Name == "greet" }) {
		f.Errorf("it is not listed: %v (%v)", list, err)
	}
	turn, err := f.e.RunCommand(f.Context(), engine.CommandRequest{Session: id, Name: "greet", Args: "Ada", By: tester})
	if err != nil {
		f.Fatalf("%v", err)
	}
	f.completed(f.end(id, turn.ID), "Good day, Ada.")
	f.heard("Ada")
}
