package storetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/terret-dev/terret"
)

// sized is an event whose body has exactly that many bytes, and a raw message of
// the same size.
func sized(t *testing.T, session string, size int, fill string) terret.Event {
	t.Helper()
	e := event("", terret.Notification{Level: "info"})
	e.Session = session
	empty, err := e.Encode()
	if err != nil {
		t.Fatal(err)
	}
	e.Data = terret.Notification{Level: "info", Text: strings.Repeat(fill, size-len(empty))}
	e.Raw = bytes.Repeat([]byte(fill), size)
	return e
}

// testBodies writes bodies around the size where stores keep them elsewhere.
func testBodies(t *testing.T, s *suite) {
	st := s.fresh(t)
	w := newWriter(t, st)
	sizes := []int{1 << 10, 64<<10 - 1, 64 << 10, 64<<10 + 1, 1 << 20}
	if !s.Single {
		sizes = append(sizes, 64<<20)
	}
	var want []terret.Entry
	for _, size := range sizes {
		entries := w.must(t, sized(t, w.session, size, "s"))
		if len(entries[0].Body) != size || len(entries[0].Raw) != size {
			t.Errorf("body of %d bytes and raw of %d, want %d", len(entries[0].Body), len(entries[0].Raw), size)
		}
		want = append(want, entries...)
	}
	same(t, mustRead(t, st, w.session), want)
	all, err := st.ReadAll(t.Context(), terret.ReadAllQuery{Limit: 4})
	if err != nil {
		t.Fatal(err)
	}
	for i := range want {
		want[i].Raw = nil
	}
	same(t, all, want[:4])
	page, err := st.Read(t.Context(), terret.ReadQuery{Session: w.session, Limit: 4})
	if err != nil {
		t.Fatal(err)
	}
	same(t, page, want[:4]) // raw messages only for those who ask
}

// testBytes writes what no one understands.
func testBytes(t *testing.T, s *suite) {
	st := s.fresh(t)
	w := newWriter(t, st)
	raws := []string{
		`{"a": 1 ,  "a":2}`, "not JSON", "broken \xff\xfe UTF-8", "\x00", "\"", "", "\n",
		strings.Repeat("broken \xff ", 20_000),
	}
	var events []terret.Event
	for i, raw := range raws {
		e := note("%d", i)
		e.Raw = []byte(raw)
		events = append(events, e)
	}
	for i, e := range w.must(t, events...) {
		if string(e.Raw) != raws[i] {
			t.Errorf("raw message %d is changed", i)
		}
	}
	for i, e := range mustRead(t, st, w.session) {
		if string(e.Raw) != raws[i] {
			t.Errorf("raw message %d is read as %.40q", i, e.Raw)
		}
		if !json.Valid(e.AppendJSON(nil)) {
			t.Errorf("raw message %d does not make valid JSON", i)
		}
	}

	// Text that is not UTF-8 is mended, once: what is stored is what is served.
	entries := w.must(t, note("text \xff\xfe, \u0000, \u2028 and \U0001F600"))
	same(t, mustRead(t, st, w.session)[len(raws):], entries)
	ev, err := entries[0].Decode()
	if err != nil || ev.Data.(terret.Notification).Text != "text \uFFFD\uFFFD, \u0000, \u2028 and \U0001F600" {
		t.Errorf("broken text: %+v, %v", ev, err)
	}

	// What a later version writes survives, to the byte.
	later := []string{
		`{"b":1,"a":[1.0,1e3,"<&>\u003c"],"big":12345678901234567890}`, `"just a string"`, `null`, `[]`,
	}
	for i, data := range later {
		entries := w.must(t, event("", terret.Opaque{Name: terret.Kind(fmt.Sprint("from.later", i)), JSON: []byte(data)}))
		page, err := st.Read(t.Context(), terret.ReadQuery{Session: w.session, After: entries[0].Seq - 1})
		if err != nil {
			t.Fatal(err)
		}
		same(t, page, entries)
		if !bytes.Contains(page[0].Body, []byte(`"data":`+data+`}`)) {
			t.Errorf("data %s is stored as %s", data, page[0].Body)
		}
		ev, err := page[0].Decode()
		if o, ok := ev.Data.(terret.Opaque); err != nil || !ok || string(o.JSON) != data {
			t.Errorf("data %s is read as %+v, %v", data, ev.Data, err)
		}
	}
	known := w.must(t, event("", terret.Opaque{Name: "notification", JSON: []byte(`{"text":"x","level":"info","color":"red"}`)}))
	page, err := st.Read(t.Context(), terret.ReadQuery{Session: w.session, After: known[0].Seq - 1, Kinds: []terret.Kind{"notification"}})
	if err != nil {
		t.Fatal(err)
	}
	same(t, page, known)
	if !bytes.Contains(page[0].Body, []byte(`"color":"red"`)) {
		t.Errorf("an unknown field is lost: %s", page[0].Body)
	}
}

// testBlobs writes large bodies that are the same.
func testBlobs(t *testing.T, s *suite) {
	st := s.fresh(t)
	a, b := newWriter(t, st), newWriter(t, st)
	e := sized(t, a.session, 100_000, "b")
	a.must(t, e, e)
	a.must(t, e)
	s.wantBlobs(t, st, 2) // a body and a raw message
	other := sized(t, b.session, 100_000, "b")
	want := b.must(t, other)
	s.wantBlobs(t, st, 3) // only the raw message is the same
	if err := st.Delete(t.Context(), a.session); err != nil {
		t.Fatal(err)
	}
	if _, err := maintainer(t, st).Compact(t.Context(), at(1, 0).Time); err != nil {
		t.Fatal(err)
	}
	s.wantBlobs(t, st, 2)
	same(t, mustRead(t, st, b.session), want)
}
