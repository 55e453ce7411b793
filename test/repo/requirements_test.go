package repo_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

const requirementsFile = "docs/REQUIREMENTS.md"

// requirementSets lists every id that has a row, in the order of the rows:
// prefix1 up to prefixLast, where an item in split has one row for each of
// its letters instead of a row of its own.
var requirementSets = []struct {
	document string
	prefix   string
	last     int
	split    map[int]string
}{
	{document: "Athena", prefix: "A", last: 92},
	{document: "Hive", prefix: "H", last: 65},
	{document: "orchestration", prefix: "O", last: 93},
	{document: "Neovate", prefix: "N", last: 43},
	{document: "Chirality", prefix: "C", last: 159, split: map[int]string{131: "abcdefghijkl"}},
	{document: "conflicts", prefix: "X", last: 32},
}

// TestRequirements holds docs/REQUIREMENTS.md to the ids and to the code.
func TestRequirements(t *testing.T) {
	root := os.DirFS(".")
	markdown, err := fs.ReadFile(root, requirementsFile)
	if err != nil {
		t.Fatal(err)
	}
	rows, faults := checkRequirements(markdown, root)
	for _, fault := range faults {
		t.Errorf("%s: %s", requirementsFile, fault)
	}
	shown := func(prefix string) (shown, all int) {
		for _, row := range rows {
			if strings.HasPrefix(row.id, prefix) {
				all++
				if len(row.shownBy) > 0 {
					shown++
				}
			}
		}
		return shown, all
	}
	for _, set := range requirementSets {
		n, all := shown(set.prefix)
		t.Logf("%s: %d of %d rows shown", set.document, n, all)
	}
	n, all := shown("")
	t.Logf("together: %d of %d rows shown", n, all)
}

// requirementRow is one row of a requirements table.
type requirementRow struct {
	line    int
	id      string
	what    string
	shownBy []string // without backquotes; empty when nothing shows it yet
}

// checkRequirements reads the requirements tables of markdown and says what is
// wrong with them: ids against requirementSets, entries of "shown by" against
// the files of root. It returns all rows, also the faulty ones.
func checkRequirements(markdown []byte, root fs.FS) (rows []requirementRow, faults []string) {
	rows, faults = parseRequirements(markdown)
	faults = append(faults, checkRequirementIDs(rows)...)
	index := testIndex{root: root, packages: map[string]testPackage{}}
	for _, row := range rows {
		if row.what == "" {
			faults = append(faults, fmt.Sprintf("line %d: %s: empty what", row.line, row.id))
		}
		for _, entry := range row.shownBy {
			if err := index.check(entry); err != nil {
				faults = append(faults, fmt.Sprintf("line %d: %s: %v", row.line, row.id, err))
			}
		}
	}
	return rows, faults
}

// parseRequirements gives the rows of every table whose header is
// "id, what, shown by". A table ends at the first line that is not a row.
func parseRequirements(markdown []byte) (rows []requirementRow, faults []string) {
	const outside, header, body = 0, 1, 2
	state, number := outside, 0
	for line := range bytes.Lines(markdown) {
		number++
		cells, isRow := splitCells(string(line))
		switch {
		case !isRow:
			state = outside
		case state == outside:
			if slices.Equal(cells, []string{"id", "what", "shown by"}) {
				state = header
			}
		case state == header:
			state = body
			if strings.Trim(strings.Join(cells, ""), ":-") != "" {
				faults = append(faults, fmt.Sprintf("line %d: no delimiter row under the header", number))
			}
		case len(cells) != 3:
			faults = append(faults, fmt.Sprintf("line %d: %d cells, want 3", number, len(cells)))
		default:
			row := requirementRow{line: number, id: cells[0], what: cells[1]}
			for entry := range strings.SplitSeq(cells[2], ",") {
				entry = strings.TrimSpace(strings.ReplaceAll(entry, "`", ""))
				if entry != "" {
					row.shownBy = append(row.shownBy, entry)
				} else if cells[2] != "" {
					faults = append(faults, fmt.Sprintf("line %d: %s: empty entry in shown by", number, row.id))
				}
			}
			rows = append(rows, row)
		}
	}
	return rows, faults
}

// splitCells gives the trimmed cells of a table row, and false for any other
// line. A bar after a backslash belongs to its cell.
func splitCells(line string) ([]string, bool) {
	const bar = "\x00"
	line = strings.ReplaceAll(strings.TrimSpace(line), `\|`, bar)
	line, ok := strings.CutPrefix(line, "|")
	if !ok {
		return nil, false
	}
	cells := strings.Split(strings.TrimSuffix(line, "|"), "|")
	for i, cell := range cells {
		cells[i] = strings.ReplaceAll(strings.TrimSpace(cell), bar, "|")
	}
	return cells, true
}

// wantedRequirementIDs spells requirementSets out, in order.
func wantedRequirementIDs() []string {
	var ids []string
	for _, set := range requirementSets {
		for n := 1; n <= set.last; n++ {
			id := fmt.Sprint(set.prefix, n)
			if set.split[n] == "" {
				ids = append(ids, id)
			}
			for _, letter := range set.split[n] {
				ids = append(ids, id+string(letter))
			}
		}
	}
	return ids
}

// checkRequirementIDs compares the ids of rows with the wanted ones.
func checkRequirementIDs(rows []requirementRow) (faults []string) {
	wanted := wantedRequirementIDs()
	position := make(map[string]int, len(wanted))
	for i, id := range wanted {
		position[id] = i
	}
	firstLine := make(map[string]int, len(rows))
	furthest := -1
	for _, row := range rows {
		at, known := position[row.id]
		switch {
		case !known:
			faults = append(faults, fmt.Sprintf("line %d: unknown id %q", row.line, row.id))
			continue
		case firstLine[row.id] > 0:
			faults = append(faults, fmt.Sprintf("line %d: %s again, first on line %d", row.line, row.id, firstLine[row.id]))
			continue
		case at < furthest:
			faults = append(faults, fmt.Sprintf("line %d: %s out of order, after %s", row.line, row.id, wanted[furthest]))
		}
		firstLine[row.id] = row.line
		furthest = max(furthest, at)
	}
	for _, id := range wanted {
		if firstLine[id] == 0 {
			faults = append(faults, "no row for "+id)
		}
	}
	return faults
}

// TestCheckRequirements breaks a good table in every way that the check is
// there to find.
func TestCheckRequirements(t *testing.T) {
	root := fstest.MapFS{
		"root_test.go": {Data: []byte("package p_test\nimport \"testing\"\nfunc TestRoot(t *testing.T) { run(\"testdata/script\") }\n")},
		"real/real_test.go": {Data: []byte(`package real
import "testing"

const variable = "TERRET_CONFORMANCE"

func need(t *testing.T) { if os.Getenv(variable) == "" { t.Skip() } }

func TestRealOne(t *testing.T) { need(t) }

func TestOther(t *testing.T) { need(t) }

func TestScripts(t *testing.T) { need(t); run("testdata/agents") }

func TestAlone(t *testing.T) {}
`)},
		"real/real_windows_test.go":    {Data: []byte("package real\nfunc TestWindows(t *testing.T) {}\n")},
		"real/tagged_test.go":          {Data: []byte("//go:build never\n\npackage real\nfunc TestTagged(t *testing.T) {}\n")},
		"real/testdata/agents/a.txtar": {},
		"testdata/idle/run.txtar":      {},
		"scripts/conformance.sh":       {Data: []byte("run \"the real one\" -run '^TestReal' ./real ./a/b\n")},
		"a/b/b_test.go": {Data: []byte(`package b
import "testing"

func TestIt(t *testing.T) {}

func FuzzIt(f *testing.F) {}

func BenchmarkIt(b *testing.B) {}

func ExampleIt() {
	// Output:
}

func ExampleSilent() {}

func TestMain(m *testing.M) {}

func Testing(t *testing.T) {}

func (s suite) TestMethod(t *testing.T) {}

type suite struct{}
`)},
		"a/b/b.go":                   {Data: []byte("package b\nfunc TestElsewhere(t *testing.T) {}\n")},
		"broken/broken_test.go":      {Data: []byte("package")},
		"testdata/script/run.txtar":  {},
		"docs/screenshots/old/1.png": {},
		"docs/screenshots/start.png": {},
		"web/e2e/a.e2e.ts":           {Data: []byte("it(\"it works, and more\", async () => {})\nit.skip(\"it is skipped\", f)\n// it(\"it was\", f)\n")},
	}
	good := func(cells map[string]string) string {
		var b strings.Builder
		b.WriteString("# R\n\n| id | other |\n|---|---|\n| Q1 | not ours |\n\n| id | what | shown by |\n|---|---|---|\n")
		for _, id := range wantedRequirementIDs() {
			fmt.Fprintf(&b, "| %s | a \\| b | %s |\n", id, cells[id])
		}
		return b.String()
	}
	row := func(id string) string { return "| " + id + " | a \\| b |  |\n" }
	replace := func(from, to string) string { return strings.Replace(good(nil), from, to, 1) }
	shown := func(cell string) string { return good(map[string]string{"N7": cell}) }

	for name, test := range map[string]struct {
		markdown string
		want     []string // one for each fault, a part of it; none: no fault
	}{
		"good":            {good(nil), nil},
		"every form":      {shown("`.: TestRoot`, a/b: TestIt/some_case, a/b: FuzzIt, a/b: BenchmarkIt, a/b: ExampleIt, `testdata/script/run.txtar`, docs/screenshots/start.png, web/e2e/a.e2e.ts: it works"), nil},
		"browser tests":   {shown("web/e2e/a.e2e.ts: it does not, web/e2e/b.e2e.ts: it works, web/e2e/a.e2e.ts:"), []string{"it does not", "b.e2e.ts", `no test ""`}},
		"skipped there":   {shown("web/e2e/a.e2e.ts: it is skipped, web/e2e/a.e2e.ts: it was"), []string{"does not run", "does not run"}},
		"real agents":     {shown("real: TestRealOne, real: TestAlone, real: TestOther, real/testdata/agents/a.txtar"), []string{"TestOther is skipped", "TestScripts is skipped"}},
		"elsewhere":       {shown("real: TestWindows, real: TestTagged"), []string{`"TestWindows"`, `"TestTagged"`}},
		"nobody runs it":  {shown("testdata/idle/run.txtar"), []string{"no test of package"}},
		"missing":         {replace(row("C131b"), ""), []string{"no row for C131b"}},
		"unsplit":         {replace(row("C131a"), row("C131")), []string{`unknown id "C131"`, "no row for C131a"}},
		"double":          {replace(row("A5"), row("A5")+row("A5")), []string{"A5 again"}},
		"unknown":         {replace(row("A5"), row("A5")+row("A93")), []string{`unknown id "A93"`}},
		"swapped":         {replace(row("H2")+row("H3"), row("H3")+row("H2")), []string{"H2 out of order, after H3"}},
		"empty what":      {replace(row("O1"), "| O1 |  |  |\n"), []string{"O1: empty what"}},
		"cells":           {replace(row("X32"), "| X32 | a | b | c |\n"), []string{"4 cells", "no row for X32"}},
		"no delimiter":    {replace("| shown by |\n|---|---|---|\n", "| shown by |\n"+row("A1")), []string{"no delimiter row"}},
		"broken table":    {replace(row("X32"), "\n"+row("X32")), []string{"no row for X32"}},
		"empty entry":     {shown("a/b: TestIt,"), []string{"N7: empty entry"}},
		"wrong name":      {shown("a/b: TestThat"), []string{`"TestThat"`}},
		"not a test file": {shown("a/b: TestElsewhere"), []string{`"TestElsewhere"`}},
		"not a test":      {shown("a/b: Testing, a/b: TestMain, a/b: TestMethod"), []string{`"Testing"`, `"TestMain"`, `"TestMethod"`}},
		"silent example":  {shown("a/b: ExampleSilent"), []string{`"ExampleSilent"`}},
		"wrong package":   {shown("a/c: TestIt"), []string{"a/c"}},
		"no test files":   {shown("a: TestIt"), []string{"no test files"}},
		"unreadable":      {shown("broken: TestIt"), []string{"broken/broken_test.go"}},
		"no such file":    {shown("testdata/script/walk.txtar, docs/screenshots/end.png"), []string{"walk.txtar", "end.png"}},
		"a folder":        {shown("docs/screenshots/old"), []string{"is not a file"}},
		"outside":         {shown("../run.txtar, ..: TestRoot"), []string{"../run.txtar", ".."}},
		"no form":         {shown("seen it work"), []string{`"seen it work" is no`}},
	} {
		t.Run(name, func(t *testing.T) {
			rows, faults := checkRequirements([]byte(test.markdown), root)
			if len(rows) < len(wantedRequirementIDs())-1 {
				t.Errorf("%d rows read", len(rows))
			}
			if len(faults) != len(test.want) {
				t.Fatalf("faults %q, want %q", faults, test.want)
			}
			for i, want := range test.want {
				if !strings.Contains(faults[i], want) {
					t.Errorf("fault %q, want %q in it", faults[i], want)
				}
			}
		})
	}
}
