package forge

import (
	"context"
	"net/url"
	"slices"
	"strings"
)

// Pushed says what a push did.
type Pushed struct {
	Remote string `json:"remote"`
	Branch string `json:"branch"`
	Link   string `json:"link,omitempty" doc:"Where a person can open a pull request."`
}

// Push pushes the branch to its remote. With replace it replaces what was pushed before, as
// after a rebase, unless somebody else has pushed since.
func (f Folder) Push(ctx context.Context, replace bool) (Pushed, error) {
	s, err := f.ready(ctx)
	if err != nil {
		return Pushed{}, err
	}
	if s.Remote == "" {
		return Pushed{}, refused("this repository has no remote to push to; add one with `git remote add origin ADDRESS`")
	}
	argv := []string{"git", "push", "--porcelain"}
	if s.Upstream == nil {
		argv = append(argv, "--set-upstream")
	}
	if replace {
		argv = append(argv, "--force-with-lease", "--force-if-includes")
	}
	ref := "refs/heads/" + s.Branch
	got, err := f.run(ctx, pushLimit, f.quiet(ctx, f.signsIn(s.Host)...), "", append(argv, "--", s.Remote, ref+":"+ref)...)
	if err != nil {
		return Pushed{}, err
	}
	if !got.ok {
		return Pushed{}, notPushed(s, got)
	}
	link := s.Link
	if at := linkIn(got.err, s.Host); at != "" {
		link = at
	}
	return Pushed{s.Remote, s.Branch, link}, nil
}

// ready is the status of a folder whose branch can go somewhere.
func (f Folder) ready(ctx context.Context) (Status, error) {
	s, err := f.Status(ctx)
	switch {
	case err != nil:
	case s.Problem != "":
		err = refused("%s", s.Problem)
	case s.Operation != "":
		err = refused("a %s is in progress in %s; finish or abort it with git first", s.Operation, f.Dir)
	case s.Head == "":
		err = refused("the repository in %s has no commit yet; make one first", f.Dir)
	case s.Branch == "":
		err = refused("no branch is checked out in %s, only a commit; make a branch there first, such as with `git switch -c NAME`", f.Dir)
	case strings.HasPrefix(s.Branch, "-"): // programs would take it for an option
		err = refused("the name of the branch %s begins with a dash; rename it with git first", s.Branch)
	case s.elsewhere != "":
		err = refused("git is set to push this branch to something that is no remote of this repository (%s); add it with `git remote add NAME ADDRESS`, or take that setting back", s.elsewhere)
	}
	return s, err
}

// linkIn is the first address of the host that the remote has printed: forges answer a push
// with where to open a pull request.
func linkIn(lines []string, host string) string {
	for _, line := range lines {
		rest, ok := strings.CutPrefix(line, "remote:")
		if !ok || host == "" {
			continue
		}
		for word := range strings.FieldsSeq(rest) {
			u, err := url.Parse(word)
			if err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.User == nil && strings.EqualFold(u.Hostname(), host) {
				return word
			}
		}
	}
	return ""
}

// notPushed says in plain words why a push failed.
func notPushed(s Status, got said) error {
	where := s.Remote
	if s.Host != "" {
		where += " (" + s.Host + ")"
	}
	all := strings.ToLower(got.out + "\n" + strings.Join(got.err, "\n"))
	has := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(all, w) })
	}
	switch {
	case has("terminal prompts disabled", "could not read username", "could not read password", "authentication failed", "permission denied (publickey", "invalid username or"):
		return refused("%s asks who you are, and nothing that git has saved answers that. Sign in once in a terminal, so that `git push` works there without asking (for GitHub: `gh auth login`, then `gh auth setup-git`)", where)
	case has("host key verification failed"):
		return refused("ssh does not know the key of %s yet. Connect once in a terminal, and accept the key there", where)
	case has("stale info"):
		return refused("somebody else has pushed to %s on %s meanwhile, so nothing was replaced; fetch and look at it first", s.Branch, where)
	case has("fetch first", "non-fast-forward"):
		return refused("%s has commits on %s that are not here, so it took nothing. After a rebase, replace what you pushed; otherwise fetch them and rebase onto them first", where, s.Branch)
	case has("could not resolve host", "connection refused", "connection timed out", "network is unreachable", "no route to host", "failed to connect", "couldn't connect"):
		return refused("%s cannot be reached: %s", where, got.text())
	case has("repository not found", "does not exist", "not found", "does not appear to be a git repository"):
		return refused("%s does not have this repository, or does not let you see it: %s", where, got.text())
	case has("[remote rejected]", "pre-receive hook declined", "protected branch"):
		return refused("%s refused the push: %s", where, got.text())
	case slices.Contains(s.Hooks, "pre-push") && !has("[rejected]", "remote:"):
		return refused("nothing was pushed; the hook pre-push may have refused it: %s", got.text())
	}
	return refused("nothing was pushed to %s: %s", where, got.text())
}
