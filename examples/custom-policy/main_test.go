package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestHouse lets the demo model do more than the house allows.
func TestHouse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{".env": "secret\n", "a.txt": "one\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out, audit bytes.Buffer
	prompt := "read a.txt, then read .env, then create .github/x.yaml containing x, then replace one with two in a.txt, then create b.txt containing b"
	if err := run(t.Context(), "demo", prompt, dir, 1, &out, &audit); err != nil {
		t.Fatalf("%v\n%s", err, audit.String())
	}
	var behaviors []string
	for line := range strings.Lines(audit.String()) {
		_, rest, _ := strings.Cut(line, `"behavior":"`)
		behavior, _, _ := strings.Cut(rest, `"`)
		behaviors = append(behaviors, behavior)
	}
	if got := strings.Join(behaviors, " "); got != "allow deny deny allow deny" {
		t.Errorf("%s\n%s\n%s", got, audit.String(), out.String())
	}
	if strings.Contains(out.String(), "secret") {
		t.Errorf("the secret was read:\n%s", out.String())
	}
	text, err := os.ReadFile(filepath.Join(dir, "a.txt"))
	if err != nil || string(text) != "two\n" {
		t.Errorf("%q, %v", text, err)
	}
	for _, name := range []string{"b.txt", ".github/x.yaml"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			t.Errorf("%s was made", name)
		}
	}
}
