package tui

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/terret-dev/terret"
)

func TestImagePaths(t *testing.T) {
	t.Parallel()
	for in, want := range map[string][]string{
		"/a/b.png":                     {"/a/b.png"},
		" '/a/my shot.PNG' \n":         {"/a/my shot.PNG"},
		`"/a/my shot.jpg"`:             {"/a/my shot.jpg"},
		`/a/my\ shot\ \(2\).webp`:      {"/a/my shot (2).webp"},
		`'/a/it'\''s.gif' /b.jpeg`:     {"/a/it's.gif", "/b.jpeg"},
		"/a/Screen shot.png":           {"/a/Screen shot.png"},
		"file:///a/my%20shot.png":      {"/a/my shot.png"},
		"~/x.png":                      {"~/x.png"},
		"x.png":                        {"x.png"},
		"https://example.org/x.png":    nil,
		"look at /a/b.png":             nil,
		"/a/b.png and /c.png":          {"/a/b.png and /c.png"}, // a file may have such a name
		"/a/b.txt":                     nil,
		"'/a/b.png":                    nil,
		"":                             nil,
		"file://elsewhere/a/shot.png":  nil,
		"/a/b.png\nand more text":      nil,
		"the picture is \"x.png\" now": nil,
	} {
		if got := imagePaths(in); !slices.Equal(got, want) {
			t.Errorf("%q is %q, want %q", in, got, want)
		}
	}
}

const pixel = "\x89PNG\r\n\x1a\n and so on"

// imageful is a workspace whose agent takes pictures, and a folder with some.
func imageful(t *testing.T) (*model, *server, string) {
	t.Helper()
	m := screenOf(t, 100, 24, "none", nil)
	m.agents = []terret.Probe{{Agent: "claude", Found: true, Capabilities: terret.Capabilities{Abilities: map[terret.Capability]terret.Ability{terret.CanAttachments: {OK: true}}}}}
	s := connectedTo(t, m)
	s.reply = map[string]string{"GET /v1/files/raw": pixel, "GET /v1/sessions/s1/queue": `{"items":[]}`}
	dir := t.TempDir()
	for name, text := range map[string]string{"my shot.png": pixel, "b.png": pixel, "no.png": "text", "big.png": pixel + strings.Repeat("x", maxImages)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return m, s, dir
}

// TestImages holds that a picture whose path is pasted goes with the prompt, that Backspace
// removes it, and that what cannot be sent stays a path.
func TestImages(t *testing.T) {
	t.Parallel()
	m, s, dir := imageful(t)
	paste := func(text string) { perform(m, m.update(tea.PasteMsg{Content: text})) }
	write(m, "what is this? ")
	paste("'" + dir + "/my shot.png' " + dir + "/b.png")
	if got := seen(t, m); !strings.Contains(got, "   image: my shot.png 18 B\n") || !strings.Contains(got, "   image: b.png 18 B · Backspace on the empty line removes it") || m.compose.Text != "what is this? " {
		t.Errorf("%q is written:\n%s", m.compose.Text, got)
	}
	s.reply["POST /v1/sessions/s1/turns"] = "none" // which is no answer
	perform(m, press(m, "enter"))
	if m.compose.Text != "what is this?" || len(m.compose.images) != 2 {
		t.Errorf("what was not sent is lost: %q with %d pictures", m.compose.Text, len(m.compose.images))
	}
	delete(s.reply, "POST /v1/sessions/s1/turns")
	m.compose.clear()
	m.press(tea.KeyPressMsg{Code: tea.KeyBackspace})
	if len(m.compose.images) != 1 {
		t.Errorf("%d pictures are left", len(m.compose.images))
	}
	perform(m, press(m, "enter")) // without words
	want := `POST /v1/sessions/s1/turns {"blocks":[{"bytes":"iVBORw0KGgogYW5kIHNvIG9u","media_type":"image/png","name":"my shot.png","type":"image"}],"when":"queue"}`
	if !slices.Contains(s.said, want) || len(m.compose.images) > 0 {
		t.Errorf("%q was not asked of the server:\n%s", want, strings.Join(s.said, "\n"))
	}

	for text, why := range map[string]string{"no.png": "no.png is no picture", "big.png": "big.png is larger than 20.0 MB", "none.png": "", ".": ""} {
		m.compose.clear()
		paste(filepath.Join(dir, text))
		if m.compose.Text != filepath.Join(dir, text) || len(m.compose.images) > 0 || why != "" && !strings.Contains(seen(t, m), why) {
			t.Errorf("%s became %q:\n%s", text, m.compose.Text, seen(t, m))
		}
	}
	m.compose.clear()
	m.agents[0].Capabilities = terret.Capabilities{}
	if paste(dir + "/b.png"); m.compose.Text != dir+"/b.png" {
		t.Errorf("an agent that takes no pictures gets %q", m.compose.Text)
	}
}

// TestImageOfFolder holds that a picture of the folder is attached once it is completed, and
// stays with the draft of its session.
func TestImageOfFolder(t *testing.T) {
	t.Parallel()
	m, s, _ := imageful(t)
	s.reply["GET /v1/files/find"] = `{"items":[{"path":"docs/logo.png","type":"file"},{"path":"docs","type":"dir"}]}`
	write(m, "see ")
	perform(m, press(m, "@"))
	cmd := press(m, "enter")
	if m.compose.reading != 1 || m.compose.Text != "see @docs/logo.png " {
		t.Errorf("%q while it is read", m.compose.Text)
	}
	if press(m, "enter"); m.compose.Text == "" {
		t.Error("it was sent before the picture was there")
	}
	write(m, "please")
	perform(m, cmd)
	if m.compose.Text != "see please" || m.compose.At != len("see please") || len(m.compose.images) != 1 || m.compose.images[0].name != "logo.png" {
		t.Errorf("%q with %d pictures, at %d", m.compose.Text, len(m.compose.images), m.compose.At)
	}
	m.begin()
	if len(m.compose.images) > 0 {
		t.Error("the picture goes along to a new session")
	}
	m.show(record("s1", "x", "/src", terret.SessionIdle), nil)
	if m.compose.Text != "see please" || len(m.compose.images) != 1 {
		t.Errorf("back: %q with %d pictures", m.compose.Text, len(m.compose.images))
	}
}
