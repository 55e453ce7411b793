package terret_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/terret-dev/terret"
)

var update = flag.Bool("update", false, "rewrite the goldens in testdata/events")

const goldenDir = "testdata/events"

// The ids in all goldens.
const (
	goldenSession    = "0195e0c4-8b1e-7a3c-9d2f-4e5a6b7c8d9e"
	goldenTurn       = "trn_0195e0c5-01d2-7b4e-8c3a-5f6e7d8c9b0a"
	goldenRequest    = "req_0195e0c5-2f10-7d5c-a1b2-0c1d2e3f4a5b"
	goldenCheckpoint = "chk_0195e0c5-0003-7e6d-b3c4-1d2e3f4a5b6c"
	goldenMessage    = "msg_0195e0c5-0144-7f7e-85d6-2e3f4a5b6c7d"
	goldenParent     = "msg_0195e0c4-ff00-708f-96e7-3f4a5b6c7d8e"
	goldenTool       = "toolu_01A09q90qw90lq917835lq9"
)

// goldenTime is when everything in the goldens happened.
var goldenTime = terret.TimeOf(time.Date(2026, 3, 14, 15, 9, 26, 535897932, time.UTC))

// equal is how events are compared: an Error's wrapped error is not part of its
// JSON form.
var equal = cmpopts.IgnoreUnexported(terret.Error{})

// example is an event that a golden shows. A kind whose fields exclude each
// other has several, told apart by variant.
type example struct {
	variant string
	event   terret.Event
}

func (e example) name() string {
	name := string(e.event.Kind())
	if e.variant != "" {
		name += "-" + e.variant
	}
	return name
}

func (e example) file() string { return filepath.Join(goldenDir, e.name()+".json") }

// inSession is an example of an event outside a turn, inTurn of one inside.
func inSession(data terret.Data, edits ...func(*example)) example {
	e := example{event: terret.Event{
		Seq: 42, V: terret.Version, Session: goldenSession, Time: goldenTime,
		Actor: terret.ActorRoot, Data: data,
	}}
	e.event.Visibility = e.event.Kind().Visibility()
	for _, edit := range edits {
		edit(&e)
	}
	return e
}

func inTurn(data terret.Data, edits ...func(*example)) example {
	e := inSession(data, edits...)
	e.event.Turn = goldenTurn
	return e
}

func variant(name string) func(*example) { return func(e *example) { e.variant = name } }
func by(who string) func(*example)       { return func(e *example) { e.event.By = who } }
func source(name string) func(*example)  { return func(e *example) { e.event.Source = name } }
func raw(message string) func(*example) {
	return func(e *example) { e.event.Raw = []byte(message) }
}

func subagent(id, parentTool string) func(*example) {
	return func(e *example) { e.event.Actor, e.event.ParentTool = terret.SubActor(id), parentTool }
}

func expects(gate terret.Gate, fallback terret.Behavior, expiresIn time.Duration) func(*example) {
	return func(e *example) {
		e.event.Expects = &terret.Expects{RequestID: goldenRequest, Gate: gate, Fallback: fallback}
		if expiresIn > 0 {
			e.event.Expects.ExpiresAt = new(terret.TimeOf(goldenTime.Add(expiresIn)))
		}
	}
}

func decidedAtOnce(e *example) { e.event.Expects.Decided = true }

func examples() []example {
	return slices.Concat(sessionExamples(), turnExamples(), toolExamples(), requestExamples(), otherExamples())
}

// TestGoldens holds the JSON of every kind to testdata/events.
func TestGoldens(t *testing.T) {
	for _, e := range examples() {
		t.Run(e.name(), func(t *testing.T) {
			encoded, err := e.event.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			if *update {
				var indented bytes.Buffer
				if err := json.Indent(&indented, encoded, "", "  "); err != nil {
					t.Fatal(err)
				}
				indented.WriteByte('\n')
				if err := os.WriteFile(e.file(), indented.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			golden := readGolden(t, e.file())
			if diff := cmp.Diff(string(golden), string(encoded)); diff != "" {
				t.Errorf("the example is not the golden (-update rewrites it): -golden +example\n%s", diff)
			}

			var decoded terret.Event
			if err := decoded.UnmarshalJSON(golden); err != nil {
				t.Fatal(err)
			}
			if _, opaque := decoded.Data.(terret.Opaque); opaque {
				t.Fatalf("the golden decodes as Opaque")
			}
			if diff := cmp.Diff(e.event, decoded, equal); diff != "" {
				t.Errorf("-example +decoded golden\n%s", diff)
			}
			again, err := decoded.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(golden), string(again)); diff != "" {
				t.Errorf("-golden +encoded again\n%s", diff)
			}
		})
	}
}

// readGolden returns the file's JSON without spaces.
func readGolden(t testing.TB, file string) []byte {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, b); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return compact.Bytes()
}

// TestGoldenForEveryKind fails for a kind without an example, two examples of one
// name, and a golden that no example makes.
func TestGoldenForEveryKind(t *testing.T) {
	shown := map[terret.Kind]bool{}
	files := map[string]bool{}
	for _, e := range examples() {
		shown[e.event.Kind()] = true
		if files[e.file()] {
			t.Errorf("two examples for %s", e.file())
		}
		files[e.file()] = true
	}
	for _, k := range terret.Kinds() {
		if !shown[k] {
			t.Errorf("kind %s has no example", k)
		}
	}
	found, err := filepath.Glob(goldenDir + "/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range found {
		if !files[file] {
			t.Errorf("no example makes %s", file)
		}
	}
}

// TestGoldensShowEveryField fails when no example of a kind sets a field of its
// data. Types that many kinds share, each using some of their fields, are held to
// it across all kinds together.
func TestGoldensShowEveryField(t *testing.T) {
	wanted, shown := map[string]bool{}, map[string]bool{}
	add := func(set map[string]bool) func(string) { return func(path string) { set[path] = true } }
	for _, e := range examples() {
		data := reflect.ValueOf(e.event.Data)
		wantFields(data.Type(), string(e.event.Kind()), nil, add(wanted))
		shownFields(data, string(e.event.Kind()), add(shown))
		event := reflect.ValueOf(e.event)
		wantFields(event.Type(), "event", nil, add(wanted))
		shownFields(event, "event", add(shown))
	}
	for path := range wanted {
		if !shown[path] {
			t.Errorf("no example sets %s", path)
		}
	}
}

// sharedTypes are shown under their own name instead of that of each kind.
var sharedTypes = map[reflect.Type]string{
	reflect.TypeFor[terret.Block]():    "block",
	reflect.TypeFor[terret.Decision](): "decision",
	reflect.TypeFor[terret.Error]():    "error",
}

// wantFields reports the path of every field of t, and of the fields of those.
func wantFields(t reflect.Type, path string, above []reflect.Type, report func(string)) {
	if name, ok := sharedTypes[t]; ok {
		path = name
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice:
		wantFields(t.Elem(), path, above, report)
	case reflect.Struct:
		if t.Implements(reflect.TypeFor[json.Marshaler]()) && t != reflect.TypeFor[terret.Event]() || slices.Contains(above, t) {
			return
		}
		for field := range t.Fields() {
			if field.IsExported() {
				report(path + "." + field.Name)
				wantFields(field.Type, path+"."+field.Name, append(above, t), report)
			}
		}
	default:
	}
}

// shownFields reports the path of every field that is not empty in v.
func shownFields(v reflect.Value, path string, report func(string)) {
	if name, ok := sharedTypes[v.Type()]; ok {
		path = name
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			shownFields(v.Elem(), path, report)
		}
	case reflect.Slice:
		for i := range v.Len() {
			shownFields(v.Index(i), path, report)
		}
	case reflect.Struct:
		for field, value := range v.Fields() {
			if !field.IsExported() {
				continue
			}
			if !value.IsZero() && (value.Kind() != reflect.Slice && value.Kind() != reflect.Map || value.Len() > 0) {
				report(path + "." + field.Name)
			}
			shownFields(value, path+"."+field.Name, report)
		}
	default:
	}
}

// TestGoldensSpeakSnakeCase holds the names of all fields to one style, and ids to
// their prefixes.
func TestGoldensSpeakSnakeCase(t *testing.T) {
	for _, e := range examples() {
		var fields map[string]terret.JSON
		if err := json.Unmarshal(readGolden(t, e.file()), &fields); err != nil {
			t.Fatal(err)
		}
		var data map[string]terret.JSON
		if err := json.Unmarshal(fields["data"], &data); err != nil {
			t.Errorf("%s: data is not an object: %v", e.name(), err)
		}
		for _, names := range []map[string]terret.JSON{fields, data} {
			for name := range names {
				if strings.Trim(name, "abcdefghijklmnopqrstuvwxyz_") != "" {
					t.Errorf("%s: field %q is not in snake case", e.name(), name)
				}
			}
		}
	}
	for prefix, id := range map[string]string{
		"": goldenSession, terret.PrefixTurn: goldenTurn, terret.PrefixRequest: goldenRequest,
		terret.PrefixCheckpoint: goldenCheckpoint, terret.PrefixMessage: goldenMessage,
	} {
		if !terret.ValidID(prefix, id) {
			t.Errorf("%s is not an id with prefix %q", id, prefix)
		}
	}
}
