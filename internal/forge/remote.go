package forge

import (
	"cmp"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// place is a project at a forge.
type place struct {
	host, path string // such as github.com and owner/name
	web        string // the beginning of its address in a browser
}

// parseRemote reads where a remote is. It is not ok for a folder, or what else has no web page.
func parseRemote(address string) (place, bool) {
	var host, path, web string
	if before, after, ok := strings.Cut(address, ":"); ok && !strings.Contains(address, "://") {
		if strings.ContainsAny(before, "/\\") {
			return place{}, false // a folder
		}
		_, host, ok = strings.Cut(before, "@") // git@host:path
		if !ok {
			host = before
		}
		path, web = after, "https://"+host
	} else {
		u, err := url.Parse(address)
		if err != nil || u.Hostname() == "" {
			return place{}, false
		}
		host, path = u.Hostname(), u.Path
		switch u.Scheme {
		case "http", "https":
			web = u.Scheme + "://" + u.Host // without who signs in
		case "ssh", "git":
			web = "https://" + host
		default:
			return place{}, false
		}
	}
	path = strings.TrimSuffix(strings.Trim(path, "/"), ".git")
	if path == "" || host == "" || strings.HasPrefix(host, "-") || strings.HasPrefix(path, "-") {
		return place{}, false
	}
	return place{strings.ToLower(host), path, web + "/" + path}, true
}

// known are the programs for the hosts that everybody knows.
var known = map[string]string{"github.com": "gh", "gitlab.com": "glab", "gitea.com": "tea", "codeberg.org": "tea"}

// kind is the forge's program, as far as the name of the host tells. It is a guess, good for
// the form of a link.
func (p place) kind() string {
	for _, k := range []struct{ word, program string }{{"github", "gh"}, {"gitlab", "glab"}, {"gitea", "tea"}, {"forgejo", "tea"}, {"codeberg", "tea"}} {
		if strings.Contains(p.host, k.word) {
			return k.program
		}
	}
	return ""
}

// compare is where a person can open a pull request for a branch.
func (p place) compare(base, branch string) string {
	branch, base = escape(branch), escape(base)
	if p.kind() == "glab" {
		return p.web + "/-/merge_requests/new?merge_request%5Bsource_branch%5D=" + url.QueryEscape(branch)
	}
	if base != "" {
		branch = base + "..." + branch
	}
	if p.kind() == "tea" {
		return p.web + "/compare/" + branch
	}
	return p.web + "/compare/" + branch + "?expand=1"
}

// escape is a branch in an address; its slashes stay.
func escape(branch string) string {
	return strings.ReplaceAll(url.PathEscape(branch), "%2F", "/")
}

// program is the installed program for a forge, or "": that of a known host, or one that is
// signed in there.
func (f Folder) program(at place) string {
	if name := known[at.host]; name != "" {
		if _, err := exec.LookPath(name); err != nil {
			return ""
		}
		return name
	}
	for _, name := range []string{"gh", "glab", "tea"} {
		if _, err := exec.LookPath(name); err == nil && f.signedIn(name, at.host) {
			return name
		}
	}
	return ""
}

// signedIn reports whether a program's own settings name a host.
func (f Folder) signedIn(program, host string) bool {
	config := f.getenv("XDG_CONFIG_HOME")
	if config == "" {
		config = filepath.Join(f.getenv("HOME"), ".config")
	}
	file := map[string]string{"gh": "gh/hosts.yml", "glab": "glab-cli/config.yml", "tea": "tea/config.yml"}[program]
	file = filepath.Join(config, filepath.FromSlash(file))
	switch dir := f.getenv("GH_CONFIG_DIR"); {
	case program == "gh" && dir != "":
		file = filepath.Join(dir, "hosts.yml")
	case program == "gh" && f.hostIn("GH_HOST") == host, program == "glab" && f.hostIn("GITLAB_HOST") == host, program == "tea" && f.hostIn("GITEA_SERVER_URL") == host:
		return true
	}
	info, err := os.Stat(file)
	if err != nil || info.Size() > 1<<20 {
		return false
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if address, ok := strings.CutPrefix(line, "url: "); line == host+":" || ok && hostOf(strings.Trim(address, `"'`)) == host {
			return true
		}
	}
	return false
}

// signsIn are the variables that programs get to sign in at a host: the keys of that host and
// of no other, as far as the person's variables say whose they are.
func (f Folder) signsIn(host string) []string {
	allow := []string{"GH_CONFIG_DIR", "GH_HOST", "GLAB_CONFIG_DIR", "SSH_*"}
	if host == "" {
		return allow
	}
	if own := f.hostIn("GH_HOST"); host == own || host == "github.com" {
		allow = append(allow, "GH_TOKEN", "GITHUB_TOKEN")
		if host == own {
			allow = append(allow, "GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN")
		}
	}
	if host == cmp.Or(f.hostIn("GITLAB_HOST"), "gitlab.com") {
		allow = append(allow, "GITLAB_*", "GLAB_*")
	}
	if host == f.hostIn("GITEA_SERVER_URL") {
		allow = append(allow, "GITEA_*")
	}
	return allow
}

// hostIn is the host that a variable names, or "".
func (f Folder) hostIn(name string) string { return hostOf(f.getenv(name)) }

// hostOf is the host of an address, which may be a host alone, or "".
func hostOf(address string) string {
	if !strings.Contains(address, "://") {
		address = "https://" + address
	}
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Hostname())
}

func (f Folder) getenv(name string) (value string) {
	for _, entry := range f.Env {
		if k, v, _ := strings.Cut(entry, "="); k == name {
			value = v
		}
	}
	return value
}
