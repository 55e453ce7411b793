package gitcmd

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// shielded is given to the git of others in a folder that nobody trusts: settings that
// name a program, in every repository, whatever its own configuration says. Where the
// person's own configuration has a value, that counts.
var shielded = []string{
	"core.hooksPath=" + os.DevNull, "core.fsmonitor=false", "core.pager=cat", "core.askPass=", "core.sshCommand=ssh",
	"core.gitProxy=", "core.alternateRefsCommand=", "diff.external=", "interactive.diffFilter=",
	"safe.bareRepository=explicit", "protocol.ext.allow=never",
}

// mergeFile does what git does to files that no merge driver is for.
const mergeFile = "git merge-file --quiet --marker-size=%L %A %O %B"

// harmless says what to set a key of a repository's own configuration to that would run a
// program, if it is one. The names of filters, drivers and the like are the repository's.
func harmless(key string) (value string, ok bool) {
	section, rest, _ := strings.Cut(key, ".")
	name := rest[strings.LastIndexByte(rest, '.')+1:]
	switch section {
	case "filter":
		return "", slices.Contains([]string{"clean", "smudge", "process"}, name)
	case "diff":
		switch name {
		case "textconv":
			return "cat", true
		case "command":
			return "true", true
		}
	case "merge":
		return mergeFile, name == "driver"
	case "hook":
		return "true", name == "command"
	case "pager", "sequence":
		return "cat", true
	case "core":
		return "false", name == "editor"
	case "gpg":
		return "false", name == "program"
	case "credential":
		return "", name == "helper"
	case "alias", "difftool", "mergetool", "trailer", "browser", "man", "guitool", "tar":
		return "false", slices.Contains([]string{"cmd", "command", "path"}, name) || section == "alias"
	case "remote":
		switch name {
		case "uploadpack":
			return "git-upload-pack", true
		case "receivepack":
			return "git-receive-pack", true
		case "vcs":
			return "", true
		}
	case "submodule":
		return "none", name == "update"
	}
	return "", false
}

// disarm adds what keeps a setting that a repository chose the name of from running
// anything, if it would.
func disarm(off []pair, key string) []pair {
	if strings.HasPrefix(key, "filter.") { // one that is required and does nothing would fail
		name := key[:strings.LastIndexByte(key, '.')]
		return append(off, pair{name + ".clean", ""}, pair{name + ".smudge", ""}, pair{name + ".process", ""}, pair{name + ".required", "false"})
	}
	if value, ok := harmless(key); ok {
		off = append(off, pair{key, value})
	}
	return off
}

// Disarmed is a Git that runs none of the filters, drivers and other programs which the
// configuration of the repository names, whatever it calls them.
func (g Git) Disarmed(ctx context.Context) (Git, error) {
	out, err := g.Output(ctx, nil, listSettings...)
	g.off = slices.Clip(g.off)
	for _, s := range parseSettings(out) {
		g.off = disarm(g.off, s.key)
	}
	return g, err
}

// Like is a Git that also does not run what another does not.
func (g Git) Like(other Git) Git {
	g.off = other.off
	return g
}

// Programs lists the settings in a repository's own configuration that name a program or
// lead elsewhere, as key=value, sorted. Dir is in its work tree. It runs git, which
// reads the configuration and does nothing else. Without a repository, or without git,
// there are none.
func Programs(ctx context.Context, dir string) []string {
	var out []string
	for _, s := range settingsOf(ctx, dir, append(baseEnv(), "HOME="+os.DevNull)) {
		key := s.key
		if !s.local {
			continue
		}
		_, runs := harmless(key)
		fixed := slices.ContainsFunc(shielded, func(kv string) bool {
			k, _, _ := strings.Cut(kv, "=")
			return strings.EqualFold(k, key)
		})
		if runs || fixed || key == "core.worktree" {
			out = append(out, key+"="+s.value)
		}
	}
	slices.Sort(out)
	return out
}

// setting is one of git's.
type setting struct {
	key, value string
	local      bool // it is the repository's own
}

// settingsOf lists the settings that count in a folder. Git does nothing but read them.
func settingsOf(ctx context.Context, dir string, env []string) []setting {
	bin, err := exec.LookPath("git")
	if err != nil {
		return nil
	}
	cmd := exec.CommandContext(ctx, bin, listSettings...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = dir, env, killDelay
	list, err := cmd.Output()
	if err != nil {
		return nil
	}
	return parseSettings(list)
}

// listSettings is the command that lists settings with where they are from.
var listSettings = []string{"config", "--list", "-z", "--show-scope", "--includes"}

// parseSettings reads the list, without what we set ourselves.
func parseSettings(list []byte) (out []setting) {
	fields := strings.Split(string(list), "\x00")
	for i := 0; i+1 < len(fields); i += 2 {
		if scope := fields[i]; scope != "command" {
			key, value, _ := strings.Cut(fields[i+1], "\n")
			out = append(out, setting{key, value, scope == "local" || scope == "worktree"})
		}
	}
	return out
}

// Shield adds settings to an environment that keep git from running programs named in a
// repository's configuration. Agents in untrusted folders get it, and so does every git
// that they start. Dir need not be in a repository.
func Shield(ctx context.Context, environ []string, dir string) []string {
	now := settingsOf(ctx, dir, environ)
	own := map[string]string{}
	for _, s := range now {
		if !s.local {
			own[s.key] = s.value
		}
	}
	var settings []pair
	for _, kv := range shielded {
		key, value, _ := strings.Cut(kv, "=")
		if v, ok := own[strings.ToLower(key)]; ok {
			value = v
		}
		settings = append(settings, pair{key, value})
	}
	for _, s := range now {
		if s.local {
			settings = disarm(settings, s.key)
		}
	}
	return withSettings(environ, settings)
}

// withSettings adds settings to those that an environment has.
func withSettings(environ []string, settings []pair) []string {
	out := slices.DeleteFunc(slices.Clone(environ), func(e string) bool { return strings.HasPrefix(e, "GIT_CONFIG_COUNT=") })
	n := 0
	for _, e := range environ { // those that are there stay
		if count, ok := strings.CutPrefix(e, "GIT_CONFIG_COUNT="); ok {
			n, _ = strconv.Atoi(count) // what git cannot read either is none
		}
	}
	for _, s := range settings {
		out = append(out, "GIT_CONFIG_KEY_"+strconv.Itoa(n)+"="+s.key, "GIT_CONFIG_VALUE_"+strconv.Itoa(n)+"="+s.value)
		n++
	}
	return append(out, "GIT_CONFIG_COUNT="+strconv.Itoa(n))
}

// Elsewhere says where the repository of a work tree leads, if not to itself: a .git that
// is a link, or a file that is not that of a work tree which its repository knows, or the
// objects of another repository. Each is a file below top and what it leads to.
func Elsewhere(top string) map[string]string {
	out := map[string]string{}
	git := filepath.Join(top, ".git")
	info, err := os.Lstat(git)
	if err != nil {
		return out
	}
	dir := git
	switch {
	case info.Mode()&os.ModeSymlink != 0:
		out[".git"], _ = os.Readlink(git) // what cannot be read leads somewhere as well
	case !info.IsDir():
		to := strings.TrimPrefix(FirstLine(git), "gitdir: ")
		dir = From(top, to)
		back, err := filepath.EvalSymlinks(FirstLine(filepath.Join(dir, "gitdir")))
		here, hereErr := filepath.EvalSymlinks(git)
		if err != nil || hereErr != nil || back != here {
			out[".git"] = to
		}
	}
	if common := FirstLine(filepath.Join(dir, "commondir")); common != "" {
		if dir == git {
			out[".git/commondir"] = common
		}
		dir = From(dir, common)
	}
	if to := strings.TrimSpace(string(ReadRegular(filepath.Join(dir, "objects", "info", "alternates"), 64<<10))); to != "" {
		out[".git/objects/info/alternates"] = to
	}
	return out
}
