package terret_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret"
)

// TestEventRoundTrip takes every example through the log: encode, store, serve,
// decode, both by way of the reader's JSON and by Entry.Decode.
func TestEventRoundTrip(t *testing.T) {
	for _, e := range examples() {
		t.Run(e.name(), func(t *testing.T) {
			body, err := e.event.Encode()
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(body, []byte(`"seq"`)) || bytes.Contains(body, []byte(`"raw"`)) {
				t.Errorf("the stored body holds seq or raw: %s", body)
			}
			entry := terret.Entry{Session: e.event.Session, Seq: 7, Kind: e.event.Kind(), Body: body, Raw: e.event.Raw}
			want := e.event
			want.Seq = 7

			var served terret.Event
			if err := json.Unmarshal(entry.AppendJSON(nil), &served); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, served, equal); diff != "" {
				t.Errorf("-event +served\n%s", diff)
			}
			decoded, err := entry.Decode()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, decoded, equal); diff != "" {
				t.Errorf("-event +decoded\n%s", diff)
			}
		})
	}
}

// TestEncodeFillsDefaults shows what the zero values of the envelope mean.
func TestEncodeFillsDefaults(t *testing.T) {
	body, err := terret.Event{Session: "s", Time: goldenTime, Data: terret.StopRequest{RequestID: "r"}}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	want := `{"v":1,"session":"s","time":"2026-03-14T15:09:26.535897Z","kind":"stop.request","actor":"root",` +
		`"visibility":"internal","data":{"request_id":"r"}}`
	if string(body) != want {
		t.Errorf("got  %s\nwant %s", body, want)
	}
}

func TestEncodeRefusesEventWithoutData(t *testing.T) {
	_, err := terret.Event{Session: "s"}.Encode()
	if terret.AsError(err).Code != terret.CodeInternal {
		t.Errorf("Encode: %v, want an internal error", err)
	}
	if _, err := json.Marshal(terret.Event{Session: "s"}); err == nil {
		t.Error("Marshal took an event without data")
	}
	if kind := (terret.Event{}).Kind(); kind != "" {
		t.Errorf("kind of the zero event is %q", kind)
	}
}

// TestEntryServesBodyUnchanged holds AppendJSON to the bytes that were stored,
// whatever is in them.
func TestEntryServesBodyUnchanged(t *testing.T) {
	for name, body := range map[string]string{
		"unknown kind":     `{"v":9,"session":"s","time":"2030-01-01T00:00:00Z","kind":"quantum.leap","data":{"b":1,"a":2}}`,
		"unknown fields":   `{"v":9,"mood":"good","kind":"notification","data":{"text":"x","level":"info","sound":"ping"},"z":[1,2]}`,
		"odd spacing":      "{ \"kind\"\t: \"unknown\" ,\n\n \"data\" : { \"native_type\":\"x\" } }",
		"escapes":          `{"kind":"unknown","data":{"native_type":"\u0041\/\u003c\ud83d\ude00"}}`,
		"numbers":          `{"kind":"x","data":{"n":1.10e+02,"big":123456789012345678901234567890}}`,
		"doubled fields":   `{"kind":"x","data":1,"data":2}`,
		"html":             `{"kind":"x","data":"<b>&</b>"}`,
		"line separator":   "{\"kind\":\"x\",\"data\":\"\u2028\"}",
		"not even decoded": `{"kind":12}`,
	} {
		t.Run(name, func(t *testing.T) {
			kept := bytes.Clone([]byte(body))
			entry := terret.Entry{Seq: 12, Body: []byte(body)}
			if got, want := string(entry.AppendJSON(nil)), `{"seq":12,`+body[1:]; got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
			entry.Raw = []byte(`{"native": true}`)
			want := `{"seq":12,` + body[1:len(body)-1] + `,"raw":{"native": true}}`
			if got := string(entry.AppendJSON(nil)); got != want {
				t.Errorf("with raw: got  %s\nwant %s", got, want)
			}
			if got := string(entry.AppendJSON([]byte("data: "))); got != "data: "+want {
				t.Errorf("appended: got %s", got)
			}
			if !json.Valid(entry.AppendJSON(nil)) {
				t.Error("it is not JSON")
			}
			if got := string(terret.Entry{Body: []byte(body)}.AppendJSON(nil)); got != body {
				t.Errorf("without seq: got %s", got)
			}
			if !bytes.Equal(entry.Body, kept) {
				t.Errorf("Body was changed to %s", entry.Body)
			}
		})
	}
}

// TestDecodeOpaque shows that what this version cannot read is kept, and written
// again as it was.
func TestDecodeOpaque(t *testing.T) {
	for name, test := range map[string]struct{ kind, data string }{
		"newer kind":           {"quantum.leap", `{"to":"1985","passengers":[{"name":"Marty"}],"cost_usd":1.210}`},
		"newer kind, scalar":   {"quantum.leap", `"1985"`},
		"newer kind, null":     {"quantum.leap", `null`},
		"list for an object":   {"turn.start", `["hello"]`},
		"text for a number":    {"turn.complete", `{"text":"x","usage":{"input":"many"}}`},
		"number for a text":    {"message.delta", `{"message_id":1,"index":0,"text":"x"}`},
		"cost out of range":    {"turn.complete", `{"text":"x","cost_usd":1e99}`},
		"time that is none":    {"rate_limit", `{"resets_at":"soon"}`},
		"bytes not in base64":  {"message.complete", `{"blocks":[{"type":"image","bytes":"?"}]}`},
		"answer of a new kind": {"question.decision", `{"request_id":"r","answers":{"q":{"label":"x"}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			body := `{"v":2,"session":"s","time":"2026-03-14T15:09:26.535897Z","kind":"` + test.kind +
				`","actor":"root","visibility":"ui","data":` + test.data + `}`
			event, err := terret.Entry{Seq: 3, Body: []byte(body)}.Decode()
			if err != nil {
				t.Fatal(err)
			}
			want := terret.Opaque{Name: terret.Kind(test.kind), JSON: terret.JSON(test.data)}
			if diff := cmp.Diff(terret.Data(want), event.Data); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			if event.Seq != 3 || event.V != 2 || event.Kind() != want.Name || event.Visibility != terret.VisibleUI {
				t.Errorf("envelope %+v", event)
			}
			again, err := event.Encode()
			if err != nil {
				t.Fatal(err)
			}
			if string(again) != body {
				t.Errorf("got  %s\nwant %s", again, body)
			}
		})
	}
}

// TestDecodeIgnoresUnknownFields shows that a known kind with more fields than
// this version knows is still typed.
func TestDecodeIgnoresUnknownFields(t *testing.T) {
	var event terret.Event
	err := json.Unmarshal([]byte(`{"kind":"notification","mood":1,"data":{"text":"hi","level":"info","sound":"ping"}}`), &event)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(terret.Data(terret.Notification{Text: "hi", Level: "info"}), event.Data); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestDecodeRefusesWhatIsNoEvent(t *testing.T) {
	for _, body := range []string{
		``, `{`, `[]`, `"x"`, `12`, `{}`, `{"kind":""}`, `{"kind":7}`, `{"data":{"text":"x"}}`,
		`{"kind":"unknown","time":"yesterday"}`, `{"kind":"unknown","seq":"1"}`, `{"kind":"unknown"} x`,
	} {
		_, err := terret.Entry{Session: "the-session", Seq: 5, Body: []byte(body)}.Decode()
		if err == nil {
			t.Errorf("%s was taken for an event", body)
			continue
		}
		if !strings.Contains(err.Error(), "the-session event 5") {
			t.Errorf("%s: error %q does not say which event", body, err)
		}
	}
}

// TestInvalidUTF8 shows that whatever bytes an agent sends, the log holds UTF-8.
func TestInvalidUTF8(t *testing.T) {
	const bad, good = "a\xffb\xc3(", "a\uFFFDb\uFFFD("
	for name, test := range map[string]struct{ data, want terret.Data }{
		"text": {terret.DiagStderr{Text: bad}, terret.DiagStderr{Text: good}},
		"raw JSON": {
			terret.ToolPre{ToolID: "t", Name: "Bash", Class: terret.ClassExecute, Input: terret.JSON(`{"command":"` + bad + `"}`)},
			terret.ToolPre{ToolID: "t", Name: "Bash", Class: terret.ClassExecute, Input: terret.JSON(`{"command":"` + good + `"}`)},
		},
		"opaque": {
			terret.Opaque{Name: "new.kind", JSON: terret.JSON(`"` + bad + `"`)},
			terret.Opaque{Name: "new.kind", JSON: terret.JSON(`"` + good + `"`)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			body, err := terret.Event{Data: test.data, Source: bad}.Encode()
			if err != nil {
				t.Fatal(err)
			}
			if !utf8.Valid(body) || !json.Valid(body) {
				t.Errorf("not JSON in UTF-8: %q", body)
			}
			event, err := terret.Entry{Body: body}.Decode()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, event.Data); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			if event.Source != good {
				t.Errorf("source %q", event.Source)
			}
		})
	}
}

// TestRawMessage shows how an agent's own message is served: JSON as it is, and
// anything else as a JSON string.
func TestRawMessage(t *testing.T) {
	for name, test := range map[string]struct{ raw, want string }{
		"object":          {`{"type": "x",  "n": 1.0}`, `{"type": "x",  "n": 1.0}`},
		"scalar":          {`12`, `12`},
		"not JSON":        {`Error: no`, `"Error: no"`},
		"half an object":  {`{"type":"assist`, `"{\"type\":\"assist"`},
		"two objects":     {`{} {}`, `"{} {}"`},
		"not UTF-8":       {"caf\xe9", "\"caf\ufffd\""},
		"control":         {"a\x00\x1b[0m\nb", `"a\u0000\u001b[0m\nb"`},
		"none":            {``, ``},
		"could break out": {`1}, "seq": 99`, `"1}, \"seq\": 99"`},
	} {
		t.Run(name, func(t *testing.T) {
			event := terret.Event{Seq: 1, Data: terret.Unknown{NativeType: "x"}, Raw: []byte(test.raw)}
			b, err := event.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			var fields struct {
				Seq int64           `json:"seq"`
				Raw json.RawMessage `json:"raw"`
			}
			if err := json.Unmarshal(b, &fields); err != nil {
				t.Fatal(err)
			}
			if string(fields.Raw) != test.want || fields.Seq != 1 {
				t.Errorf("seq %d, raw %s, want %s", fields.Seq, fields.Raw, test.want)
			}
			body, err := event.Encode()
			if err != nil {
				t.Fatal(err)
			}
			decoded, err := terret.Entry{Seq: 1, Body: body, Raw: event.Raw}.Decode()
			if err != nil || string(decoded.Raw) != test.raw {
				t.Errorf("the log gives raw %q, %v; want %q", decoded.Raw, err, test.raw)
			}
		})
	}
}

func TestLongText(t *testing.T) {
	text := strings.Repeat("ten bytes\n", 1<<20)
	event := terret.Event{Session: "s", Data: terret.MessageDelta{MessageID: "m", Text: text}}
	body, err := event.Encode()
	if err != nil {
		t.Fatal(err)
	}
	decoded, err := terret.Entry{Body: body}.Decode()
	if err != nil {
		t.Fatal(err)
	}
	if got := decoded.Data.(terret.MessageDelta).Text; got != text {
		t.Errorf("%d bytes came back of %d", len(got), len(text))
	}
}

// TestHTMLIsNotEscaped shows that code stays readable in the log.
func TestHTMLIsNotEscaped(t *testing.T) {
	const code = `if a < b && c > d {}`
	for _, data := range []terret.Data{
		terret.MessageDelta{Text: code},
		terret.ToolPre{Input: terret.JSON(`{"code":"` + code + `"}`)},
		terret.Opaque{Name: "new.kind", JSON: terret.JSON(`"` + code + `"`)},
	} {
		body, err := terret.Event{Source: code, Data: data}.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(body), code); n != 2 {
			t.Errorf("%d of 2 texts are unchanged in %s", n, body)
		}
	}
}

// TestEncodeKeepsBrokenJSON shows that an agent's bad output is kept, as a string,
// and never makes an event unwritable.
func TestEncodeKeepsBrokenJSON(t *testing.T) {
	for in, want := range map[string]string{`{"a":`: `"{\"a\":"`, ``: `null`, "  ": `null`, `nul`: `"nul"`} {
		body, err := terret.Event{Data: terret.ToolPre{Input: terret.JSON(in)}}.Encode()
		if err != nil {
			t.Fatal(err)
		}
		back, err := terret.Entry{Body: body}.Decode()
		if err != nil {
			t.Fatal(err)
		}
		if got := string(back.Data.(terret.ToolPre).Input); got != want {
			t.Errorf("%q is kept as %s, want %s", in, got, want)
		}
	}
}
