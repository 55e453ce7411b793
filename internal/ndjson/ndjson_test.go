package ndjson

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// readAll renders each result of next as text: a line as it is, an overlong one
// as "!length:prefix".
func readAll(t *testing.T, next func() ([]byte, error)) ([]string, error) {
	t.Helper()
	var got []string
	for {
		line, err := next()
		tooLong, ok := errors.AsType[*LineTooLongError](err)
		switch {
		case ok:
			got = append(got, fmt.Sprintf("!%d:%s", tooLong.Length, tooLong.Prefix))
		case err != nil:
			return got, err
		default:
			got = append(got, string(line))
		}
	}
}

func TestReaderLines(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("x", 200_000)
	tests := []struct {
		name, in string
		max      int
		want     []string
	}{
		{"empty", "", 0, nil},
		{"plain", "a\nb\n", 0, []string{"a", "b"}},
		{"crlf", "a\r\nb\r\n", 0, []string{"a", "b"}},
		{"lone cr is content", "a\rb\n\r\n", 0, []string{"a\rb", ""}},
		{"blank", "\n\n a\n", 0, []string{"", "", " a"}},
		{"no final newline", "a\nb", 0, []string{"a", "b"}},
		{"final cr without newline", "a\r", 0, []string{"a\r"}},
		{"exactly the limit", "abcd\nabcd\r\nabcd", 4, []string{"abcd", "abcd", "abcd"}},
		{"over the limit goes on", "abcde\nok\n", 4, []string{"!5:abcde", "ok"}},
		{"over the limit at the end", "ok\nabcde", 4, []string{"ok", "!5:abcde"}},
		{"larger than one read", big + "\r\nok\n", 0, []string{big, "ok"}},
		{"far over the limit", big + "\r\nok\n", 1000, []string{"!200000:" + big[:500], "ok"}},
		{"far over, two in a row", big + "\n" + big, 1000, []string{"!200000:" + big[:500], "!200000:" + big[:500]}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := readAll(t, NewReader(strings.NewReader(tt.in), tt.max).Line)
			if err != io.EOF { //nolint:errorlint // io.EOF must come bare
				t.Errorf("end of stream: %v, want io.EOF", err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("lines (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNextSkipsBlankLines(t *testing.T) {
	t.Parallel()
	got, _ := readAll(t, NewReader(strings.NewReader("\n \t\r\n{}\n\n[]"), 0).Next)
	if diff := cmp.Diff([]string{"{}", "[]"}, got); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

func TestReaderKeepsTheErrorOfTheStream(t *testing.T) {
	t.Parallel()
	broken := errors.New("pipe broke")
	r := NewReader(io.MultiReader(strings.NewReader("a\nhalf"), iotest.ErrReader(broken)), 0)
	got, err := readAll(t, r.Line)
	if diff := cmp.Diff([]string{"a", "half"}, got); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
	if !errors.Is(err, broken) {
		t.Errorf("error %v, want %v", err, broken)
	}
	if _, again := r.Line(); !errors.Is(again, broken) {
		t.Errorf("second error %v, want the same", again)
	}
}

// TestReaderLetsGoOfHugeLines reads a 48 MB line that is within the limit and
// one that is over it, and checks that the heap is small again afterwards.
func TestReaderLetsGoOfHugeLines(t *testing.T) {
	const huge = 48 << 20
	for _, limit := range []int{0, 32 << 20} {
		r := NewReader(io.MultiReader(io.LimitReader(xs{}, huge), strings.NewReader("\nok\n")), limit)
		line, err := r.Line()
		if limit == 0 && (err != nil || len(line) != huge) {
			t.Fatalf("limit %d: %d bytes, error %v", limit, len(line), err)
		}
		if tooLong, ok := errors.AsType[*LineTooLongError](err); limit != 0 && (!ok || tooLong.Length != huge) {
			t.Fatalf("limit %d: error %v", limit, err)
		}
		if line, err = r.Line(); string(line) != "ok" {
			t.Fatalf("limit %d: next line %q, error %v", limit, line, err)
		}
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		if m.HeapAlloc > 16<<20 {
			t.Errorf("limit %d: %d MB of heap after the huge line", limit, m.HeapAlloc>>20)
		}
		runtime.KeepAlive(r)
	}
}

// xs is an endless stream of the letter x.
type xs struct{}

func (xs) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func FuzzReader(f *testing.F) {
	f.Add([]byte("{}\n\r\n[1]\r\nlast"), 3)
	f.Add([]byte("abcdefgh\nx\r\r\n"), 4)
	f.Add([]byte(strings.Repeat("abc\r", 300)+"\n"), 10)
	f.Fuzz(func(t *testing.T, data []byte, limit int) {
		limit = max(1, limit&0x3ff)
		var want []string
		for raw := range bytes.Lines(data) {
			if line := string(trimEnding(raw)); len(line) <= limit {
				want = append(want, line)
			} else {
				want = append(want, fmt.Sprintf("!%d:%s", len(line), line[:min(len(line), prefixMax)]))
			}
		}
		readers := map[string]io.Reader{
			"whole":  bytes.NewReader(data),
			"halves": iotest.HalfReader(bytes.NewReader(data)),
			"bytes":  iotest.OneByteReader(bytes.NewReader(data)),
			"eof":    iotest.DataErrReader(bytes.NewReader(data)),
		}
		for name, src := range readers {
			// A small buffer makes most lines span several reads.
			r := &Reader{src: bufio.NewReaderSize(src, 16), max: limit}
			got, err := readAll(t, r.Line)
			if !errors.Is(err, io.EOF) {
				t.Errorf("%s: end of stream: %v", name, err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s, limit %d (-want +got):\n%s", name, limit, diff)
			}
		}
	})
}

func TestWriterRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in   string
		want error
	}{
		{"{\"a\":\n1}", ErrNewline},
		{"{}\n", ErrNewline},
		{"{}\r", ErrNewline},
		{"{", ErrInvalid},
		{"", ErrInvalid},
		{"{} {}", ErrInvalid},
		{`{"a":"\n"}`, nil},
	}
	for _, tt := range tests {
		var out bytes.Buffer
		if err := NewWriter(&out).WriteRaw([]byte(tt.in)); !errors.Is(err, tt.want) {
			t.Errorf("WriteRaw(%q) = %v, want %v", tt.in, err, tt.want)
		}
		if tt.want != nil && out.Len() > 0 {
			t.Errorf("WriteRaw(%q) was refused but wrote %q", tt.in, out.Bytes())
		}
	}
}

func TestWriterEncode(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	w := NewWriter(&out)
	if err := w.Encode(map[string]any{"a": "x<y\n", "raw": json.RawMessage("[1,\n2]")}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("{\"a\":\"x<y\\n\",\"raw\":[1,2]}\n", out.String()); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
	if err := w.Encode(func() {}); err == nil {
		t.Error("a func was encoded")
	}
}

func TestWriterStopsAfterHalfALine(t *testing.T) {
	t.Parallel()
	w := NewWriter(&halfWriter{})
	first := w.WriteRaw([]byte(`{"a":1}`))
	if !errors.Is(first, io.ErrShortWrite) {
		t.Fatalf("first write: %v, want a short write", first)
	}
	if err := w.WriteRaw([]byte(`1`)); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("second write: %v, want the error of the first", err)
	}
}

type halfWriter struct{}

func (*halfWriter) Write(p []byte) (int, error) { return len(p) / 2, nil }

func TestWriterConcurrent(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer // not locked: the Writer's mutex must do
	w := NewWriter(&out)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 50 {
				if err := w.Encode(strings.Repeat(fmt.Sprint(i), 100)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	got, _ := readAll(t, NewReader(&out, 0).Line)
	if len(got) != 400 {
		t.Errorf("%d lines, want 400", len(got))
	}
	for _, line := range got {
		if !json.Valid([]byte(line)) || strings.Trim(line, line[1:2]+`"`) != "" {
			t.Fatalf("torn line %q", line)
		}
	}
}
