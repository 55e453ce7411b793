package yamlfile

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestFrontmatter(t *testing.T) {
	t.Parallel()
	settings := []Field{{Key: "tools", Line: 2, Text: "Read, Grep"}, {Key: "max_turns", Line: 3, Text: "10"}}
	for name, c := range map[string]struct {
		in     string
		fields []Field
		body   string
	}{
		"nothing":       {"", nil, ""},
		"text only":     {"# Title\n---\nmore\n", nil, "# Title\n---\nmore\n"},
		"a block":       {"---\ntools: Read, Grep\nmax_turns: 10\n---\nText\n", settings, "Text\n"},
		"CRLF":          {"---\r\ntools: Read, Grep\r\nmax_turns: 10\r\n---\r\nText\r\n", settings, "Text\n"},
		"BOM":           {"\uFEFF---\ntools: Read, Grep\nmax_turns: 10\n---\nText", settings, "Text"},
		"trailing":      {"--- \t\ntools: Read, Grep\nmax_turns: 10\n---  \nText", settings, "Text"},
		"no body":       {"---\ntools: Read, Grep\nmax_turns: 10\n---", settings, ""},
		"empty block":   {"---\n---\nText", []Field{}, "Text"},
		"only comments": {"---\n# nothing\n---\nText", []Field{}, "Text"},
		"comment":       {"---\n# first\ntools: Read # and no more\n---\n", []Field{{Key: "tools", Line: 3, Text: "Read"}}, ""},
		"flow list":     {"---\na: [\"Bash(git *)\", Read, 1]\n---\n", []Field{{Key: "a", Line: 2, List: []string{"Bash(git *)", "Read", "1"}}}, ""},
		"block list":    {"---\na:\n  - Read\n  - 'Grep'\nb: x\n---\n", []Field{{Key: "a", Line: 2, List: []string{"Read", "Grep"}}, {Key: "b", Line: 5, Text: "x"}}, ""},
		"empty list":    {"---\na: []\n---\n", []Field{{Key: "a", Line: 2, List: []string{}}}, ""},
		"empty string":  {"---\na: \"\"\n---\n", []Field{{Key: "a", Line: 2}}, ""},
		"many lines":    {"---\na: |\n  one\n  two\nb: x\n---\n", []Field{{Key: "a", Line: 2, Text: "one\ntwo\n"}, {Key: "b", Line: 5, Text: "x"}}, ""},
		"true":          {"---\na: true\n---\n", []Field{{Key: "a", Line: 2, Text: "true"}}, ""},
		"rule below":    {"Text\n---\ntools: Read\n---\n", nil, "Text\n---\ntools: Read\n---\n"},
	} {
		got, err := Frontmatter([]byte(c.in))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(c.fields, got.Fields); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if got.Body != c.body || !strings.HasSuffix(got.Text, got.Body) || strings.Contains(got.Text, "\r") {
			t.Errorf("%s: body %q of %q, want %q", name, got.Body, got.Text, c.body)
		}
	}
}

func TestParseErrors(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in   string
		line int
		want string
	}{
		"not closed":        {"---\ntools: Read\nText\n", 1, "not closed"},
		"closed too late":   {"---\n" + strings.Repeat("# x\n", maxBlock) + "---\n", 0, "more than 16 KB"},
		"blank line before": {"\n---\ntools: Read\n---\n", 2, "alone on the very first line"},
		"indented":          {" ---\ntools: Read\n---\n", 1, "very first line"},
		"unseen before":     {"\u200b---\ntools: Read\n---\n", 1, "very first line"},
		"two marks":         {"\uFEFF\uFEFF---\ntools: Read\n---\n", 1, "very first line"},
		"four dashes":       {"----\ntools: Read\n----\n", 1, "very first line"},
		"words behind":      {"--- tools: Read\n---\n", 1, "very first line"},
		"old line ends":     {"---\rtools: Read\r---\rText", 1, "very first line"},
		"mixed line ends":   {"---\ntools: Read\rmax_turns: 1\n---\n", 2, "invisible"},
		"NUL":               {"---\ntools: Read\n---\n\x00", 4, "NUL"},
		"not UTF-8":         {"one\ntwo \xff\n", 2, "not UTF-8"},
		"UTF-16":            {"\xff\xfe-\x00-\x00-\x00", 1, "not UTF-8"},
		"twice":             {"---\ntools: Read\nx: 1\ntools: Bash\n---\n", 4, "tools"},
		"alias":             {"---\na: &x Read\nb: *x\n---\n", 2, "a must be a single value"},
		"merge":             {"---\n<<: {a: 1}\n---\n", 2, "cannot be a key"},
		"tag":               {"---\na: !!str Read\n---\n", 2, "single value"},
		"nested":            {"---\na:\n  b: c\n---\n", 3, "single value"},
		"list in a list":    {"---\na: [Read, [Grep]]\n---\n", 2, "single value"},
		"no value":          {"---\nx: 1\ntools:\n---\n", 3, "tools has no value"},
		"null":              {"---\ntools: ~\n---\n", 2, "has no value"},
		"null in a list":    {"---\ntools: [Read, null]\n---\n", 2, "has no value"},
		"a list":            {"---\n- Read\n---\n", 2, "settings must be lines"},
		"a word":            {"---\nRead\n---\n", 2, "settings must be lines"},
		"key of a list":     {"---\n[a]: b\n---\n", 2, ""},
		"number as a key":   {"---\n1: b\n---\n", 2, "cannot be a key"},
		"bad indent":        {"---\na: b\n  c: d\n---\n", 0, ""},
		"open bracket":      {"---\ntools: [Read\n---\n", 2, ""},
		"tab":               {"---\na:\n\t- b\n---\n", 3, ""},
		"end of document":   {"---\ntools: Read\n...\nx: y\n---\n", 3, `"..." cannot stand here`},
		"directive":         {"---\n%YAML 1.2\ntools: Read\n---\n", 2, "cannot stand here"},
		"open quote":        {"---\ndescription: \"Looks\ntools: Read\nand more\"\n---\n", 3, "belongs to the setting above"},
		"open list":         {"---\nx: [a,\nb]\n---\n", 3, "belongs to the setting above"},
		"inner document":    {"---\ntools: Read\n--- x\n---\n", 3, "cannot stand here"},
	} {
		got, err := Frontmatter([]byte(c.in))
		e, ok := errors.AsType[*LineError](err)
		if !ok || c.line > 0 && e.Line != c.line || !strings.Contains(e.Message, c.want) {
			t.Errorf("%s: %+v, error %v, want line %d %q", name, got, err, c.line, c.want)
		}
	}
}

func FuzzFrontmatter(f *testing.F) {
	f.Add("tools: Read\n", "x: [a, b]\n")
	f.Add("# \n", "a: |\n  b\n")
	f.Add("a: \"b\n", "c\"\n")
	f.Fuzz(func(t *testing.T, before, after string) {
		// A setting between others is read or the file is refused; it never becomes
		// text, and never vanishes.
		in := fmt.Sprintf("---\n%s\nzz_tools: Read\n%s\n---\nText", before, after)
		doc, err := Frontmatter([]byte(in))
		if err != nil {
			if e, ok := errors.AsType[*LineError](err); !ok || e.Line < 1 || e.Message == "" {
				t.Fatalf("error %v", err)
			}
			return
		}
		found := strings.Contains(doc.Body, "zz_tools") // the block ends before
		for _, f := range doc.Fields {
			found = found || f.Key == "zz_tools"
		}
		if doc.Fields == nil || !found {
			t.Fatalf("%q has become %+v", in, doc)
		}
	})
}
