package acp

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/seat"
)

// TestPins is that each profile names the version that the suite runs.
func TestPins(t *testing.T) {
	t.Parallel()
	var pins struct {
		Must map[string]string `json:"dependencies"`
		May  map[string]string `json:"optionalDependencies"`
	}
	text, err := os.ReadFile("../../agents/package.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &pins); err != nil {
		t.Fatal(err)
	}
	for _, p := range Profiles() {
		name, version, _ := strings.Cut(strings.TrimPrefix(p.Install, "npm install -g @"), "@")
		want := cmp.Or(pins.Must["@"+name], pins.Must[strings.TrimPrefix(name, "npm install -g ")])
		if p.Name == "goose" {
			version, want = p.Tested, pins.May["@aaif/goose-binary-linux-x64"]
		}
		if p.Tested != want || version != want {
			t.Errorf("%s: tested %s, installs %s, pinned %s", p.Name, p.Tested, version, want)
		}
	}
}

func TestStatusIn(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"API error, status 429: slow down":                                                    429,
		`{"error":{"code":404,"message":"no"}}`:                                               404,
		"Ran into this error: Server error: Server error (529 <unknown status code>) at http": 529,
		"Failed to authenticate. API Error: 403 no":                                           403,
		"401 Unauthorized":          401,
		"unexpected status 500":     500,
		"I read 404 files in 500 s": 0,
		"port 4290 is in use":       0,
		"":                          0,
	} {
		if got := statusIn(text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

func TestAnswerOf(t *testing.T) {
	t.Parallel()
	two := []choice{{"x", "allow_always"}, {"a", "allow_once"}, {"b", "allow_once"}, {"r", "reject_once"}}
	for name, tt := range map[string]struct {
		options []choice
		d       terret.Decision
		want    string
	}{
		"the first of a kind":      {two, terret.Decision{Behavior: terret.BehaviorAllow}, "a"},
		"denied":                   {two, terret.Decision{Behavior: terret.BehaviorDeny}, "r"},
		"interrupted":              {two, terret.Decision{Behavior: terret.BehaviorDeny, Source: terret.ByInterrupt}, ""},
		"a plan":                   {two, terret.Decision{Behavior: terret.BehaviorApprove}, "a"},
		"nothing else to allow":    {two[:1], terret.Decision{Behavior: terret.BehaviorAllow}, "x"},
		"nothing to refuse with":   {two[:2], terret.Decision{Behavior: terret.BehaviorDeny}, ""},
		"no options":               {nil, terret.Decision{Behavior: terret.BehaviorAllow}, ""},
		"a kind that is not known": {[]choice{{"q", "allow_twice"}}, terret.Decision{Behavior: terret.BehaviorAllow}, ""},
	} {
		got := answerOf(tt.options, tt.d)
		if got.Outcome.OptionID != tt.want || (tt.want == "") != (got.Outcome.Outcome == "cancelled") {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestBlocks(t *testing.T) {
	t.Parallel()
	got := string(seat.Encode(blocks([]terret.Block{
		terret.Text("hi"),
		{Type: terret.BlockImage, MediaType: "image/png", Bytes: []byte("x")},
		{Type: terret.BlockImage, URL: "http://x/a.png", Name: "a"},
		{Type: terret.BlockDocument, URL: "http://x/a.pdf", Name: "b"},
		{Type: terret.BlockDocument, MediaType: "text/plain", Name: "c", Bytes: []byte("y")},
	})))
	want := `[{"text":"hi","type":"text"},{"data":"eA==","mimeType":"image/png","type":"image"},` +
		`{"name":"a","type":"resource_link","uri":"http://x/a.png"},{"name":"b","type":"resource_link","uri":"http://x/a.pdf"},` +
		`{"resource":{"blob":"eQ==","mimeType":"text/plain","uri":"file:///c"},"type":"resource"}]`
	if got != want {
		t.Errorf("%s", got)
	}
}

// TestNameOf is the name by which rules know a tool.
func TestNameOf(t *testing.T) {
	t.Parallel()
	q := quirks{idName: "__", titleName: " · ", names: map[string]string{"execute": "bash"}}
	for name, tt := range map[string]struct {
		q quirks
		u call
	}{
		"said":    {q, call{ID: "id__1", Name: "said", Title: "title · x", Kind: "execute"}},
		"id":      {q, call{ID: "id__1", Title: "title · x", Kind: "execute"}},
		"title":   {q, call{ID: "1", Title: "title · x", Kind: "execute"}},
		"bash":    {q, call{ID: "1", Kind: "execute"}},
		"execute": {quirks{}, call{ID: "id__1", Title: "title · x", Kind: "execute"}},
		"a · b":   {quirks{}, call{Title: "a · b"}},
		"tool":    {q, call{}},
	} {
		if got := (&turn{profile: Profile{quirks: tt.q}}).nameOf(tt.u); got != name {
			t.Errorf("%s, want %s", got, name)
		}
	}
}

// TestPlanOf is which requests are about a plan. A plan that a rule could allow as a
// plain tool use would be approved by nobody.
func TestPlanOf(t *testing.T) {
	t.Parallel()
	turn := &turn{profile: Profile{quirks: quirks{planTool: "ExitPlanMode"}}}
	shown := []callContent{{Type: "content", Content: block{Type: "text", Text: "shown"}}}
	for name, tt := range map[string]struct {
		c    tool
		want string
		ok   bool
	}{
		"in the input":     {tool{kind: "switch_mode", input: []byte(`{"plan":"a"}`), content: shown}, "a", true},
		"shown":            {tool{kind: "switch_mode", content: shown}, "shown", true},
		"not there yet":    {tool{kind: "switch_mode", name: "ExitPlanMode"}, "", true},
		"of another mode":  {tool{kind: "switch_mode", name: "Mode"}, "", false},
		"of another class": {tool{kind: "edit", name: "ExitPlanMode", input: []byte(`{"plan":"a"}`)}, "", false},
	} {
		if plan, ok := turn.planOf(&tt.c); ok != tt.ok || plan.Plan != tt.want {
			t.Errorf("%s: %+v, %v", name, plan, ok)
		}
	}
}

// TestLaunchEqual is which turns need another process.
func TestLaunchEqual(t *testing.T) {
	t.Parallel()
	one := launch{servers: terret.JSON(`{}`), dirs: []string{"/a"}, append: "x"}
	for name, other := range map[string]launch{
		"servers": {servers: terret.JSON(`{"mcpServers":{}}`), dirs: one.dirs, append: one.append},
		"folders": {servers: one.servers, dirs: []string{"/b"}, append: one.append},
		"prompt":  {servers: one.servers, dirs: one.dirs, append: "y"},
	} {
		if one.equal(other) || !other.equal(other) {
			t.Errorf("other %s are not noticed", name)
		}
	}
}

func TestServers(t *testing.T) {
	t.Parallel()
	got := string(seat.Encode(servers(terret.JSON(`{"mcpServers":{"b":{"command":"/bin/b"},"a":{"url":"http://x","headers":{"K":"v"}},
		"c":{"command":"c","args":["1"],"env":{"Z":"1","A":"2"}}}}`))))
	want := `[{"headers":[{"name":"K","value":"v"}],"name":"a","type":"http","url":"http://x"},` +
		`{"args":[],"command":"/bin/b","env":[],"name":"b"},` +
		`{"args":["1"],"command":"c","env":[{"name":"A","value":"2"},{"name":"Z","value":"1"}],"name":"c"}]`
	if got != want {
		t.Errorf("%s", got)
	}
	if got := string(seat.Encode(servers(nil))); got != "[]" {
		t.Errorf("without any: %s", got)
	}
}

// TestEnviron holds that an agent sees its own keys and no others, and that trust is
// ours to say.
func TestEnviron(t *testing.T) {
	t.Parallel()
	d := New(gemini(), Config{Env: []string{"MINE_TOKEN"}})
	env := []string{"GEMINI_API_KEY=k", "OTHER_API_KEY=k", "MINE_TOKEN=k", "PLAIN=1", "LANG=C", "GEMINI_CLI_TRUST_WORKSPACE=true", "TERRET_HOME=/x"}
	for trusted, want := range map[bool]string{
		false: "GEMINI_API_KEY=k MINE_TOKEN=k LANG=C PWD=/p",
		true:  "GEMINI_API_KEY=k MINE_TOKEN=k LANG=C PWD=/p GEMINI_CLI_TRUST_WORKSPACE=true",
	} {
		if got := strings.Join(d.environ(env, "/p", trusted), " "); got != want {
			t.Errorf("trusted %v: %s", trusted, got)
		}
	}
}

// TestKeepGeminiFile holds that the file of a session that was begun a moment ago gets
// another name, and no other file does.
func TestKeepGeminiFile(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	dir := filepath.Join(home, ".gemini", "tmp", "p", "chats")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"session-2026-11-15T14-08-0c9076b8.jsonl", "session-2026-11-15T14-03-0c9076b8.jsonl", "session-2026-11-15T14-08-6741f087.jsonl", "session-odd-0c9076b8.jsonl",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	now := time.Date(2026, 11, 15, 14, 8, 59, 0, time.UTC)
	for _, id := range []string{"0c9076b8-6b0b-4714-9640-f07462938d4d", "", "../*"} {
		if err := keepGeminiFile([]string{"HOME=" + home}, id, now); err != nil {
			t.Error(err)
		}
	}
	var got []string
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		got = append(got, e.Name())
	}
	want := []string{
		"session-2026-11-15T14-02-0c9076b8.jsonl", "session-2026-11-15T14-03-0c9076b8.jsonl", "session-2026-11-15T14-08-6741f087.jsonl", "session-odd-0c9076b8.jsonl",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
}

func TestPlannedDiff(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("one\ntwo\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for input, want := range map[string]string{
		`{"path":"a.txt","before":"two","after":"zwei"}`:            "\n-two\n+zwei\n",
		`{"filePath":"a.txt","oldString":"one","newString":"eins"}`: "\n-one\n+eins\n",
		`{"file_path":"new.txt","content":"fresh\n"}`:               "\n+fresh\n",
		`{"path":"a.txt","old_str":"three","new_str":"drei"}`:       "",
		`{"path":"none.txt","old_str":"three","new_str":"drei"}`:    "",
		`{"command":"rm a.txt"}`:                                    "",
		`["odd"]`:                                                   "",
	} {
		turn := newTurn(Profile{}, nil, terret.Settings{}, dir)
		got := turn.diff(&tool{kind: "edit", input: []byte(input)})
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: %q", input, got)
		}
	}
}

// TestFragment holds that a piece of a file is shown where it is.
func TestFragment(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "a.txt")
	for _, now := range []string{"one\ntwo\nthree\n", "one\nzwei\nthree\n"} { // before the change, and after it
		if err := os.WriteFile(file, []byte(now), 0o600); err != nil {
			t.Fatal(err)
		}
		turn := newTurn(Profile{}, nil, terret.Settings{}, "/")
		got := turn.diff(&tool{kind: "edit", content: []callContent{{Type: "diff", Path: file, Old: "two", New: "zwei"}}})
		if !strings.Contains(got, "\n one\n-two\n+zwei\n three\n") {
			t.Errorf("%q", got)
		}
		// What replaces nothing is not a piece of the file.
		got = turn.diff(&tool{kind: "edit", content: []callContent{{Type: "diff", Path: file, New: "vier\n"}}})
		if !strings.Contains(got, "\n+vier\n") || strings.Contains(got, "one") {
			t.Errorf("%q", got)
		}
	}
}

// TestProfiles holds that each says what people need.
func TestProfiles(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, p := range Profiles() {
		if p.Name == "" || names[p.Name] || len(p.Argv) == 0 || p.Install == "" || p.SignIn.Command == "" || len(p.SignIn.Variables) == 0 || p.Can == nil {
			t.Errorf("%+v", p)
		}
		names[p.Name] = true
		c := p.capabilities(*p.Can)
		for _, name := range terret.AllCapabilities() {
			if a := c.Abilities[name]; !a.OK && a.Reason == "" {
				t.Errorf("%s: nobody says why it has no %s", p.Name, name)
			}
		}
	}
}
