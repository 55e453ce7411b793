package sse_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret/internal/sse"
)

func read(t *testing.T, r io.Reader, limit int) ([]sse.Event, error) {
	t.Helper()
	var out []sse.Event
	for ev, err := range sse.Read(r, limit) {
		if err != nil {
			return out, err
		}
		ev.Data = bytes.Clone(ev.Data)
		out = append(out, ev)
	}
	return out, nil
}

func TestAppend(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, id, event, data, want string
	}{
		{"all", "7", "turn.start", `{"a":1}`, "id: 7\nevent: turn.start\ndata: {\"a\":1}\n\n"},
		{"data only", "", "", "x", "data: x\n\n"},
		{"empty data", "1", "", "", "id: 1\ndata: \n\n"},
		{"lines", "", "", "a\nb\r\nc\rd", "data: a\ndata: b\ndata: c\ndata: d\n\n"},
		{"ends with a line end", "", "", "a\r\n", "data: a\ndata: \n\n"},
		{"hostile id", "1\ndata: evil", "", "x", "data: x\n\n"},
		{"hostile name", "1", "a\rid: 9", "x", "id: 1\ndata: x\n\n"},
		{"NUL in the id", "1\x00", "", "x", "data: x\n\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := string(sse.Append(nil, c.id, c.event, []byte(c.data))); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	if got := string(sse.AppendComment([]byte("x"), "a\nb\r")); got != "x: a b \n\n" {
		t.Errorf("comment %q", got)
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, in string
		want     []sse.Event
	}{
		{"nothing", "", nil},
		{"one", "id: 1\nevent: a\ndata: x\n\n", []sse.Event{{ID: "1", Name: "a", Data: []byte("x")}}},
		{"no space", "data:x\n\n", []sse.Event{{Data: []byte("x")}}},
		{"two spaces", "data:  x\n\n", []sse.Event{{Data: []byte(" x")}}},
		{"no colon", "data\n\n", []sse.Event{{Data: []byte{}}}},
		{"lines of data", "data: a\ndata: b\n\n", []sse.Event{{Data: []byte("a\nb")}}},
		{"carriage returns", "data: a\r\rdata: b\r\n\r\ndata: c\n\n", []sse.Event{{Data: []byte("a")}, {Data: []byte("b")}, {Data: []byte("c")}}},
		{"comments", ": hello\n\n:\ndata: x\n:y\n\n", []sse.Event{{Data: []byte("x")}}},
		{"unknown fields", "retry: 3\nother: 4\ndata: x\n\n", []sse.Event{{Data: []byte("x")}}},
		{"the id stays", "id: 1\ndata: x\n\ndata: y\n\nid\ndata: z\n\n", []sse.Event{{ID: "1", Data: []byte("x")}, {ID: "1", Data: []byte("y")}, {Data: []byte("z")}}},
		{"an id without data", "id: 5\n\ndata: y\n\n", []sse.Event{{ID: "5", Data: []byte("y")}}},
		{"NUL in the id", "id: 1\nid: 2\x00\ndata: x\n\n", []sse.Event{{ID: "1", Data: []byte("x")}}},
		{"the name does not stay", "event: a\ndata: x\n\ndata: y\n\n", []sse.Event{{Name: "a", Data: []byte("x")}, {Data: []byte("y")}}},
		{"no data, no event", "event: a\nid: 1\n\n", nil},
		{"byte order mark", "\ufeffdata: x\n\n", []sse.Event{{Data: []byte("x")}}},
		{"unfinished", "data: x\n\ndata: y\n", []sse.Event{{Data: []byte("x")}}},
		{"unfinished line", "data: x\n\ndata: y", []sse.Event{{Data: []byte("x")}}},
		{"not UTF-8", "data: \xff\n\n", []sse.Event{{Data: []byte("\xff")}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for name, r := range map[string]io.Reader{
				"whole": strings.NewReader(c.in), "bytes": iotest.OneByteReader(strings.NewReader(c.in)),
			} {
				got, err := read(t, r, 100)
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Errorf("%s: %s", name, diff)
				}
			}
		})
	}
}

func TestReadLimits(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]string{
		"line":     "data: " + strings.Repeat("x", 100_000),
		"comment":  ":" + strings.Repeat("x", 100_000),
		"one line": "data: " + strings.Repeat("x", 11) + "\n\n",
		"lines":    strings.Repeat("data: x\n", 11) + "\n",
	} {
		if _, err := read(t, strings.NewReader(in), 10); !errors.Is(err, sse.ErrTooLong) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got, err := read(t, strings.NewReader("data: 0123456789\n\n"), 10); err != nil || len(got) != 1 {
		t.Errorf("just fits: %v %v", got, err)
	}
}

func TestReadError(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	r := io.MultiReader(strings.NewReader("data: x\n\ndata: y"), iotest.ErrReader(broken))
	got, err := read(t, r, 100)
	if !errors.Is(err, broken) || len(got) != 1 {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestBreak(t *testing.T) {
	t.Parallel()
	for range sse.Read(strings.NewReader("data: x\n\ndata: y\n\n"), 10) {
		return
	}
	t.Error("no event")
}

// FuzzRead holds that nothing that is sent breaks the reader, however it is cut,
// and that what Append writes is read as it was.
func FuzzRead(f *testing.F) {
	f.Add([]byte("id: 1\nevent: a\r\ndata: x\r\rdata: y\n\n"))
	f.Add([]byte(":\xff\n\rdata\n\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		whole, wholeErr := read(t, bytes.NewReader(in), 1<<16)
		cut, cutErr := read(t, iotest.OneByteReader(bytes.NewReader(in)), 1<<16)
		if diff := cmp.Diff(whole, cut); diff != "" || (wholeErr == nil) != (cutErr == nil) {
			t.Errorf("cut into bytes it reads otherwise: %s %v %v", diff, wholeErr, cutErr)
		}
		got, err := read(t, bytes.NewReader(sse.Append(nil, "7", "name", in)), len(in)+10)
		want := bytes.ReplaceAll(bytes.ReplaceAll(in, []byte("\r\n"), []byte("\n")), []byte("\r"), []byte("\n"))
		if err != nil || len(got) != 1 || got[0].ID != "7" || got[0].Name != "name" || !bytes.Equal(got[0].Data, want) {
			t.Errorf("wrote %q, read %v, %v", in, got, err)
		}
	})
}
