package httpapi

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"strings"
	"sync"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/forge"
	"github.com/terret-dev/terret/internal/server/access"
	"github.com/terret-dev/terret/internal/server/assemble"
)

func (s *Server) branchRoutes() {
	const own = " It runs the git of the server's user, with its settings, hooks and sign-in, so the folder must be trusted."
	handle(s, route{
		method: "GET", path: "/v1/sessions/{id}/branch", id: "branch", tag: tagFiles, scope: access.View,
		summary: "Show where the branch of a session's folder stands",
		long:    "Its distance from the branch at the remote and from the one to merge into, as far as this repository knows; nothing is fetched. What keeps it from being pushed is a sentence in problem. The draft is for a pull request.",
		fails:   inSession(),
	}, s.branch)
	handle(s, route{
		method: "POST", path: "/v1/sessions/{id}/push", id: "push", tag: tagFiles, scope: access.Decide,
		summary: "Push the branch of a session's folder",
		long:    "To the remote that git is set to." + own + " Nobody is asked for a password, and after five minutes it is stopped.",
		fails:   inSession(terret.CodeSessionBusy),
	}, s.pushBranch)
	handle(s, route{
		method: "GET", path: "/v1/sessions/{id}/pull-request", id: "pull-request", tag: tagFiles, scope: access.Prompt,
		summary: "Show the pull request of a session's branch, with its checks and comments",
		long:    "Asks the forge through its own program (gh, glab or tea) on the server. Not found if there is none." + own,
		fails:   inSession(terret.CodeNotFound, terret.CodeSessionBusy),
	}, s.pullRequest)
	handle(s, route{
		method: "POST", path: "/v1/sessions/{id}/pull-request", id: "open-pull-request", tag: tagFiles, scope: access.Decide,
		summary: "Open a pull request for a session's branch, which was pushed",
		long:    "Through the forge's own program (gh, glab or tea) on the server. If there is an open one, that is returned unchanged." + own,
		fails:   inSession(terret.CodeSessionBusy),
	}, s.openPullRequest)
	for _, r := range []struct {
		name, summary, long string
		do                  func(context.Context, terret.Session) error
	}{
		{"merge", "Merge a session's worktree into the branch that it began at", "That branch must be checked out, without changes, in the folder that the worktree was made from. Everything must be committed. No hook runs.", func(ctx context.Context, x terret.Session) error {
			return s.maker.MergeBack(ctx, x)
		}},
		{"rebase", "Put the commits of a session's worktree on top of the branch that it began at", "If both sides have changed the same lines, nothing happens. Everything must be committed. No hook runs.", func(ctx context.Context, x terret.Session) error {
			return s.maker.Rebase(ctx, x)
		}},
		{"discard", "Remove a session's worktree and its branch, with everything in them", "What was neither merged nor pushed is lost. The session's terminals end. The conversation stays.", func(ctx context.Context, x terret.Session) error {
			return s.maker.Discard(ctx, x, caller(ctx), func() { s.terminals.RemoveAll(x.ID) })
		}},
	} {
		handle(s, route{
			method: "POST", path: "/v1/sessions/{id}/worktree/" + r.name, id: r.name + "-worktree", tag: tagFiles, scope: access.Decide, status: http.StatusNoContent,
			summary: r.summary, long: r.long, fails: inSession(terret.CodeUnsupported, terret.CodeSessionBusy),
		}, func(ctx context.Context, in *SessionPath) (*nothing, error) {
			record, err := s.session(ctx, in.ID)
			if err != nil {
				return nil, err
			}
			if _, err := s.inRoots("cwd", record.Cwd); err != nil && !missing(record.Cwd) {
				return nil, err
			}
			return nil, r.do(ctx, record)
		})
	}
}

// missing reports whether a folder is gone: then there is nothing to see in it.
func missing(dir string) bool {
	_, err := os.Stat(dir)
	return errors.Is(err, fs.ErrNotExist)
}

// SessionBranch is where the branch of a session's folder stands.
type SessionBranch struct {
	forge.Status
	Trusted bool             `json:"trusted" doc:"Hooks may run and the branch may be pushed here."`
	Draft   PullRequestDraft `json:"draft"`
}

// PullRequestDraft is a pull request to open.
type PullRequestDraft struct {
	Title string `json:"title" maxLength:"250"`
	Text  string `json:"text,omitempty" maxLength:"60000"`
	Base  string `json:"base,omitempty" maxLength:"250" doc:"The branch to merge into. Default: the one that the worktree began at, or else the forge's choice."`
	Draft bool   `json:"draft,omitempty" doc:"It is not ready to be merged."`
}

func (s *Server) branch(ctx context.Context, in *SessionPath) (*body[SessionBranch], error) {
	record, err := s.session(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	if _, err := s.inRoots("cwd", record.Cwd); err != nil && !missing(record.Cwd) {
		return nil, err
	}
	at, err := s.maker.Folder(record).Status(ctx)
	if err != nil {
		return nil, err
	}
	draft, err := s.maker.Draft(ctx, record)
	return reply(SessionBranch{
		Status: at, Trusted: s.maker.MayRun != nil && s.maker.MayRun(record.Cwd), Draft: PullRequestDraft{Title: draft.Title, Text: draft.Text},
	}, err)
}

// inOwn runs fn on the folder of a session, in which the person's own git may run.
func inOwn[T any](ctx context.Context, s *Server, session string, fn func(forge.Folder) (T, error)) (*body[T], error) {
	record, err := s.session(ctx, session)
	if err != nil {
		return nil, err
	}
	if _, err := s.inRoots("cwd", record.Cwd); err != nil {
		return nil, err
	}
	done, err := s.forging.begin(ctx, record.ID)
	if err != nil {
		return nil, err
	}
	defer done()
	folder, err := s.maker.Own(record)
	if err != nil {
		return nil, err
	}
	out, err := fn(folder)
	return reply(out, assemble.Conflict(err))
}

// turnsOf has what is done for a session wait for each other.
type turnsOf struct {
	mu  sync.Mutex
	now map[string]chan struct{} // closed when it is over
}

// begin waits until nothing else is done for the session. The caller must call done.
func (t *turnsOf) begin(ctx context.Context, session string) (done func(), err error) {
	for {
		t.mu.Lock()
		before := t.now[session]
		if before == nil {
			over := make(chan struct{})
			if t.now == nil {
				t.now = map[string]chan struct{}{}
			}
			t.now[session] = over
			t.mu.Unlock()
			return func() {
				t.mu.Lock()
				delete(t.now, session)
				t.mu.Unlock()
				close(over)
			}, nil
		}
		t.mu.Unlock()
		select {
		case <-before:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func (s *Server) pushBranch(ctx context.Context, in *struct {
	SessionPath
	Body *struct {
		Replace bool `json:"replace,omitempty" doc:"Replace what was pushed before, as after a rebase, unless somebody else has pushed since."`
	}
},
) (*body[forge.Pushed], error) {
	return inOwn(ctx, s, in.ID, func(f forge.Folder) (forge.Pushed, error) {
		return f.Push(ctx, in.Body != nil && in.Body.Replace)
	})
}

func (s *Server) pullRequest(ctx context.Context, in *SessionPath) (*body[forge.PullRequest], error) {
	return inOwn(ctx, s, in.ID, func(f forge.Folder) (forge.PullRequest, error) {
		p, found, err := f.PullRequest(ctx)
		if err == nil && !found {
			err = terret.Errorf(terret.CodeNotFound, "there is no pull request for the branch of session %s", in.ID)
		}
		return p, err
	})
}

func (s *Server) openPullRequest(ctx context.Context, in *struct {
	SessionPath
	Body PullRequestDraft
},
) (*body[forge.PullRequest], error) {
	title := strings.TrimSpace(in.Body.Title)
	if title == "" || strings.ContainsAny(title, "\x00\n") || strings.ContainsRune(in.Body.Text, 0) {
		return nil, terret.Invalid("title", "a pull request needs a title of one line")
	}
	if b := in.Body.Base; strings.HasPrefix(b, "-") || strings.ContainsAny(b, "\x00\n ") {
		return nil, terret.Invalid("base", "%.64q is not the name of a branch", b)
	}
	return inOwn(ctx, s, in.ID, func(f forge.Folder) (forge.PullRequest, error) {
		return f.OpenPullRequest(ctx, forge.Draft{Title: title, Text: in.Body.Text, Base: in.Body.Base, Draft: in.Body.Draft})
	})
}
