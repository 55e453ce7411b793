package guard

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseOwner(t *testing.T) {
	t.Parallel()
	tests := []struct {
		mark string
		want owner
		ok   bool
	}{
		{"w:12:345", owner{"w", 12, 345}, true},
		{"host:9:w:12:345", owner{"host:9:w", 12, 345}, true},
		{":12:345", owner{"", 12, 345}, true},
		{"12:345", owner{}, false},
		{"w:x:345", owner{}, false},
		{"w:0:345", owner{}, false},
		{"w:-4:345", owner{}, false},
		{"w:12:", owner{}, false},
		{"", owner{}, false},
	}
	for _, tt := range tests {
		got, ok := parseOwner(tt.mark)
		if ok != tt.ok {
			t.Errorf("parseOwner(%q) ok = %v", tt.mark, ok)
		}
		if ok && got != tt.want {
			t.Errorf("parseOwner(%q) = %v, want %v", tt.mark, got, tt.want)
		}
		if ok && got.String() != tt.mark {
			t.Errorf("%q is written back as %q", tt.mark, got)
		}
	}
}

func TestParseMarks(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, environ string
		want          marks
		ok            bool
	}{
		{"none", "A=1\x00B=2\x00", marks{}, false},
		{"agent", "A=1\x00TERRET_GUARD=abc.42\x00TERRET_OWNER=w:1:2\x00", marks{owner{"w", 1, 2}, "abc", "42", false}, true},
		{"guard", "TERRET_OWNER=w:1:2\x00TERRET_GUARD_FOR=abc.42", marks{owner{"w", 1, 2}, "abc", "42", true}, true},
		{"owner only", "TERRET_OWNER=w:1:2", marks{owner: owner{"w", 1, 2}}, true},
		{"inside another value", "A=TERRET_OWNER=w:1:2\x00XTERRET_OWNER=w:1:2\x00", marks{}, false},
		{"malformed", "TERRET_OWNER=w\x00", marks{}, false},
	}
	for _, tt := range tests {
		got, ok := parseMarks([]byte(tt.environ))
		if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(marks{}, owner{})); diff != "" || ok != tt.ok {
			t.Errorf("%s: ok %v (-want +got):\n%s", tt.name, ok, diff)
		}
	}
}

func TestSpecRoundTrip(t *testing.T) {
	t.Parallel()
	want := &spec{
		cgroup: "/sys/fs/cgroup/a b/terret-1",
		path:   "/bin/sh", dir: "/", argv: []string{"sh", "", "\xff\n"},
		env: []string{"A=1", "", "B=\xfe"}, grace: -5, keep: true,
	}
	var pipe bytes.Buffer
	if err := writeFrame(&pipe, frameSpec, want.encode()); err != nil {
		t.Fatal(err)
	}
	f, err := readFrame(&pipe)
	if err != nil {
		t.Fatal(err)
	}
	got, err := decodeSpec(f)
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(spec{})); err != nil || diff != "" {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
}

func FuzzDecodeSpec(f *testing.F) {
	s := spec{path: "/bin/sh", dir: "/", argv: []string{"sh"}, env: []string{"A=1"}}
	f.Add(s.encode())
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, body []byte) {
		got, err := decodeSpec(frame{kind: frameSpec, body: body})
		if err == nil && len(got.argv) == 0 {
			t.Error("a start request without arguments was accepted")
		}
	})
}
