package terret_test

import (
	"encoding/json"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret"
)

var costTests = []struct {
	in   string // JSON, dollars
	want terret.Cost
	out  string // JSON as written; empty: as in
}{
	{"0", 0, ""},
	{"-0", 0, "0"},
	{"0.0", 0, "0"},
	{"1", terret.USD, ""},
	{"-1", -terret.USD, ""},
	{"0.1", 100_000_000, ""},
	{"0.30000000000000004", 300_000_000, "0.3"}, // what 0.1 + 0.2 is in floating point
	{"0.010234567", 10_234_567, ""},
	{"-0.010234567", -10_234_567, ""},
	{"12.5", 12_500_000_000, ""},
	{"100", 100 * terret.USD, ""},
	{"0.000000001", 1, ""},
	{"-0.000000001", -1, ""},
	{"1e-9", 1, "0.000000001"},
	{"1E-9", 1, "0.000000001"},
	{"1e-10", 0, "0"},
	{"-1e-10", 0, "0"},
	{"4.9e-10", 0, "0"},
	{"5e-10", 1, "0.000000001"}, // half is rounded away from zero
	{"-5e-10", -1, "-0.000000001"},
	{"1.4999999999", 1_500_000_000, "1.5"},
	{"1e3", 1000 * terret.USD, "1000"},
	{"1.5e+2", 150 * terret.USD, "150"},
	{"25e-2", 250_000_000, "0.25"},
	{"123456789.123456789", 123_456_789_123_456_789, ""},
	{"9000000000", 9_000_000_000 * terret.USD, ""},
	{"-9000000000", -9_000_000_000 * terret.USD, ""},
	{"1e-999999999", 0, "0"},
	{"0e999999999", 0, "0"},
	{"null", 0, "0"},
}

var costRefused = []string{
	"1e999999999", "-1e999999999", "1e400", "1e99", "9000000001", "-9000000001", "9223372036854775807",
	`"1"`, `""`, `true`, `{}`, `[]`, `[1]`, "1" + strings.Repeat("0", 100), "0." + strings.Repeat("1", 100_000),
}

func TestCostJSON(t *testing.T) {
	for _, test := range costTests {
		var c terret.Cost
		if err := json.Unmarshal([]byte(test.in), &c); err != nil {
			t.Errorf("%s: %v", test.in, err)
			continue
		}
		want := test.out
		if want == "" {
			want = test.in
		}
		out, err := json.Marshal(c)
		if c != test.want || string(out) != want || err != nil {
			t.Errorf("%s is %d nano-dollars, written as %s, %v; want %d, %s", test.in, c, out, err, test.want, want)
		}
	}
	for _, in := range costRefused {
		c := terret.Cost(7)
		if err := json.Unmarshal([]byte(in), &c); err == nil {
			t.Errorf("%.40s became %s", in, c)
		} else if len(err.Error()) > 200 {
			t.Errorf("%.40s: the error has %d bytes", in, len(err.Error()))
		}
		if c != 7 {
			t.Errorf("%.40s: refused, and yet it became %s", in, c)
		}
	}
}

func TestCostString(t *testing.T) {
	for want, c := range map[string]terret.Cost{
		"0": 0, "1": terret.USD, "-1": -terret.USD, "0.5": terret.USD / 2, "-0.000000001": -1,
		"9223372036.854775807": math.MaxInt64, "-9223372036.854775808": math.MinInt64,
	} {
		if got := c.String(); got != want {
			t.Errorf("%d: %s, want %s", int64(c), got, want)
		}
	}
}

// TestCostSumsAreExact adds ten million small amounts where floating point drifts.
func TestCostSumsAreExact(t *testing.T) {
	if tenth, fifth := terret.CostOf(0.1), terret.CostOf(0.2); tenth+fifth != terret.CostOf(0.3) {
		t.Errorf("0.1 + 0.2 = %s", tenth+fifth)
	}
	var sum terret.Cost
	for range 10_000_000 {
		sum += terret.CostOf(0.000003)
	}
	if sum != 30*terret.USD {
		t.Errorf("the sum is %s, want 30", sum)
	}
}

func TestCostOf(t *testing.T) {
	for dollars, want := range map[float64]terret.Cost{
		0: 0, 1: terret.USD, 0.1: 100_000_000, -0.1: -100_000_000, 0.1 + 0.2: 300_000_000,
		1e-9: 1, -1e-9: -1, 1e-10: 0, -1e-10: 0, 6e-10: 1, -6e-10: -1, 1234.567891234: 1_234_567_891_234,
	} {
		if got := terret.CostOf(dollars); got != want {
			t.Errorf("%g: %s, want %s", dollars, got, want)
		}
	}
	if got := (3 * terret.USD / 2).Dollars(); got != 1.5 {
		t.Errorf("Dollars: %g", got)
	}
}

func TestTimeJSON(t *testing.T) {
	for in, want := range map[string]string{
		"2026-03-14T15:09:26Z":                "2026-03-14T15:09:26.000000Z",
		"2026-03-14T15:09:26.5Z":              "2026-03-14T15:09:26.500000Z",
		"2026-03-14T15:09:26.535897932Z":      "2026-03-14T15:09:26.535897Z",
		"2026-03-14T15:09:26.535+05:30":       "2026-03-14T09:39:26.535000Z",
		"2026-03-14T23:59:59.999999999-01:00": "2026-03-15T00:59:59.999999Z",
		"0001-01-01T00:00:00Z":                "0001-01-01T00:00:00.000000Z",
	} {
		var got terret.Time
		if err := json.Unmarshal([]byte(`"`+in+`"`), &got); err != nil {
			t.Errorf("%s: %v", in, err)
			continue
		}
		if out, err := json.Marshal(got); string(out) != `"`+want+`"` || err != nil {
			t.Errorf("%s is written as %s, %v; want %s", in, out, err, want)
		}
	}
	for _, in := range []string{`"yesterday"`, `"2026-03-14"`, `"2026-03-14T15:09:26"`, `1773500966`, `{}`} {
		var got terret.Time
		if err := json.Unmarshal([]byte(in), &got); err == nil {
			t.Errorf("%s was taken for a time: %s", in, got)
		}
	}
}

// TestNowSurvivesRoundTrip shows that a moment equals itself after it was written,
// with == too, so that no test needs a tolerance.
func TestNowSurvivesRoundTrip(t *testing.T) {
	form := regexp.MustCompile(`^"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3,}Z"$`)
	zoned := terret.TimeOf(time.Now().In(time.FixedZone("IST", 19800)))
	for _, moment := range []terret.Time{terret.Now(), zoned, goldenTime, {}} {
		out, err := json.Marshal(moment)
		if err != nil {
			t.Fatal(err)
		}
		if !form.Match(out) {
			t.Errorf("%s is not RFC 3339 in UTC with at least milliseconds", out)
		}
		var again terret.Time
		if err := json.Unmarshal(out, &again); err != nil {
			t.Fatal(err)
		}
		if again != moment {
			t.Errorf("%#v came back as %#v", moment, again)
		}
	}
}

func TestNullString(t *testing.T) {
	type record struct {
		ID terret.NullString `json:"id"`
	}
	for in, want := range map[terret.NullString]string{"": `{"id":null}`, "x": `{"id":"x"}`, "null": `{"id":"null"}`, `"`: `{"id":"\""}`} {
		out, err := json.Marshal(record{in})
		if string(out) != want || err != nil {
			t.Errorf("%q is written as %s, %v; want %s", in, out, err, want)
		}
		var again record
		if err := json.Unmarshal(out, &again); err != nil || again.ID != in {
			t.Errorf("%s is read as %q, %v", out, again.ID, err)
		}
	}
	var empty record
	if err := json.Unmarshal([]byte(`{"id":""}`), &empty); err != nil || empty.ID != "" {
		t.Errorf(`"" is read as %q, %v`, empty.ID, err)
	}
}

func TestChoice(t *testing.T) {
	for _, test := range []struct {
		in   string
		want terret.Choice
		out  string
	}{
		{`"main"`, terret.Choice{"main"}, `"main"`},
		{`["main"]`, terret.Choice{"main"}, `"main"`},
		{`["main","next"]`, terret.Choice{"main", "next"}, `["main","next"]`},
		{`[]`, terret.Choice{}, `[]`},
		{`""`, terret.Choice{""}, `""`},
	} {
		var got terret.Choice
		if err := json.Unmarshal([]byte(test.in), &got); err != nil {
			t.Errorf("%s: %v", test.in, err)
			continue
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", test.in, diff)
		}
		if out, err := json.Marshal(got); string(out) != test.out || err != nil {
			t.Errorf("%s is written as %s, %v; want %s", test.in, out, err, test.out)
		}
	}
	if out, err := json.Marshal(terret.Choice(nil)); string(out) != `[]` || err != nil {
		t.Errorf("nil is written as %s, %v", out, err)
	}
	for _, in := range []string{`1`, `true`, `{}`, `[1]`, `["a",{}]`, `[["a"]]`} {
		var got terret.Choice
		if err := json.Unmarshal([]byte(in), &got); err == nil {
			t.Errorf("%s was taken for an answer: %q", in, got)
		}
	}
}

func TestUsageAddSub(t *testing.T) {
	before := terret.Usage{Input: 1, Output: 2, CacheRead: 3, CacheWrite: 4, Reasoning: 5}
	turn := terret.Usage{Input: 10, Output: 20, CacheRead: 30, CacheWrite: 40, Reasoning: 50}
	after := terret.Usage{Input: 11, Output: 22, CacheRead: 33, CacheWrite: 44, Reasoning: 55}
	if got := before.Add(turn); got != after {
		t.Errorf("Add: %+v", got)
	}
	if got := after.Sub(before); got != turn {
		t.Errorf("Sub: %+v", got)
	}
	if got := turn.Sub(turn); got != (terret.Usage{}) {
		t.Errorf("less itself: %+v", got)
	}
}

func TestCheckWord(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		"": "", "opus": "", "anthropic/claude-5 (new)": "", "a-b": "", "größer": "",
		"-p": "flag", "--model": "flag", "a\nb": "control", "\x1b[2J": "control", "\xff": "control",
	} {
		err := terret.CheckWord("model", value)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want) || terret.AsError(err).Field != "model") {
			t.Errorf("%q: %v", value, err)
		}
	}
}
