package forge

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// gitlab talks to GitLab through glab.
type gitlab struct{ cli }

var _ program = gitlab{}

func (g gitlab) find(ctx context.Context, branch string) (PullRequest, bool, error) {
	var list []struct {
		IID    int    `json:"iid"`
		Title  string `json:"title"`
		WebURL string `json:"web_url"`
		State  string `json:"state"`
		Draft  bool   `json:"draft"`
	}
	project := "projects/" + url.PathEscape(g.at.path)
	err := g.ask(ctx, &list, "glab", "api", "--hostname", g.at.host, project+"/merge_requests?order_by=created_at&source_branch="+url.QueryEscape(branch))
	if err != nil || len(list) == 0 {
		return PullRequest{}, false, err
	}
	one := list[0]
	for _, m := range list {
		if m.State == "opened" {
			one = m
			break
		}
	}
	p := PullRequest{Number: one.IID, Title: one.Title, URL: one.WebURL, State: strings.Replace(one.State, "opened", "open", 1), Draft: one.Draft}
	at := fmt.Sprintf("%s/merge_requests/%d/", project, one.IID)
	var notes []struct {
		Body     string
		System   bool
		Author   struct{ Username string }
		Position struct {
			Path string `json:"new_path"`
			Line int    `json:"new_line"`
		}
	}
	if err := g.ask(ctx, &notes, "glab", "api", "--hostname", g.at.host, at+"notes?per_page=100"); err != nil {
		return p, true, err
	}
	for _, n := range notes {
		if !n.System {
			p.Comments = append(p.Comments, Comment{Author: n.Author.Username, Text: n.Body, Path: n.Position.Path, Line: n.Position.Line})
		}
	}
	var pipelines []struct {
		ID     int
		Status string
		WebURL string `json:"web_url"`
	}
	if err := g.ask(ctx, &pipelines, "glab", "api", "--hostname", g.at.host, at+"pipelines"); err != nil {
		return p, true, err
	}
	for i, l := range pipelines {
		if i == 0 { // the newest counts
			p.Checks = append(p.Checks, Check{Name: "pipeline " + strconv.Itoa(l.ID), State: gitlabState(l.Status), URL: l.WebURL})
		}
	}
	return p, true, nil
}

func gitlabState(s string) string {
	switch s {
	case "success":
		return "passed"
	case "failed", "canceled":
		return "failed"
	case "skipped":
		return "skipped"
	}
	return "pending"
}

func (g gitlab) open(ctx context.Context, branch string, d Draft) (string, error) {
	argv := []string{"glab", "mr", "create", "--yes", "--repo", g.at.path, "--source-branch", branch, "--title", d.Title, "--description", d.Text}
	if d.Base != "" {
		argv = append(argv, "--target-branch", d.Base)
	}
	if d.Draft {
		argv = append(argv, "--draft")
	}
	got, err := g.call(ctx, "", argv...)
	return g.made("glab", got, err)
}

// gitea talks to Gitea and Forgejo through tea, which shows neither checks nor comments as
// data.
type gitea struct{ cli }

var _ program = gitea{}

func (g gitea) find(ctx context.Context, branch string) (PullRequest, bool, error) {
	var list []struct{ Index, Title, State, URL, Head string }
	if err := g.ask(ctx, &list, "tea", "pulls", "list", "--repo", g.at.path, "--state", "all", "--limit", "100", "--fields", "index,title,state,url,head", "--output", "json"); err != nil {
		return PullRequest{}, false, err
	}
	var p PullRequest
	found := false
	for _, x := range list {
		if _, name, _ := strings.Cut(":"+x.Head, ":"); name != branch && !strings.HasSuffix(name, ":"+branch) || found && x.State != "open" {
			continue
		}
		found = true
		p = PullRequest{Title: x.Title, URL: x.URL, State: x.State}
		p.Number, _ = strconv.Atoi(x.Index)
		if x.State == "open" {
			break
		}
	}
	return p, found, nil
}

func (g gitea) open(ctx context.Context, branch string, d Draft) (string, error) {
	title := d.Title
	if d.Draft {
		title = "WIP: " + title // Gitea's way to say it
	}
	argv := []string{"tea", "pulls", "create", "--repo", g.at.path, "--head", branch, "--title", title, "--description", d.Text}
	if d.Base != "" {
		argv = append(argv, "--base", d.Base)
	}
	got, err := g.call(ctx, "", argv...)
	return g.made("tea", got, err)
}
