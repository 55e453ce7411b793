package httpapi_test

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/server/access"
)

func skill(files ...map[string]any) map[string]any {
	return map[string]any{"name": "way", "files": files}
}

func file(path, bytes string) map[string]any {
	if bytes == "" {
		return map[string]any{"path": path}
	}
	return map[string]any{"path": path, "bytes": bytes}
}

// TestPresets holds that sessions are what their preset says, that whoever may prompt may use
// one but not make one, and that its secrets are never shown.
func TestPresets(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	prompt := f.holding("prompt", access.Prompt, "")
	const manual = "LS0tCmRlc2NyaXB0aW9uOiBIb3cgd2UgZG8gaXQKLS0tCkxpa2UgdGhpcy4K"
	server := map[string]any{"name": "vault", "url": "https://vault.example/mcp", "headers": map[string]any{"X-Key": "canary"}, "auth": "canary"}
	wanted := map[string]any{
		"name": "Reviewer", "agent": "mock", "system_append": "Be brief.", "disallowed_tools": []string{"WebSearch"}, "policy": "auto-approve", "max_turns": 3,
		"servers": []any{server, map[string]any{"name": "off", "url": "https://off.example/mcp", "disabled": true}},
		"skills":  []any{skill(file("SKILL.md", manual), file("assets/blob.bin", "AAECAwQF"))},
	}
	prompt.do("POST", "/v1/presets", wanted).problem(403, terret.CodeForbidden, "")
	var made struct{ ID string }
	if a := f.do("POST", "/v1/presets", wanted).want(201, &made); strings.Contains(string(a.body), "canary") {
		t.Errorf("it shows secrets: %s", a.body)
	}
	at := "/v1/presets/" + made.ID
	prompt.do("PUT", at, wanted).problem(403, terret.CodeForbidden, "")
	prompt.do("DELETE", at, nil).problem(403, terret.CodeForbidden, "")
	if a := f.do("GET", "/v1/presets", nil).want(200, nil); strings.Contains(string(a.body), "canary") || !strings.Contains(string(a.body), "(kept)") {
		t.Errorf("listed %s", a.body)
	}

	// A change that sends back what it read loses nothing.
	wanted["name"], server["auth"], server["headers"] = "Renamed", "(kept)", map[string]any{"X-Key": "(kept)"}
	f.do("PUT", at, wanted).want(200, nil)
	var s terret.Session
	prompt.do("POST", "/v1/sessions", map[string]any{"cwd": f.dir, "preset": made.ID, "system_append": "Mine."}).want(201, &s)
	f.do("GET", "/v1/sessions/"+s.ID, nil).want(200, &s)
	if o := s.Options; s.Agent != "mock" || s.Policy != terret.PolicyAutoApprove || o.Preset != made.ID || o.MaxTurns != 3 || len(o.DisallowedTools) != 1 ||
		string(o.MCP) != `{"mcpServers":{"vault":{"headers":{"Authorization":"Bearer canary","X-Key":"canary"},"type":"http","url":"https://vault.example/mcp"}}}` ||
		!strings.HasPrefix(o.SystemAppend, "Be brief.\n\n") || !strings.HasSuffix(o.SystemAppend, "\n\nMine.") || !strings.Contains(o.SystemAppend, "How we do it") {
		t.Errorf("session %+v, mcp %s", s, o.MCP)
	}
	folder := filepath.Join(f.dir, ".terret/given", made.ID, "way")
	if blob, err := os.ReadFile(filepath.Join(folder, "assets/blob.bin")); err != nil || string(blob) != "\x00\x01\x02\x03\x04\x05" {
		t.Errorf("skill %q: %v", blob, err)
	}
	if ignore, err := os.ReadFile(filepath.Join(f.dir, ".terret/given/.gitignore")); err != nil || string(ignore) != "*\n" {
		t.Errorf("ignored %q: %v", ignore, err)
	}

	// What was kept for one address is not told to another.
	server["url"] = "https://evil.example/mcp"
	f.do("PUT", at, wanted).problem(422, terret.CodeInvalidRequest, "servers")
	// Nothing is written through a link.
	outside := t.TempDir()
	elsewhere := filepath.Join(f.dir, "linked")
	if err := os.MkdirAll(filepath.Join(elsewhere, ".terret"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(elsewhere, ".terret/given")); err != nil {
		t.Fatal(err)
	}
	f.do("POST", "/v1/sessions", map[string]any{"cwd": elsewhere, "preset": made.ID}).problem(409, terret.CodeConflict, "")
	if left, err := os.ReadDir(outside); err != nil || len(left) > 0 {
		t.Errorf("outside are %v, %v", left, err)
	}

	prompt.do("POST", "/v1/sessions", map[string]any{"cwd": f.dir, "preset": made.ID, "allow": []string{"Bash"}}).problem(403, terret.CodeForbidden, "")
	f.do("POST", "/v1/sessions", map[string]any{"cwd": f.dir, "preset": made.ID, "agent": "other"}).problem(422, terret.CodeInvalidRequest, "agent")
	f.do("DELETE", at, nil).want(204, nil)
	f.do("POST", "/v1/sessions", map[string]any{"cwd": f.dir, "preset": made.ID}).problem(422, terret.CodeInvalidRequest, "preset")
	f.do("GET", "/v1/sessions/"+s.ID, nil).want(200, nil)
}

// TestPresetBad holds that what could not be used is refused when it is made.
func TestPresetBad(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ok := file("SKILL.md", "")
	with := func(files ...map[string]any) map[string]any {
		return map[string]any{"skills": []any{skill(append(files, ok)...)}}
	}
	for name, c := range map[string]map[string]any{
		"no manual":      {"skills": []any{skill(file("notes.md", ""))}},
		"outside":        with(file("../x", "")),
		"absolute":       with(file("/etc/x", "")),
		"not clean":      with(file("a//b", "")),
		"backslash":      with(file(`..\x`, "")),
		"control":        with(file("a\nb", "")),
		"twice":          with(file("a", ""), file("A", "")),
		"below a file":   with(file("a", ""), file("a/b", "")),
		"a file's place": with(file("a/b", ""), file("a", "")),
		"git":            with(file(".git/config", "")),
		"too large":      with(file("a", strings.Repeat("AAAA", 1500<<10))),
		"skill's name":   {"skills": []any{map[string]any{"name": "..", "files": []any{ok}}}},
		"two skills":     {"skills": []any{skill(ok), skill(ok)}},
		"server's name":  {"servers": []any{map[string]any{"name": "a b", "url": "https://x.example"}}},
		"no address":     {"servers": []any{map[string]any{"name": "a", "url": "file:///etc/passwd"}}},
		"password":       {"servers": []any{map[string]any{"name": "a", "url": "https://u:p@x.example"}}},
		"header":         {"servers": []any{map[string]any{"name": "a", "url": "https://x.example", "headers": map[string]any{"A": "b\r\nc"}}}},
		"nothing kept":   {"servers": []any{map[string]any{"name": "a", "url": "https://x.example", "headers": map[string]any{"A": "(kept)"}}}},
		"folder":         {"cwd": "/etc"},
		"no name":        {"name": " "},
	} {
		b := map[string]any{"name": "p", "agent": "mock"}
		maps.Copy(b, c)
		status := 422
		if name == "folder" {
			status = 403
		}
		if a := f.do("POST", "/v1/presets", b); a.status != status || strings.Contains(string(a.body), "expected") {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
	var list terret.Page[any]
	f.do("GET", "/v1/presets", nil).want(200, &list)
	if len(list.Items) > 0 {
		t.Errorf("kept %v", list.Items)
	}
}

// TestDownload holds that a file's bytes are served, as nothing that a browser would run, and
// none from outside of the folder.
func TestDownload(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	s := f.session()
	secret := filepath.Join(t.TempDir(), "secret")
	for path, text := range map[string]string{filepath.Join(f.dir, "x.html"): "<script>\x00", secret: "secret"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(secret, filepath.Join(f.dir, "link")); err != nil {
		t.Fatal(err)
	}
	at := "/v1/files/raw?session=" + s.ID + "&path="
	a := f.do("GET", at+"x.html", nil).want(200, nil)
	if string(a.body) != "<script>\x00" || a.header.Get("Content-Type") != "application/octet-stream" || a.header.Get("X-Content-Type-Options") != "nosniff" ||
		a.header.Get("Content-Disposition") != "attachment; filename=x.html" {
		t.Errorf("%q %v", a.body, a.header)
	}
	for path, status := range map[string]int{"link": 403, "../secret": 403, secret: 403, "nothing": 404, ".git/config": 403, ".": 422} {
		if a := f.do("GET", at+path, nil); a.status != status || strings.Contains(string(a.body), "secret\"}") {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
}
