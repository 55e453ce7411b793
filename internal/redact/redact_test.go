package redact

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Canaries. None of them is, or ever was, a key.
const (
	canary = "canary/7Xq+9Lw<&>\"Zm\\é-Kd"
	plain  = "cAnArYvAlUe0123456789"
	antKey = "sk-ant-api03-CANARYcanaryCANARYcanary"
	ghKey  = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
	awsKey = "AKIAIOSFODNN7CANARY7"
)

func TestKnownValues(t *testing.T) {
	t.Parallel()
	r := New(map[string]string{"PLAIN_KEY": plain, "ODD_SECRET": canary, "SHORT_TOKEN": "1234567", "PADDED_KEY": " \n" + plain + "x\n"})
	quoted := func(s string) string {
		b, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	std, raw := base64.StdEncoding, base64.RawURLEncoding
	for name, c := range map[string]struct{ in, want string }{
		"as it is":           {"key " + plain + ".", "key [redacted:PLAIN_KEY]."},
		"twice":              {plain + plain, "[redacted:PLAIN_KEY][redacted:PLAIN_KEY]"},
		"odd place":          {"1" + plain, "1[redacted:PLAIN_KEY]"},
		"longer one wins":    {plain + "x", "[redacted:PADDED_KEY]"},
		"odd value":          {"a " + canary + " b", "a [redacted:ODD_SECRET] b"},
		"in JSON":            {`{"a":` + quoted(canary) + `}`, `{"a":"[redacted:ODD_SECRET]"}`},
		"in JSON in JSON":    {quoted(`{"a":` + quoted(canary) + `}`), `"{\"a\":\"[redacted:ODD_SECRET]\"}"`},
		"plain JSON":         {`"` + jsonPlain(canary) + `"`, `"[redacted:ODD_SECRET]"`},
		"ASCII JSON":         {`"` + jsonASCII(canary) + `"`, `"[redacted:ODD_SECRET]"`},
		"JSON with \\/":      {`"` + slashes(canary) + `"`, `"[redacted:ODD_SECRET]"`},
		"in a query":         {"?k=" + url.QueryEscape(canary), "?k=[redacted:ODD_SECRET]"},
		"base64":             {std.EncodeToString([]byte(canary)), "[redacted:ODD_SECRET]"},
		"hex":                {"00" + hex.EncodeToString([]byte(canary)), "00[redacted:ODD_SECRET]"},
		"hex, large":         {strings.ToUpper(hex.EncodeToString([]byte(canary))), "[redacted:ODD_SECRET]"},
		"base64 for URLs":    {raw.EncodeToString([]byte(canary)), "[redacted:ODD_SECRET]"},
		"after Bearer":       {"Authorization: Bearer " + plain, "Authorization: Bearer [redacted:PLAIN_KEY]"},
		"too short":          {"1234567", "1234567"},
		"nothing":            {"", ""},
		"one byte":           {"c", "c"},
		"only the beginning": {plain[:len(plain)-1], plain[:len(plain)-1]},
	} {
		if got := r.String(c.in); got != c.want {
			t.Errorf("%s: %q became %q, want %q", name, c.in, got, c.want)
		}
		if got := string(r.Bytes([]byte(c.in))); got != c.want {
			t.Errorf("%s: as bytes: %q", name, got)
		}
	}
}

// In base64 the value looks different after one, two or three other bytes.
func TestInsideBase64(t *testing.T) {
	t.Parallel()
	r := New(map[string]string{"K": plain})
	for _, around := range []string{"", "a", "ab", "abc", "user:", "user:x"} {
		for _, e := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding, base64.RawStdEncoding} {
			in := e.EncodeToString([]byte(around + plain + around))
			got := r.String(in)
			if !strings.Contains(got, "[redacted:K]") || len(got) > len("[redacted:K]")+len(in)-len(plain)*4/3+2 {
				t.Errorf("%q in base64: %q became %q", around, in, got)
			}
		}
	}
}

// Programs differ in which characters they escape in URLs, and in how they write them.
func TestInURLs(t *testing.T) {
	t.Parallel()
	r := New(map[string]string{"K": "Eby8/vdM02+xNO cqFl!~*('q)$&,;:=@tUw=="})
	for program, in := range map[string]string{
		"encodeURIComponent":  "Eby8%2FvdM02%2BxNO%20cqFl!~*('q)%24%26%2C%3B%3A%3D%40tUw%3D%3D",
		"encodeURI":           "Eby8/vdM02+xNO%20cqFl!~*('q)$&,;:=@tUw==",
		"URLSearchParams":     "Eby8%2FvdM02%2BxNO+cqFl%21%7E*%28%27q%29%24%26%2C%3B%3A%3D%40tUw%3D%3D",
		"Python's quote":      "Eby8/vdM02%2BxNO%20cqFl%21~%2A%28%27q%29%24%26%2C%3B%3A%3D%40tUw%3D%3D",
		"Python's quote_plus": "Eby8%2FvdM02%2BxNO+cqFl%21~%2A%28%27q%29%24%26%2C%3B%3A%3D%40tUw%3D%3D",
		"curl":                "Eby8%2FvdM02%2BxNO%20cqFl%21~%2A%28%27q%29%24%26%2C%3B%3A%3D%40tUw%3D%3D",
		"small letters":       "Eby8%2fvdM02%2bxNO%20cqFl%21~%2a%28%27q%29%24%26%2c%3b%3a%3d%40tUw%3d%3d",
	} {
		if got := r.String("k=" + in); got != "k=[redacted:K]" {
			t.Errorf("%s: %s", program, got)
		}
	}
}

func TestShapes(t *testing.T) {
	t.Parallel()
	r := New(nil)
	for in, want := range map[string]string{
		antKey:                                          "[redacted]",
		"key=" + antKey + ", and":                       "key=[redacted], and",
		`{"k":"x\n` + antKey + `\n"}`:                   `{"k":"x\n[redacted]\n"}`,
		"task" + antKey[2:]:                             "ta[redacted]", // precise enough to need no word
		"sk-proj-abcdefghij0123456789":                  "[redacted]",
		`\nsk-proj-abcdefghij0123456789`:                `\n[redacted]`,
		`\u003csk-0123456789abcdefghij01`:               `\u003c[redacted]`,
		"https://x:" + ghKey + "@github.com":            "https://x:[redacted]@github.com",
		"github_pat_11ABCDEFG0123456789_abcdefghijklmn": "[redacted]",
		"glpat-abcdefghij0123456789":                    "[redacted]",
		"xoxb-123456789012-abcdefghijkl":                "[redacted]",
		"AWS " + awsKey + " here":                       "AWS [redacted] here",
		"AIzaSyA0123456789abcdefghijklmnopqrstuv":       "[redacted]",
		"Authorization: Bearer abc.DEF-123_456~789/0==": "Authorization: Bearer [redacted]",
		"authorization: bearer 0123456789abcdef":        "authorization: bearer [redacted]",
		// Not keys.
		"task-management-for-teams-2024-edition": "task-management-for-teams-2024-edition",
		"sk-spinner-double-bounce-child":         "sk-spinner-double-bounce-child",
		"Bearer authentication-is-required":      "Bearer authentication-is-required",
		"the bearer of this letter":              "the bearer of this letter",
		"xAKIAIOSFODNN7CANARY7":                  "xAKIAIOSFODNN7CANARY7",
		awsKey + "8":                             awsKey + "8",
		"ghp_short":                              "ghp_short",
		"sk-":                                    "sk-",
	} {
		if got := r.String(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

func TestOverlappingSecrets(t *testing.T) {
	t.Parallel()
	r := New(map[string]string{"A": "abcdefgh", "B": "efghijkl"})
	if got, want := r.String("-abcdefghijkl-"), "-[redacted:A]-"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestMarksGiveNothingAway(t *testing.T) {
	t.Parallel()
	r := New(map[string]string{"my-password-1": "my-password-1", "a\"b": "0123456789", "": "abcdefghij"})
	if got, want := r.String(`my-password-1 0123456789 abcdefghij`), "[redacted] [redacted] [redacted]"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestBytesReturnsItsArgument(t *testing.T) {
	t.Parallel()
	r := New(map[string]string{"K": plain})
	for _, clean := range [][]byte{nil, {}, []byte("clean text")} {
		got := r.Bytes(clean)
		if len(got) != len(clean) || len(got) > 0 && &got[0] != &clean[0] || (got == nil) != (clean == nil) {
			t.Errorf("%q was copied", clean)
		}
	}
	dirty := []byte("x " + plain)
	if r.Bytes(dirty); string(dirty) != "x "+plain {
		t.Error("the argument was changed")
	}
}

func TestFromEnv(t *testing.T) {
	t.Parallel()
	got := FromEnv([]string{
		"A_SECRET=1", "A_PASSWORD=2", "A_CREDENTIAL=3", "A_CREDENTIALS=4", "A_KEY=5", "A_TOKEN=6", "A_API_KEY=7=7",
		"DATABASE_URL=8", "REDIS_URL=9", "lower_token=10", "TOKEN=11", "PGPASSWORD=12",
		"PATH=/bin", "KEYBOARD=us", "MONKEY=x", "MAX_TOKENS=5", "HOME=/root", "broken_KEY", "",
	})
	want := map[string]string{
		"A_SECRET": "1", "A_PASSWORD": "2", "A_CREDENTIAL": "3", "A_CREDENTIALS": "4", "A_KEY": "5", "A_TOKEN": "6",
		"A_API_KEY": "7=7", "DATABASE_URL": "8", "REDIS_URL": "9", "lower_token": "10", "TOKEN": "11", "PGPASSWORD": "12",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestArgs(t *testing.T) {
	t.Parallel()
	r := New(map[string]string{"ANTHROPIC_API_KEY": plain})
	argv := []string{
		"claude", "-p", "use " + plain, "--api-key=x1", "--token", "x2", "--token", "--verbose", "--max-tokens=100",
		"--env=DB_PASSWORD=x3", "MY_SECRET=x4", "sh", "-c", `A=1 X_TOKEN="x 5" run`, "-H", "X-Api-Key: x6",
		"--header=Authorization: Basic x7", `--mcp-config={"env": {"GITHUB_TOKEN": "x\"8", "HOME": "/root"}}`,
		"--resume=0199", "-H", "Accept: */*", antKey, "P_TOKEN=un\"quo'ted x", "--password",
	}
	before := append([]string(nil), argv...)
	want := []string{
		"claude", "-p", "use [redacted:ANTHROPIC_API_KEY]", "--api-key=[redacted]", "--token", "[redacted]", "--token", "--verbose", "--max-tokens=100",
		"--env=DB_PASSWORD=[redacted]", "MY_SECRET=[redacted]", "sh", "-c", `A=1 X_TOKEN=[redacted] run`, "-H", "X-Api-Key: [redacted]",
		"--header=Authorization: [redacted]", `--mcp-config={"env": {"GITHUB_TOKEN": "[redacted]", "HOME": "/root"}}`,
		"--resume=0199", "-H", "Accept: */*", "[redacted]", "P_TOKEN=[redacted]", "--password",
	}
	if diff := cmp.Diff(want, r.Args(argv)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(before, argv); diff != "" {
		t.Errorf("argv was changed: %s", diff)
	}
}
