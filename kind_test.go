package terret_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret"
)

// vocabularyKinds are the kinds that are written down, by what the engine may do
// with them.
var vocabularyKinds = map[string]string{
	"shown": `session.start session.state session.updated session.auth session.end
		turn.start turn.complete turn.error user.prompt message.delta reasoning.delta message.complete
		tool.start tool.delta tool.pre tool.progress tool.post tool.failure
		permission.request permission.denied question.request plan.request
		permission.decision question.decision plan.decision plan.update
		subagent.start subagent.stop task.start task.update task.end notification usage.update queue.change
		rate_limit retry model.fallback checkpoint.rewound file.changed bus.message agent.state`,
	"internal": `session.native_id session.resumed session.commands process.spawn process.exit
		stop.request stop.decision hook.decision compact.pre compact.post hook.event hook.response
		checkpoint.created bus.receipt unknown`,
	"log": `diag.stderr diag.parse_error diag.warning`,
}

func TestKinds(t *testing.T) {
	var want []terret.Kind
	for group, names := range vocabularyKinds {
		visibility := map[string]terret.Visibility{
			"shown": terret.VisibleUI, "internal": terret.VisibleInternal, "log": terret.VisibleLog,
		}[group]
		for name := range strings.FieldsSeq(names) {
			kind := terret.Kind(name)
			want = append(want, kind)
			if !kind.Known() {
				t.Errorf("%s is not known", kind)
			}
			if got := kind.Visibility(); got != visibility {
				t.Errorf("%s is %s, want %s", kind, got, visibility)
			}
		}
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, terret.Kinds()); diff != "" {
		t.Errorf("-vocabulary +kinds\n%s", diff)
	}
}

func TestKindFromElsewhere(t *testing.T) {
	for _, kind := range []terret.Kind{"", "quantum.leap", "TURN.START"} {
		if kind.Known() || kind.InTurn() || kind.Delta() || kind.Visibility() != terret.VisibleInternal {
			t.Errorf("%q: known %t, in turn %t, delta %t, %s", kind, kind.Known(), kind.InTurn(), kind.Delta(), kind.Visibility())
		}
	}
	opaque := terret.Event{Data: terret.Opaque{Name: "quantum.leap"}}
	if opaque.Kind() != "quantum.leap" {
		t.Errorf("kind %q", opaque.Kind())
	}
}

// TestKindInTurn lists what an agent does only while a turn runs: whatever else it
// sends does not open a turn of its own.
func TestKindInTurn(t *testing.T) {
	want := strings.Fields(`message.complete message.delta permission.denied permission.request plan.request plan.update
		question.request reasoning.delta stop.request subagent.start subagent.stop tool.delta tool.failure tool.post
		tool.pre tool.progress tool.start turn.complete turn.error turn.start user.prompt`)
	var got []string
	for _, kind := range terret.Kinds() {
		if kind.InTurn() {
			got = append(got, string(kind))
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestTextOf(t *testing.T) {
	blocks := []terret.Block{
		{Type: terret.BlockThinking, Text: "hm"}, terret.Text("a"), {Type: terret.BlockToolUse, Name: "Bash"}, terret.Text("b"),
	}
	if got := terret.TextOf(blocks); got != "ab" {
		t.Errorf("got %q", got)
	}
	if got := terret.TextOf(nil); got != "" {
		t.Errorf("of nothing: %q", got)
	}
}

func TestStates(t *testing.T) {
	working := "busy waiting compacting retrying interrupting"
	for _, state := range declaredConstants(t, "SessionState") {
		want := slices.Contains(strings.Fields(working), state)
		if got := terret.SessionState(state).Working(); got != want {
			t.Errorf("session %s: working %t", state, got)
		}
		if err := terret.SessionState(state).Validate(); err != nil {
			t.Error(err)
		}
	}
	if got, want := len(terret.SessionStates()), len(declaredConstants(t, "SessionState")); got != want {
		t.Errorf("%d states of sessions for %d constants", got, want)
	}
	for _, state := range declaredConstants(t, "TurnState") {
		want := state != "queued" && state != "running"
		if got := terret.TurnState(state).Ended(); got != want {
			t.Errorf("turn %s: ended %t", state, got)
		}
	}
	var policies []string
	for _, policy := range terret.Policies() {
		policies = append(policies, string(policy))
	}
	for _, policy := range declaredConstants(t, "Policy") {
		if !slices.Contains(policies, policy) {
			t.Errorf("Policies does not list %s", policy)
		}
	}
}

func TestInputHash(t *testing.T) {
	const want = "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
	if got := terret.InputHash([]byte("{}")); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if terret.InputHash([]byte("{ }")) != want {
		t.Error("white space between values changes the hash, though the log does not keep it")
	}
	if terret.InputHash([]byte(`{"a":1}`)) == want {
		t.Error("another input has the same hash")
	}
	// The hash is that of what the log keeps, so a reader can check it.
	for _, input := range []string{`{"command": "ls  -l"}`, "", "{\"a\":\"\xff\"}", `[1, 2]`} {
		e := terret.Event{Data: terret.PermissionRequest{Input: terret.JSON(input), InputHash: terret.InputHash([]byte(input))}}
		body, err := e.Encode()
		if err != nil {
			t.Fatal(err)
		}
		back, err := terret.Entry{Body: body}.Decode()
		if err != nil {
			t.Fatal(err)
		}
		if p := back.Data.(terret.PermissionRequest); terret.InputHash(p.Input) != p.InputHash {
			t.Errorf("%q: the hash does not survive the log", input)
		}
	}
}
