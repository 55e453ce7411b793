package view_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/view"
)

// FuzzEvents gives any events, in any order, to every view.
func FuzzEvents(f *testing.F) {
	for name := range sessions {
		b, err := os.ReadFile("testdata/" + name + ".ndjson")
		if err != nil {
			f.Fatal(err)
		}
		for few := range slices.Chunk(bytes.SplitAfter(b, []byte("\n")), 4) {
			f.Add(bytes.Join(few, nil), false)
			slices.Reverse(few)
			f.Add(bytes.Join(few, nil), true)
		}
	}
	f.Add([]byte(`{"kind":"tool.pre","turn":"t","data":{"tool_id":"u","input":"\ud800"}}`), true)
	f.Add([]byte(`{"kind":"hook.event","expects":{"gate":"compact"},"data":{"hook":"PreCompact","data":[1]}}`), true)
	f.Fuzz(func(t *testing.T, lines []byte, oneShot bool) {
		var events []terret.Event
		for line := range bytes.Lines(lines) {
			var e terret.Event
			if json.Unmarshal(line, &e) == nil {
				events = append(events, e)
			}
		}
		for _, name := range view.Names() {
			play(t, newView(t, name, view.Options{Session: terret.Session{OneShot: oneShot}}), events...)
		}
	})
}

// FuzzReplies gives any reply to any request: it is refused, or a valid decision
// of that request.
func FuzzReplies(f *testing.F) {
	for _, body := range []string{
		`{"type":"json","source":"user","intent":{"kind":"question_answer","answers":{"Colour?":"Red"}}}`, `{"type":"passthrough"}`,
		`{"reply":"always"}`, `{"answers":[["a"],["b","c"]]}`, `{"approved":false,"feedback":"x"}`, `{"rejected":true}`,
	} {
		for _, gate := range []terret.Gate{terret.GatePermission, terret.GateQuestion, terret.GatePlan, terret.GatePreTool, terret.GateStop} {
			f.Add(string(gate), []byte(body), []byte(questionRequest().Data))
		}
	}
	f.Fuzz(func(t *testing.T, gate string, body, data []byte) {
		q := terret.Request{RequestID: "req_1", Gate: terret.Gate(gate), Data: data}
		for name, read := range map[string]func(terret.Request, []byte) (terret.Decision, error){"athena": view.FromAthena, "hive": view.FromHive} {
			d, err := read(q, body)
			if err != nil {
				continue
			}
			if d.Validate() != nil || d.RequestID != q.RequestID || d.Gate != q.Gate {
				t.Errorf("%s makes %+v of %s", name, d, body)
			}
			for _, v := range view.Names() {
				play(t, newView(t, v, view.Options{}), out(d.Data()))
			}
		}
	})
}

// TestAnyOrder shuffles whole sessions and every example: nothing breaks.
func TestAnyOrder(t *testing.T) {
	t.Parallel()
	all := examples(t)
	events := append(load(t, "long_lived"), load(t, "one_shot")...)
	for _, k := range terret.Kinds() {
		events = append(events, all[k]...)
	}
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		r.Shuffle(len(events), func(i, j int) { events[i], events[j] = events[j], events[i] })
		for _, name := range view.Names() {
			play(t, newView(t, name, view.Options{Session: terret.Session{OneShot: seed%2 == 0}}), events...)
		}
	}
}
