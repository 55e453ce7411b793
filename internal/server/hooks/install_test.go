package hooks

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func claude(t *testing.T) Agent {
	t.Helper()
	a, err := AgentNamed("claude")
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestInstall holds that installing keeps what is there, that installing again changes
// nothing, and that uninstalling leaves the file as it was, byte for byte.
func TestInstall(t *testing.T) {
	t.Parallel()
	a := claude(t)
	for name, before := range map[string]string{
		"empty":         "",
		"an object":     "{}",
		"a strange one": "\t{ }\r\n",
		"settings":      "{\n  \"model\": \"x\",\n\n    \"permissions\": {\"allow\": [\"Bash(ls *)\"]}\n}\n",
		"one line":      `{"model":"x","hooks":{}}`,
		"hooks":         "{\"hooks\": {\n\t\"Stop\": [\n\t\t{\"hooks\": [{\"type\": \"command\", \"command\": \"bell\"}]}\n\t],\n\t\"PreToolUse\": []\n}}",
		"comments":      "{\n  // mine\n  \"model\": \"x\", // and mine\n}\n",
	} {
		dir := t.TempDir()
		path, home := filepath.Join(dir, "settings.json"), filepath.Join(dir, "home")
		if err := os.WriteFile(path, []byte(before), 0o640); err != nil {
			t.Fatal(err)
		}
		if c, err := Install(a, path, "/opt/it's/terret", home); err != nil || len(c.Events) != len(a.Interactions) {
			t.Fatalf("%s: %+v, %v", name, c, err)
		}
		installed := read1(t, path)
		if _, root, err := parse(path, []byte(installed)); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, installed)
		} else if got := strings.Join(commandsAt(root, "Stop"), "\n"); !strings.HasPrefix(got, `'/opt/it'\''s/terret' hook --agent claude Stop`) || strings.Contains(before, "bell") != strings.HasSuffix(got, "\nbell") {
			t.Errorf("%s: Stop runs %s", name, got)
		}
		if events, err := Installed(a, path); err != nil || len(events) != len(a.Interactions) {
			t.Errorf("%s: %v, %v", name, events, err)
		}
		if c, err := Install(a, path, "/opt/it's/terret", home); err != nil || len(c.Events) != 0 || read1(t, path) != installed {
			t.Errorf("%s: again %+v, %v", name, c, err)
		}
		if _, err := Uninstall(a, path, home); err != nil || read1(t, path) != before {
			t.Errorf("%s: %v, it is now\n%q\nwant\n%q", name, err, read1(t, path), before)
		}
		if info, err := os.Stat(path); err != nil || info.Mode() != 0o640 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
}

func read1(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestInstallChanged holds that only our hooks go if others have changed the file since,
// and that a program that has moved is called where it is.
func TestInstallChanged(t *testing.T) {
	t.Parallel()
	a, dir := claude(t), t.TempDir()
	path, home := filepath.Join(dir, "settings.json"), filepath.Join(dir, "home")
	if err := os.WriteFile(path, []byte("{\n  \"model\": \"x\",\n  \"hooks\": {\n    \"Stop\": [{\"hooks\":[{\"type\":\"command\",\"command\":\"bell\"}]}]\n  }\n}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, program := range []string{"/a/terret", "/b/terret"} {
		if c, err := Install(a, path, program, home); err != nil || len(c.Events) == 0 {
			t.Fatal(c, err)
		}
	}
	text := read1(t, path)
	if strings.Contains(text, "/a/terret") || strings.Count(text, "/b/terret") != len(a.Interactions) {
		t.Errorf("it calls\n%s", text)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(text, `"x"`, `"y"`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	want := "{\n  \"model\": \"y\",\n  \"hooks\": {\n    \"Stop\": [{\"hooks\":[{\"type\":\"command\",\"command\":\"bell\"}]}]\n  }\n}\n"
	if _, err := Uninstall(a, path, home); err != nil || read1(t, path) != want {
		t.Errorf("%v, it is now\n%s", err, read1(t, path))
	}
}

// TestInstallNothing holds that a file that was not there is gone again, and that what
// cannot be read is left alone.
func TestInstallNothing(t *testing.T) {
	t.Parallel()
	a, dir := claude(t), t.TempDir()
	path, home := filepath.Join(dir, ".claude", "settings.json"), filepath.Join(dir, "home")
	if _, err := Install(a, path, "/a/terret", home); err != nil {
		t.Fatal(err)
	}
	if _, err := Uninstall(a, path, home); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the file is there: %v", err)
	}
	if c, err := Uninstall(a, path, home); err != nil || len(c.Events) != 0 {
		t.Errorf("%+v, %v", c, err)
	}
	for _, text := range []string{`{"hooks":`, `[]`, `{"hooks":[]}`, `{"hooks":{"Stop":{}}}`} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Install(a, path, "/a/terret", home); err == nil || read1(t, path) != text {
			t.Errorf("%s: %v, it is now %s", text, err, read1(t, path))
		}
	}
}

// TestInstallLink holds that a link to the settings stays one.
func TestInstallLink(t *testing.T) {
	t.Parallel()
	a, dir := claude(t), t.TempDir()
	real, link := filepath.Join(dir, "real.json"), filepath.Join(dir, "settings.json")
	if err := os.WriteFile(real, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, link); err != nil {
		t.Skip(err)
	}
	if _, err := Install(a, link, "/a/terret", filepath.Join(dir, "home")); err != nil {
		t.Fatal(err)
	}
	if to, err := os.Readlink(link); err != nil || to != real || !strings.Contains(read1(t, real), "terret") {
		t.Errorf("%s, %v", to, err)
	}
}
