// Command review-bot has agents review a branch, and makes of what they find a review of a
// pull request, in the form that GitHub takes, or with -gitea in that of Gitea and Forgejo.
//
//	review-bot -base origin/main                                  # prints it
//	review-bot -base origin/main -post https://api.github.com/repos/me/it/pulls/7/reviews
//
// It posts only to the address that it is given, with the token in FORGE_TOKEN. The exit code
// is 10 if the verdict is FAIL, so that a CI job fails.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"time"

	"github.com/terret-dev/terret/client"
)

const exitFail = 10 // of `terret review`, too

// forgeReview is a review as a forge's API takes it.
type forgeReview struct {
	CommitID string         `json:"commit_id"`
	Event    string         `json:"event"` // COMMENT or REQUEST_CHANGES: a bot approves nothing
	Body     string         `json:"body"`
	Comments []forgeComment `json:"comments"`
}

type forgeComment struct {
	Path        string `json:"path"`
	Line        int    `json:"line,omitempty"`
	Side        string `json:"side,omitempty"`
	NewPosition int    `json:"new_position,omitempty"` // the line, as Gitea calls it
	Body        string `json:"body"`
}

func main() {
	base := flag.String("base", "origin/main", "the branch that the pull request goes into")
	head := flag.String("head", "HEAD", "what is reviewed")
	post := flag.String("post", "", "address to post the review to; without it, it is printed")
	gitea := flag.Bool("gitea", false, "in the form of Gitea and Forgejo")
	flag.Usage = func() {
		fmt.Fprintf(os.Stderr, "usage: review-bot [flags] [-- flags of terret review]\n")
		flag.PrintDefaults()
	}
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	failed, err := run(ctx, *base, *head, *post, *gitea, flag.Args())
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "review-bot:", err)
		os.Exit(1)
	case failed:
		os.Exit(exitFail)
	}
}

// run reports whether the verdict is FAIL.
func run(ctx context.Context, base, head, post string, gitea bool, flags []string) (failed bool, err error) {
	commit, err := output(ctx, "git", "rev-parse", "--verify", head+"^{commit}")
	if err != nil {
		return false, err
	}
	// What a pull request shows: the change since the branch left its base (git diff base...head).
	from, err := output(ctx, "git", "merge-base", base, commit)
	if err != nil {
		return false, err
	}
	out, err := output(ctx, "terret", append([]string{"review", "--json", "--diff", from + ".." + commit}, flags...)...)
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || exit.ExitCode() != exitFail) {
		return false, err
	}
	var report client.Review
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		return false, fmt.Errorf("the report of terret review cannot be read: %w", err)
	}
	body, err := json.MarshalIndent(review(report, commit, gitea), "", "  ")
	switch {
	case err != nil:
	case post == "":
		_, err = fmt.Printf("%s\n", body)
	case report.Empty:
		fmt.Fprintln(os.Stderr, "there is nothing to review")
	default:
		err = send(ctx, post, os.Getenv("FORGE_TOKEN"), body)
	}
	return report.Verdict == "FAIL", err
}

// review puts findings whose line the diff shows beside that line, the others into the text:
// a forge refuses a whole review for one line that it does not show.
func review(report client.Review, commit string, gitea bool) forgeReview {
	r := forgeReview{CommitID: commit, Event: "COMMENT", Comments: []forgeComment{}}
	if report.Verdict == "FAIL" {
		r.Event = "REQUEST_CHANGES"
	}
	text := []string{fmt.Sprintf("**%s** %s", report.Verdict, report.Summary)}
	for _, f := range report.Findings {
		said := fmt.Sprintf("%s (%s): %s", f.Severity, f.Category, f.Message)
		if f.Suggestion != "" {
			said += "\n\n" + f.Suggestion
		}
		switch {
		case !f.Verified || f.Line == 0:
			text = append(text, fmt.Sprintf("- %s:%d: %s", f.File, f.Line, said))
		case gitea:
			r.Comments = append(r.Comments, forgeComment{Path: f.File, NewPosition: f.Line, Body: said})
		default:
			r.Comments = append(r.Comments, forgeComment{Path: f.File, Line: f.Line, Side: "RIGHT", Body: said})
		}
	}
	r.Body = strings.Join(text, "\n\n")
	return r
}

// send posts a review. A redirect is not followed: it could lead the token elsewhere.
func send(ctx context.Context, to, token string, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	c := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := c.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode/100 != 2 {
		why, _ := io.ReadAll(io.LimitReader(res.Body, 1<<10))
		return fmt.Errorf("the forge answered %s: %s", res.Status, bytes.TrimSpace(why))
	}
	return nil
}

// output runs a program, and returns what it prints even if it fails.
func output(ctx context.Context, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return strings.TrimSpace(string(out)), err
}
