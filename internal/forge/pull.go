package forge

import (
	"context"
	"encoding/json"
	"strings"
)

// PullRequest is a pull request, or merge request, of a branch.
type PullRequest struct {
	Number  int    `json:"number,omitempty"`
	Title   string `json:"title,omitempty"`
	URL     string `json:"url"`
	State   string `json:"state,omitempty" enum:"open,merged,closed"`
	Draft   bool   `json:"draft,omitempty"`
	Review  string `json:"review,omitempty" doc:"Such as approved or changes_requested."`
	Existed bool   `json:"existed,omitempty" doc:"It was there already, and was not changed."`
	// Checks and Comments are what the forge and its people say of it.
	Checks   []Check   `json:"checks" nullable:"false"`
	Comments []Comment `json:"comments" nullable:"false"`
}

// Check is what a program says of a pull request.
type Check struct {
	Name  string `json:"name"`
	State string `json:"state" enum:"passed,failed,pending,skipped"`
	URL   string `json:"url,omitempty"`
	Text  string `json:"text,omitempty"`
}

// Comment is what a person, or a program, has written about a pull request.
type Comment struct {
	Author string `json:"author"`
	Text   string `json:"text"`
	Path   string `json:"path,omitempty" doc:"The file that it is about."`
	Line   int    `json:"line,omitempty"`
	URL    string `json:"url,omitempty"`
}

// Draft is a pull request to open.
type Draft struct {
	Title string
	Text  string
	Base  string // the branch to merge into; empty lets the forge choose
	Draft bool
}

// Bounds of what is kept of a pull request.
const (
	maxChecks   = 200
	maxComments = 200
	maxText     = 16 << 10
)

// program talks to a forge through its command line.
type program interface {
	// find finds the pull request of a branch; an open one first.
	find(ctx context.Context, branch string) (PullRequest, bool, error)
	open(ctx context.Context, branch string, d Draft) (url string, err error)
}

// forge is the program for the remote of a folder.
func (f Folder) forge(ctx context.Context) (program, Status, error) {
	s, err := f.ready(ctx)
	if err != nil {
		return nil, s, err
	}
	c := cli{f, place{host: s.Host, path: s.Project}, s}
	switch {
	case s.Remote == "":
		return nil, s, refused("this repository has no remote, so there is nowhere to open a pull request; add one with `git remote add origin ADDRESS`")
	case s.Program == "gh":
		return github{c}, s, nil
	case s.Program == "glab":
		return gitlab{c}, s, nil
	case s.Program == "tea":
		return gitea{c}, s, nil
	case s.Link != "":
		return nil, s, refused("no program is installed here that opens pull requests at %s (gh, glab or tea, and signed in there); open it in a browser: %s", s.Host, s.Link)
	}
	return nil, s, refused("nobody here knows how to open a pull request at %s", s.Remote)
}

// PullRequest finds the pull request of the branch, with its checks and comments. It is not
// found if there is none.
func (f Folder) PullRequest(ctx context.Context) (p PullRequest, found bool, err error) {
	with, s, err := f.forge(ctx)
	if err != nil {
		return PullRequest{}, false, err
	}
	p, found, err = with.find(ctx, s.Branch)
	return p.bounded(), found, err
}

// OpenPullRequest opens a pull request for the branch, which must have been pushed. If there
// is an open one, that is returned.
func (f Folder) OpenPullRequest(ctx context.Context, d Draft) (PullRequest, error) {
	with, s, err := f.forge(ctx)
	if err != nil {
		return PullRequest{}, err
	}
	switch {
	case s.Upstream == nil:
		return PullRequest{}, refused("the branch %s was not pushed yet; push it first", s.Branch)
	case s.Upstream.Ahead > 0:
		return PullRequest{}, refused("%d commits of %s were not pushed yet; push them first", s.Upstream.Ahead, s.Branch)
	case s.Base != nil && s.Base.Ahead == 0:
		return PullRequest{}, refused("%s has no commit that %s does not have, so there is nothing to ask for", s.Branch, s.Base.Branch)
	}
	p, found, err := with.find(ctx, s.Branch)
	if err != nil {
		return PullRequest{}, err
	}
	if found && p.State == "open" {
		p.Existed = true
		return p.bounded(), nil
	}
	if d.Base == "" && s.Base != nil && f.atRemote(ctx, s) {
		d.Base = s.baseName()
	}
	url, err := with.open(ctx, s.Branch, d)
	if err != nil {
		return PullRequest{}, err
	}
	if p, found, err = with.find(ctx, s.Branch); err != nil || !found { // it is there all the same
		p = PullRequest{Title: d.Title, URL: url, State: "open"}
	}
	return p.bounded(), nil
}

// atRemote reports whether the remote has the base.
func (f Folder) atRemote(ctx context.Context, s Status) bool {
	r, err := f.open(ctx)
	return err == nil && r.distance(ctx, "refs/remotes/"+s.Remote+"/"+s.baseName()) != nil
}

// bounded is a pull request without more than people read.
func (p PullRequest) bounded() PullRequest {
	p.Checks = append([]Check{}, p.Checks[:min(len(p.Checks), maxChecks)]...)
	p.Comments = append([]Comment{}, p.Comments[:min(len(p.Comments), maxComments)]...)
	for i := range p.Comments {
		p.Comments[i].Text = cut(p.Comments[i].Text)
	}
	for i := range p.Checks {
		p.Checks[i].Text = cut(p.Checks[i].Text)
	}
	return p
}

func cut(text string) string {
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "") + "…"
	}
	return text
}

// cli runs a forge's program for a branch.
type cli struct {
	Folder
	at     place
	status Status
}

// call runs the program.
func (c cli) call(ctx context.Context, in string, argv ...string) (said, error) {
	env := c.quiet(ctx, c.signsIn(c.at.host)...)
	if argv[0] == "glab" {
		env = lastOfEach(append(env, "GITLAB_HOST="+c.at.host))
	}
	return c.run(ctx, forgeLimit, env, in, argv...)
}

// ask runs the program and reads the JSON that it prints.
func (c cli) ask(ctx context.Context, into any, argv ...string) error {
	got, err := c.call(ctx, "", argv...)
	if err != nil {
		return err
	}
	if !got.ok {
		return c.failed(argv[0], got)
	}
	if err := json.Unmarshal([]byte(got.out), into); err != nil {
		return refused("%s answered something else than expected: %w", argv[0], err)
	}
	return nil
}

// failed says in plain words what a program says.
func (c cli) failed(name string, got said) error {
	text := got.text()
	lower := strings.ToLower(text)
	for _, word := range []string{"auth login", "not logged in", "authentication", "http 401", "401 unauthorized", "bad credentials", "no logins", "gh_token"} {
		if strings.Contains(lower, word) {
			return refused("%s is not signed in at %s; sign in once in a terminal: %s", name, c.at.host, map[string]string{
				"gh": "`gh auth login --hostname " + c.at.host + "`", "glab": "`glab auth login --hostname " + c.at.host + "`", "tea": "`tea login add`",
			}[name])
		}
	}
	return refused("%s says: %s", name, text)
}

// urlIn is the address that a program has printed of what it made.
func urlIn(got said) string {
	for word := range strings.FieldsSeq(got.out + "\n" + strings.Join(got.err, "\n")) {
		if strings.HasPrefix(word, "https://") || strings.HasPrefix(word, "http://") {
			return word
		}
	}
	return ""
}

// made is the address of what a program was told to open.
func (c cli) made(name string, got said, err error) (string, error) {
	if err != nil {
		return "", err
	}
	if !got.ok {
		return "", c.failed(name, got)
	}
	if url := urlIn(got); url != "" {
		return url, nil
	}
	return "", refused("%s did not say where the pull request is: %s", name, got.text())
}
