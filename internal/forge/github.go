package forge

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
)

// github talks to GitHub through gh.
type github struct{ cli }

var _ program = github{}

func (g github) repo() string { return g.at.host + "/" + g.at.path }

// pullFields is what we ask gh for.
const pullFields = "isCrossRepository,number,title,url,state,isDraft,reviewDecision,statusCheckRollup,reviews,comments"

type githubPull struct {
	Number         int
	Title, URL     string
	State          string
	IsDraft        bool
	ReviewDecision string
	Reviews        []githubRemark
	Comments       []githubRemark

	// A branch of the same name in somebody's copy of the project is not ours.
	IsCrossRepository bool

	// A check run has a name, a status, a conclusion and a detailsUrl; what other services say
	// has a context, a state and a targetUrl.
	StatusCheckRollup []struct {
		Name, Status, Conclusion, DetailsURL, WorkflowName string
		Context, State, TargetURL                          string
	}
}

type githubRemark struct {
	Author struct{ Login string }
	Body   string
	State  string
	URL    string
}

func (g github) find(ctx context.Context, branch string) (PullRequest, bool, error) {
	var list []githubPull // not gh pr view, which takes some branches for numbers or addresses
	if err := g.ask(ctx, &list, "gh", "pr", "list", "--repo", g.repo(), "--head", branch, "--state", "all", "--limit", "20", "--json", pullFields); err != nil {
		return PullRequest{}, false, err
	}
	list = slices.DeleteFunc(list, func(p githubPull) bool { return p.IsCrossRepository })
	if len(list) == 0 {
		return PullRequest{}, false, nil
	}
	in := list[max(0, slices.IndexFunc(list, func(p githubPull) bool { return p.State == "OPEN" }))]
	p := PullRequest{Number: in.Number, Title: in.Title, URL: in.URL, State: strings.ToLower(in.State), Draft: in.IsDraft, Review: strings.ToLower(in.ReviewDecision)}
	for _, c := range in.StatusCheckRollup {
		p.Checks = append(p.Checks, Check{
			Name: cmp.Or(c.Name, c.Context), State: githubState(cmp.Or(c.Conclusion, c.State, c.Status)), URL: cmp.Or(c.DetailsURL, c.TargetURL), Text: c.WorkflowName,
		})
	}
	for _, r := range append(in.Reviews, in.Comments...) {
		if strings.TrimSpace(r.Body) != "" {
			p.Comments = append(p.Comments, Comment{Author: r.Author.Login, Text: r.Body, URL: r.URL})
		}
	}
	inline, _ := g.inline(ctx, in.Number) // an error: the rest is worth showing all the same
	p.Comments = append(inline, p.Comments...)
	return p, true, ctx.Err()
}

// inline are the comments on lines, which gh shows nowhere else.
func (g github) inline(ctx context.Context, number int) (out []Comment, err error) {
	var list []struct {
		User     struct{ Login string }
		Body     string
		Path     string
		Line     int
		Original int    `json:"original_line"` // where it was, if the line is gone
		URL      string `json:"html_url"`
	}
	err = g.ask(ctx, &list, "gh", "api", "--hostname", g.at.host, fmt.Sprintf("repos/%s/pulls/%d/comments?per_page=100", g.at.path, number))
	for _, c := range list {
		out = append(out, Comment{Author: c.User.Login, Text: c.Body, Path: c.Path, Line: cmp.Or(c.Line, c.Original), URL: c.URL})
	}
	return out, err
}

// githubState is what became of a check.
func githubState(s string) string {
	switch strings.ToLower(s) {
	case "success", "neutral":
		return "passed"
	case "failure", "error", "timed_out", "action_required", "startup_failure", "cancelled":
		return "failed"
	case "skipped", "stale":
		return "skipped"
	}
	return "pending"
}

func (g github) open(ctx context.Context, branch string, d Draft) (string, error) {
	argv := []string{"gh", "pr", "create", "--repo", g.repo(), "--head", branch, "--title", d.Title, "--body-file", "-"}
	if d.Base != "" {
		argv = append(argv, "--base", d.Base)
	}
	if d.Draft {
		argv = append(argv, "--draft")
	}
	got, err := g.call(ctx, d.Text, argv...)
	return g.made("gh", got, err)
}
