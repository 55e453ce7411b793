package terret_test

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/terret-dev/terret"
)

var uuid7 = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)

var prefixes = []string{
	terret.PrefixTurn, terret.PrefixRequest, terret.PrefixCheckpoint,
	terret.PrefixMessage, terret.PrefixRule, terret.PrefixWorker, terret.PrefixControl,
}

func TestNewID(t *testing.T) {
	for _, prefix := range append(prefixes, "") {
		id := terret.NewID(prefix)
		bare, ok := strings.CutPrefix(id, prefix)
		if !ok || !uuid7.MatchString(bare) {
			t.Errorf("%s is not %q and a UUID of version 7", id, prefix)
		}
		if !terret.ValidID(prefix, id) {
			t.Errorf("ValidID refuses %s", id)
		}
	}
	if id := terret.NewSessionID(); !uuid7.MatchString(id) || !terret.ValidID("", id) {
		t.Errorf("session id %s is not a bare UUID of version 7", id)
	}
}

func TestMessageUUID(t *testing.T) {
	session := terret.NewSessionID()
	bare := terret.NewSessionID()
	for id, want := range map[string]string{bare: bare, "msg_" + bare: bare, strings.ToUpper(bare): strings.ToUpper(bare)} {
		if got := terret.MessageUUID(session, id); got != want {
			t.Errorf("%s becomes %s", id, got)
		}
	}
	made := terret.MessageUUID(session, "msg_01")
	if !terret.ValidID("", made) || made != terret.MessageUUID(session, "msg_01") {
		t.Errorf("msg_01 becomes %s", made)
	}
	if made == terret.MessageUUID(session, "msg_02") || made == terret.MessageUUID(bare, "msg_01") {
		t.Errorf("%s is not unique", made)
	}
}

// TestDerivedID holds that ids which are stored somewhere do not change.
func TestDerivedID(t *testing.T) {
	id := terret.DerivedID(terret.PrefixTurn, "a", "b")
	if want := "trn_59b271ae-1bbc-81d3-9d41-929817f4b16f"; id != want || !terret.ValidID(terret.PrefixTurn, id) {
		t.Errorf("a and b make %s, want %s", id, want)
	}
	if id == terret.DerivedID(terret.PrefixTurn, "ab") {
		t.Errorf("%s is not unique", id)
	}
}

// TestNewIDHoldsTheTime reads the clock out of an id.
func TestNewIDHoldsTheTime(t *testing.T) {
	id := terret.NewSessionID()
	var ms int64
	for _, c := range strings.ReplaceAll(id, "-", "")[:12] {
		ms = ms<<4 | int64(strings.IndexRune("0123456789abcdef", c))
	}
	// Ids may run ahead of the clock when many are made within a millisecond, as
	// other tests do.
	if off := time.Since(time.UnixMilli(ms)); off < -time.Minute || off > time.Minute {
		t.Errorf("%s is %s old", id, off)
	}
}

// TestNewIDConcurrently makes 200,000 ids in rounds of 8 goroutines. Each
// goroutine's ids rise, all of a round come before all of the next, and none is
// made twice.
func TestNewIDConcurrently(t *testing.T) {
	const goroutines, rounds, each = 8, 10, 2500
	all := make([]string, 0, goroutines*rounds*each)
	last := ""
	for range rounds {
		var made [goroutines][]string
		var wg sync.WaitGroup
		for g := range made {
			wg.Go(func() {
				for range each {
					made[g] = append(made[g], terret.NewID(terret.PrefixTurn))
				}
			})
		}
		wg.Wait()
		for g, ids := range made {
			if !slices.IsSorted(ids) {
				t.Errorf("the ids of goroutine %d do not rise", g)
			}
			if ids[0] <= last {
				t.Errorf("%s comes before %s of the round before", ids[0], last)
			}
		}
		round := slices.Concat(made[:]...)
		slices.Sort(round)
		all = append(all, round...)
		last = round[len(round)-1]
	}
	if n := len(slices.Compact(all)); n != goroutines*rounds*each {
		t.Errorf("%d ids are unique of %d", n, goroutines*rounds*each)
	}
}

func TestValidIDRefuses(t *testing.T) {
	const good = "0195e0c4-8b1e-7a3c-9d2f-4e5a6b7c8d9e"
	if !terret.ValidID("", good) || !terret.ValidID("trn_", "trn_"+good) {
		t.Fatal("a good id is refused")
	}
	for name, test := range map[string]struct{ prefix, id string }{
		"empty":             {"", ""},
		"only a prefix":     {"trn_", "trn_"},
		"flag":              {"", "-rf"},
		"flag of length 36": {"", "--" + good[2:]},
		"path":              {"", "../x"},
		"path of length 36": {"", "../" + good[3:]},
		"slash":             {"", good[:20] + "/" + good[21:]},
		"pattern":           {"", good[:35] + "*"},
		"upper case":        {"", strings.ToUpper(good)},
		"one upper case":    {"", good[:35] + "E"},
		"upper case prefix": {"trn_", "TRN_" + good},
		"wrong prefix":      {"trn_", "req_" + good},
		"no prefix":         {"trn_", good},
		"a prefix too many": {"", "trn_" + good},
		"prefix twice":      {"trn_", "trn_trn_" + good},
		"NUL":               {"", good[:35] + "\x00"},
		"NUL behind":        {"", good + "\x00"},
		"newline behind":    {"", good + "\n"},
		"space before":      {"", " " + good},
		"no hyphens":        {"", strings.ReplaceAll(good, "-", "")},
		"hyphen for digit":  {"", good[:35] + "-"},
		"digit for hyphen":  {"", strings.Replace(good, "-", "0", 1)},
		"not hex":           {"", good[:35] + "g"},
		"too short":         {"", good[:35]},
		"too long":          {"", good + "0"},
		"braces":            {"", "{" + good + "}"},
		"not ASCII":         {"", good[:34] + "é"},
		"wide digits":       {"", strings.Repeat("１", 12)},
	} {
		if terret.ValidID(test.prefix, test.id) {
			t.Errorf("%s: ValidID(%q, %q) takes it", name, test.prefix, test.id)
		}
	}
}
