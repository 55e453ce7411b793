package native_test

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/native"
)

// dot is the smallest image there is.
var dot = func() string {
	b, err := base64.StdEncoding.DecodeString(dot64)
	if err != nil {
		panic(err)
	}
	return string(b)
}()

const dot64 = "R0lGODdhAQABAIAAAAAAAP///ywAAAAAAQABAAACAkQBADs="

const looks = `
steps:
  - {match: {user: look}, answer: {tools: [{name: Read, input: {file_path: dot.gif}}]}}
  - {match: {tool_result: "1 x 1 pixels"}, answer: {text: I see.}}
  - {match: {user: again}, answer: {text: I still do.}}
`

// TestReadImages is that models in all APIs see an image that they read, also those of an
// agent that is opened anew.
func TestReadImages(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		model  func(*terret.Session)
		change func(*setup)
		want   string
	}{
		"messages":  {claude, func(*setup) {}, `"type":"image","source":{"type":"base64","media_type":"image/gif","data":"` + dot64 + `"}`},
		"chat":      {gpt, func(*setup) {}, `"type":"image_url","image_url":{"url":"data:image/gif;base64,` + dot64 + `"}`},
		"responses": {inLab, lab("responses", "/v1"), `"type":"input_image","image_url":"data:image/gif;base64,` + dot64 + `"`},
		"gemini":    {inLab, lab("gemini", ""), `"inlineData":{"mimeType":"image/gif","data":"` + dot64 + `"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, got := simulated(t, looks, c.change)
			f.write("dot.gif", dot)
			id := f.session(c.model)
			events := f.run(id, "look")
			if end := last[terret.TurnComplete](t, events); end.Text != "I see." {
				t.Errorf("%+v", end)
			}
			if post := last[terret.ToolPost](t, events); len(post.Content) != 2 || post.Content[1].Type != terret.BlockImage || string(post.Content[1].Bytes) != dot {
				t.Errorf("%+v", post)
			}
			if err := f.CloseSession(t.Context(), id, ""); err != nil {
				t.Fatal(err)
			}
			f.says(id, "again")
			for i, r := range got.list()[1:] {
				if !strings.Contains(string(r.Body), c.want) {
					t.Errorf("request %d: %s", i+1, r.Body)
				}
			}
		})
	}
}

const limited = `{"models": {
	"anthropic/sim": {"images": false, "cache": false, "thinking": "none"},
	"anthropic/claude-test": {"images": false, "cache": false, "thinking": "none"},
	"openai/gpt-test": {"tools": false, "images": true, "thinking": "none"}}}`

// TestFlagsOfModels is that a model is not sent what it cannot take, and that people can see
// what it can.
func TestFlagsOfModels(t *testing.T) {
	t.Parallel()
	f, got := simulated(t, looks, withPrices(t, limited))
	f.write("dot.gif", dot)
	id := f.session(claude, withOptions(terret.SessionOptions{Effort: "high"}))
	f.says(id, "look")
	turn := f.promptWith(id, terret.Prompt{Blocks: []terret.Block{terret.Text("again"), {Type: terret.BlockImage, MediaType: "image/gif", Bytes: []byte(dot)}}})
	f.end(id, turn.ID)
	for i, r := range got.list() {
		for _, never := range []string{dot64, "cache_control", `"thinking"`, `"effort"`} {
			if strings.Contains(string(r.Body), never) {
				t.Errorf("request %d has %s", i, never)
			}
		}
	}
	if body := string(got.list()[2].Body); strings.Count(body, "There is an attachment that cannot be shown to you") != 2 {
		t.Errorf("%s", body)
	}
	// What there is comes from the API; what it can do, from the table.
	if diff := cmp.Diff(map[string]bool{"images": false, "cache": false, "thinking": false}, canOf(t, f.driver, "anthropic/sim")); diff != "" {
		t.Error(diff)
	}
	deaf := native.New(native.Config{Getenv: func(name string) string {
		return map[string]string{"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": "http://127.0.0.1:1"}[name]
	}})
	if diff := cmp.Diff(map[string]bool{"tools": true, "images": true, "cache": true, "thinking": true}, canOf(t, deaf, "anthropic/claude-opus-5")); diff != "" {
		t.Error(diff)
	}
}

// canOf is what a listed model can do.
func canOf(t *testing.T, d *native.Driver, id string) map[string]bool {
	t.Helper()
	models, err := d.Models(t.Context())
	i := slices.IndexFunc(models, func(m terret.Model) bool { return m.ID == id })
	if err != nil || i < 0 {
		t.Fatalf("%s is not in %+v, %v", id, models, err)
	}
	return models[i].Can
}

// TestModelWithoutTools continues a conversation that has calls with a model that takes none.
func TestModelWithoutTools(t *testing.T) {
	t.Parallel()
	f, got := simulated(t, looks, withPrices(t, limited))
	f.write("dot.gif", dot)
	id := f.session(claude)
	f.says(id, "look")
	model := "openai/gpt-test"
	if err := f.Update(t.Context(), id, terret.SessionUpdated{Model: &model}, "tester"); err != nil {
		t.Fatal(err)
	}
	f.says(id, "again")
	body := string(got.list()[2].Body)
	for _, want := range []string{"[A tool was called: Read with the input", "[The result of the tool]"} {
		if !strings.Contains(body, want) {
			t.Errorf("%q is not in %s", want, body)
		}
	}
	for _, never := range []string{"tool_calls", `"role":"tool"`, `"tools"`} {
		if strings.Contains(body, never) {
			t.Errorf("%s is in %s", never, body)
		}
	}
}
