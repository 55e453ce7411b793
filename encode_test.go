package terret_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/terret-dev/terret"
)

// wire is an event as encoding/json writes it.
type wire struct {
	V          int               `json:"v"`
	Session    string            `json:"session"`
	Turn       string            `json:"turn,omitempty"`
	By         string            `json:"by,omitempty"`
	Time       terret.Time       `json:"time"`
	Kind       terret.Kind       `json:"kind"`
	Actor      string            `json:"actor"`
	ParentTool string            `json:"parent_tool,omitempty"`
	Expects    *terret.Expects   `json:"expects,omitempty"`
	Visibility terret.Visibility `json:"visibility"`
	Source     string            `json:"source,omitempty"`
	Data       any               `json:"data"`
}

func wireOf(t *testing.T, e terret.Event) string {
	t.Helper()
	w := wire{
		V: cmp.Or(e.V, terret.Version), Session: e.Session, Turn: e.Turn, By: e.By, Time: e.Time, Kind: e.Kind(),
		Actor: cmp.Or(e.Actor, terret.ActorRoot), ParentTool: e.ParentTool, Expects: e.Expects,
		Visibility: cmp.Or(e.Visibility, e.Kind().Visibility()), Source: e.Source, Data: e.Data,
	}
	if o, ok := e.Data.(terret.Opaque); ok {
		w.Data = o.JSON
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(w); err != nil {
		t.Fatal(err)
	}
	return strings.ToValidUTF8(strings.TrimSuffix(b.String(), "\n"), "\uFFFD")
}

// FuzzEncode holds that events are written as encoding/json would write them.
func FuzzEncode(f *testing.F) {
	f.Add("s", "trn_1", "ann", "root", "", "", "hello", int64(0), false)
	f.Add("", "", "", "", "", "", "", int64(-62135596800000000), true)
	f.Add(`a"b`, `c\d`, "tab\tline\n", "Zoë", "\xff\xfe", "\u2028<&>\x7f", "\xc3", int64(1700000000123456), true)
	f.Fuzz(func(t *testing.T, session, turn, by, actor, tool, source, text string, micros int64, expects bool) {
		at := terret.TimeOf(time.UnixMicro(micros))
		for _, data := range []terret.Data{
			terret.MessageDelta{MessageID: tool, Text: text},
			terret.Opaque{Name: terret.Kind("x." + text), JSON: terret.JSON(text)},
			terret.ToolPre{ToolID: tool, Input: terret.JSON(text)},
		} {
			e := terret.Event{
				Session: session, Turn: turn, By: by, Time: at, Actor: actor, ParentTool: tool, Source: source, Data: data,
				V: len(text), Visibility: terret.Visibility(by),
			}
			if expects {
				e.Expects = &terret.Expects{RequestID: text, Gate: terret.Gate(tool), ExpiresAt: &at}
			}
			got, err := e.Encode()
			if err != nil {
				t.Fatal(err)
			}
			if want := wireOf(t, e); string(got) != want {
				t.Errorf("%s\nwant %s", got, want)
			}
			if cap(got) > 2*len(got)+64 {
				t.Errorf("%d bytes hold on to %d", len(got), cap(got))
			}
		}
	})
}

// TestEncodeAtOnce holds that what was encoded stays as it is, whatever is encoded after
// it or at the same time, large events included.
func TestEncodeAtOnce(t *testing.T) {
	t.Parallel()
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			var got, want []string
			var kept [][]byte
			for j := range 20 {
				e := terret.Event{Session: fmt.Sprint(i, "-", j), Data: terret.Notification{Text: strings.Repeat("x", i*20_000)}}
				body, err := e.Encode()
				if err != nil {
					t.Error(err)
				}
				kept, want = append(kept, body), append(want, wireOf(t, e))
			}
			for _, body := range kept {
				got = append(got, string(body))
			}
			if !slices.Equal(got, want) {
				t.Errorf("%.300q\nwant %.300q", got, want)
			}
		})
	}
	all.Wait()
}
