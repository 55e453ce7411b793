package presets

import (
	"encoding/json"
	"maps"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/terret-dev/terret"
)

// check rejects what could not be used, and puts what the old preset keeps in place of Kept.
func (p *Preset) check(old Preset) error {
	if strings.TrimSpace(p.Name) == "" {
		return terret.Invalid("name", "it is empty")
	}
	if p.MaxTurns < 0 || p.Seconds < 0 {
		return terret.Invalid("max_turns", "limits must not be negative")
	}
	names := map[string]bool{}
	for i := range p.Servers {
		s := &p.Servers[i]
		if !validName.MatchString(s.Name) || names[sameName(s.Name)] {
			return terret.Invalid("servers", "%.64q is not a name, or there are two; use letters, digits, - and _", s.Name)
		}
		names[sameName(s.Name)] = true
		if err := s.check(old); err != nil {
			return err
		}
	}
	clear(names)
	total := 0
	for _, s := range p.Skills {
		if !validName.MatchString(s.Name) || names[sameName(s.Name)] {
			return terret.Invalid("skills", "%.64q is not a name, or there are two; use letters, digits, - and _", s.Name)
		}
		names[sameName(s.Name)] = true
		for _, f := range s.Files {
			if total += len(f.Bytes); total > maxFiles {
				return terret.Invalid("skills", "their files have more than %d MB", maxFiles>>20)
			}
		}
		if err := checkSkill(s); err != nil {
			return err
		}
	}
	return nil
}

func (s *Server) check(old Preset) error {
	u, err := url.Parse(s.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || strings.ContainsFunc(s.URL, unicode.IsControl) {
		return terret.Invalid("servers", "the url of %s must be a web address without a password", s.Name)
	}
	if s.Transport != "" && s.Transport != "http" && s.Transport != "sse" {
		return terret.Invalid("servers", "the transport of %s must be http or sse", s.Name)
	}
	var had Server
	// What was kept for one address is not told to another.
	if i := slices.IndexFunc(old.Servers, func(o Server) bool { return o.Name == s.Name && o.URL == s.URL }); i >= 0 {
		had = old.Servers[i]
	}
	if len(s.Headers) > 50 {
		return terret.Invalid("servers", "%s has more than 50 headers", s.Name)
	}
	for name, v := range s.Headers {
		if v == Kept {
			v = had.Headers[name]
		}
		if s.Headers[name] = v; !validHeader.MatchString(name) || len(v) > 8000 || v == "" || strings.ContainsFunc(v, unicode.IsControl) {
			return terret.Invalid("servers", "the header %.64q of %s cannot be sent", name, s.Name)
		}
	}
	if s.Auth == Kept {
		s.Auth = had.Auth
	}
	if strings.ContainsFunc(s.Auth, unicode.IsControl) {
		return terret.Invalid("servers", "the token of %s cannot be sent", s.Name)
	}
	return nil
}

// checkSkill rejects files outside of the skill's folder, and what no file system can hold.
func checkSkill(s Skill) error {
	bad := func(f SkillFile, why string) error {
		return terret.Invalid("skills", "%s: the path %.200q %s", s.Name, f.Path, why)
	}
	taken := map[string]bool{} // true: a file; false: a folder
	manual := false
	for _, f := range s.Files {
		p := f.Path
		switch {
		case !filepath.IsLocal(filepath.FromSlash(p)) || path.Clean(p) != p || p == "." || strings.ContainsAny(p, "\\:"):
			return bad(f, "is not one inside the skill's folder")
		case !utf8.ValidString(p) || strings.ContainsFunc(p, unicode.IsControl) || strings.Count(p, "/") > 15:
			return bad(f, "cannot be used")
		}
		for part := range strings.SplitSeq(p, "/") {
			if len(part) > 200 || strings.EqualFold(part, ".git") {
				return bad(f, "cannot be used")
			}
		}
		key := sameName(p)
		if _, ok := taken[key]; ok {
			return bad(f, "is there twice")
		}
		taken[key] = true
		for dir := path.Dir(key); dir != "."; dir = path.Dir(dir) {
			if taken[dir] {
				return bad(f, "is below a file")
			}
			taken[dir] = false
		}
		manual = manual || p == "SKILL.md"
	}
	if !manual {
		return terret.Invalid("skills", "%s has no SKILL.md", s.Name)
	}
	return nil
}

// MCP is the configuration of the servers, as agents take it; nil if there are none.
func (p Preset) MCP() terret.JSON {
	servers := map[string]any{}
	for _, s := range p.Servers {
		if s.Disabled {
			continue
		}
		headers := map[string]string{}
		maps.Copy(headers, s.Headers)
		if s.Auth != "" {
			headers["Authorization"] = "Bearer " + s.Auth
		}
		one := map[string]any{"type": s.Transport, "url": s.URL}
		if s.Transport == "" {
			one["type"] = "http"
		}
		if len(headers) > 0 {
			one["headers"] = headers
		}
		servers[s.Name] = one
	}
	if len(servers) == 0 {
		return nil
	}
	text, err := json.Marshal(map[string]any{"mcpServers": servers})
	if err != nil {
		panic(err) // texts always encode
	}
	return text
}
