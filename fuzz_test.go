package terret_test

import (
	"encoding/json"
	"math"
	"strconv"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/terret-dev/terret"
)

// FuzzEventDecode feeds anything to the decoder. It never panics; what it takes
// can be written again as JSON in UTF-8, and from then on stays the same.
func FuzzEventDecode(f *testing.F) {
	for _, e := range examples() {
		f.Add(readGolden(f, e.file()))
	}
	for _, seed := range []string{
		``, `null`, `{}`, `[]`, `{"kind":null}`, `{"kind":"turn.start","data":null}`, `{"kind":"turn.start"}`,
		`{"kind":"x","data":{"a": 1, "a": 2}}`, `{"KIND":"x","Data":[],"data":null}`, `{"kind":"x","raw":"text"}`,
		`{"kind":"turn.complete","data":{"cost_usd":1e999999999}}`, `{"kind":"turn.complete","data":{"cost_usd":-0.0000000005}}`,
		`{"kind":"unknown","time":"2026-03-14T15:09:26.5358979+05:30"}`, `{"kind":"question.decision","data":{"answers":{"q":[]}}}`,
		"{\"kind\":\"unknown\",\"raw\":{\"a\":\"\xff\"}}", "{\"kind\":\"\xff\",\"data\":\"\xff\xfe\"}",
		"{\"kind\":\"tool.pre\",\"data\":{\"input\": [ \"\xc3(\u2028\" ]}}", `{"kind":"x","data":"\ud800"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		var first, second terret.Event
		if first.UnmarshalJSON(in) != nil {
			return
		}
		once, err := first.MarshalJSON()
		if err != nil {
			t.Fatalf("what was decoded cannot be encoded: %v", err)
		}
		if !json.Valid(once) || !utf8.Valid(once) {
			t.Fatalf("not JSON in UTF-8: %q", once)
		}
		if err := second.UnmarshalJSON(once); err != nil {
			t.Fatalf("what was encoded cannot be decoded: %v\n%s", err, once)
		}
		if first.Kind() != second.Kind() || first.Seq != second.Seq {
			t.Errorf("first %s %d, then %s %d", first.Kind(), first.Seq, second.Kind(), second.Seq)
		}
		twice, err := second.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(once), string(twice)); diff != "" {
			t.Errorf("not stable: -once +twice\n%s", diff)
		}
	})
}

// FuzzCost reads any JSON as a cost: it comes near the number it was, and is
// written and read again exactly.
func FuzzCost(f *testing.F) {
	for _, test := range costTests {
		f.Add(test.in)
	}
	for _, in := range costRefused {
		if len(in) < 200 { // longer ones only take the fuzzer's time
			f.Add(in)
		}
	}
	f.Fuzz(func(t *testing.T, in string) {
		var c, again terret.Cost
		if json.Unmarshal([]byte(in), &c) != nil {
			return
		}
		out, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(out, &again); err != nil || again != c {
			t.Errorf("%s is %d nano-dollars, written as %s, read again as %d, %v", in, c, out, again, err)
		}
		var dollars float64
		if err := json.Unmarshal([]byte(in), &dollars); err != nil {
			return // too small for a float
		}
		if off := math.Abs(c.Dollars() - dollars); off > 0.6e-9+math.Abs(dollars)*1e-15 {
			t.Errorf("%s became %s, which is off by %g", in, c, off)
		}
	})
}

// FuzzChoice reads any JSON as an answer: strings and lists of strings are taken
// as they are and survive a round trip.
func FuzzChoice(f *testing.F) {
	for _, seed := range []string{
		`"main"`, `["main","next"]`, `[]`, `["one"]`, `""`, `[""]`, `null`, `[null]`, `12`, `{}`, `["a",1]`, `"a\u2028<&>"`, "\"\xff\"",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		var c, again terret.Choice
		if json.Unmarshal([]byte(in), &c) != nil {
			return
		}
		out, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(out, &again); err != nil {
			t.Fatalf("%s: %v", out, err)
		}
		if diff := cmp.Diff(c, again, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("-first +again\n%s", diff)
		}
		var many []string
		if json.Unmarshal([]byte(in), &many) == nil && many != nil {
			if diff := cmp.Diff(terret.Choice(many), c); diff != "" {
				t.Errorf("-list +choice\n%s", diff)
			}
		}
	})
}

// FuzzCostAmount writes any amount and reads it again.
func FuzzCostAmount(f *testing.F) {
	for _, n := range []int64{0, 1, -1, 10, 999_999_999, 1_000_000_000, -1_500_000_000, 9e18, -9e18} {
		f.Add(n)
	}
	f.Fuzz(func(t *testing.T, n int64) {
		c := terret.Cost(n % 9e18)
		var again terret.Cost
		if err := json.Unmarshal([]byte(c.String()), &again); err != nil || again != c {
			t.Errorf("%d is %s, read as %d, %v", c, c, again, err)
		}
		if _, err := strconv.ParseFloat(c.String(), 64); err != nil {
			t.Error(err)
		}
	})
}
