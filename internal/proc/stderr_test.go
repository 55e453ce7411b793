package proc

import (
	"fmt"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestTail(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 400) // 800 bytes; the cut falls between two
	tests := []struct {
		name, in string
		want     []string
	}{
		{"nothing", "", nil},
		{"lines", "a\r\nb\n", []string{"a", "b"}},
		{"no end", "a\nb", []string{"a", "b"}},
		{"blank", "\n\na", []string{"", "", "a"}},
		{"long", long + "\nb\n", []string{long[:500], "b"}},
		{"long, uneven", "x" + long, []string{"x" + long[:498]}},
		{"not text", "a\xffb\n", []string{"a?b"}},
	}
	for _, tt := range tests {
		var called []string
		tl := &tail{onLine: func(line string) { called = append(called, line) }}
		tl.collect(iotest.OneByteReader(strings.NewReader(tt.in)))
		if diff := cmp.Diff(tt.want, called); diff != "" {
			t.Errorf("%s: lines (-want +got):\n%s", tt.name, diff)
		}
		if diff := cmp.Diff(strings.Join(tt.want, "\n"), tl.String()); diff != "" {
			t.Errorf("%s: tail (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestTailKeepsTheEnd(t *testing.T) {
	t.Parallel()
	tl := &tail{}
	for i := range 20_000 {
		tl.add(fmt.Appendf(nil, "line %d é\n", i))
	}
	tl.add([]byte("unfinished"))
	got := tl.String()
	if len(got) > tailSize+lineCut || len(got) < tailSize/2 {
		t.Errorf("%d bytes kept", len(got))
	}
	if !strings.HasPrefix(got, "line ") || !strings.HasSuffix(got, "line 19999 é\nunfinished") || !utf8.ValidString(got) {
		t.Errorf("kept %q ... %q", got[:20], got[len(got)-40:])
	}
}
