package brief_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/terret-dev/terret/internal/brief"
)

func TestLine(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                       "",
		"ls\nrm -rf x":           "ls↵rm -rf x",
		"a\tb\rc\x1b[2Kd":        "a b\uFFFDc\uFFFD[2Kd",
		"evil\u202Etxt.exe":      "evil\uFFFDtxt.exe",
		"bad\xffbyte":            "bad\uFFFDbyte",
		strings.Repeat("é", 200): strings.Repeat("é", 200),
		strings.Repeat("é", 201): strings.Repeat("é", 200) + "…",
	} {
		if got := brief.Line(in); got != want {
			t.Errorf("%q is %q, want %q", in, got, want)
		}
	}
}

func TestCut(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in   string
		n    int
		want string
	}{{"héllo", 2, "hé"}, {"hi", 5, "hi"}, {"", 3, ""}, {"abc", 0, ""}, {"𝄞𝄞𝄞", 2, "𝄞𝄞"}, {strings.Repeat("x", 1<<20), 3, "xxx"}} {
		if got := brief.Cut(c.in, c.n); got != c.want {
			t.Errorf("%.10q cut to %d is %q", c.in, c.n, got)
		}
	}
}

func TestPath(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for in, want := range map[string]string{
		filepath.Join(dir, "a", "b"): filepath.Join("a", "b"),
		filepath.Dir(dir):            filepath.Dir(dir),
		"a":                          "a",
		"":                           "",
	} {
		if got := brief.Path(in, dir); got != want {
			t.Errorf("%q is %q, want %q", in, got, want)
		}
	}
}
