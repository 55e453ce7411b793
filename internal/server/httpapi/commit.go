package httpapi

import (
	"context"
	"errors"
	"strings"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/server/access"
	"github.com/terret-dev/terret/internal/server/assemble"
	"github.com/terret-dev/terret/internal/workfiles"
	"github.com/terret-dev/terret/internal/worktree"
)

func (s *Server) commitRoutes() {
	handle(s, route{
		method: "POST", path: "/v1/sessions/{id}/commit", id: "commit", tag: tagFiles, scope: access.Decide,
		summary: "Commit changed files of a session's folder",
		long:    "Commits exactly the files that are named, in the name of git's own user; what else is staged stays staged. Each must be in the state in which the list of changes showed it. Without hooks, none runs and nothing is signed; with them, hooks may change what is committed. Either way this needs a token that may decide. A merge in progress, a missing name and the like are conflicts that say what to do.",
		fails:   inSession(terret.CodeUnsupported, terret.CodeSessionBusy),
	}, s.commit)
}

type newCommit struct {
	Message string `json:"message" minLength:"1" maxLength:"65536"`
	Hooks   bool   `json:"hooks,omitempty" doc:"Commit as git is set on the server: hooks of the repository run, and the commit is signed if git is set so. The folder must be trusted."`
	Files   []struct {
		Path  string `json:"path" minLength:"1" doc:"As the list of changes has it."`
		State string `json:"state" minLength:"1" doc:"The state of the change, as the list has it."`
	} `json:"files" minItems:"1" maxItems:"2000" nullable:"false"`
}

type committed struct {
	Commit string `json:"commit" doc:"The id of the commit."`
	Files  int    `json:"files"`
}

func (s *Server) commit(ctx context.Context, in *struct {
	SessionPath
	Body newCommit
},
) (*body[committed], error) {
	return inFolder(ctx, s, in.ID, func(record terret.Session, dir *workfiles.Folder) (committed, error) {
		message := strings.TrimSpace(in.Body.Message)
		if message == "" || strings.ContainsRune(message, 0) {
			return committed{}, terret.Invalid("message", "a commit needs a message")
		}
		if record.State.Working() {
			return committed{}, terret.Errorf(terret.CodeSessionBusy, "a turn is running in session %s; wait until it ends, or stop it, before you commit", record.ID)
		}
		changes, err := s.working(ctx, record, dir, false)
		if err != nil {
			return committed{}, err
		}
		if changes.Since != "head" {
			return committed{}, terret.Errorf(terret.CodeUnsupported, "%s is not in a git repository, so there is nothing to commit to", record.Cwd)
		}
		now := map[string]workfiles.Change{}
		for _, c := range changes.Items {
			now[c.Path] = c
		}
		var files []worktree.Seen
		for _, f := range in.Body.Files {
			c := now[f.Path]
			if c.State != f.State {
				return committed{}, terret.Errorf(terret.CodeConflict, "%s has changed since you looked at it, so nothing was committed; look at it again", f.Path)
			}
			files = append(files, worktree.Seen{Path: c.Path, Mode: c.NowMode, ID: c.NowID})
		}
		if in.Body.Hooks {
			id, err := s.commitOwn(ctx, record, message, files)
			return committed{Commit: id, Files: len(files)}, err
		}
		id, err := worktree.CommitFiles(ctx, record.Cwd, message, changes.Head, files)
		if why, ok := errors.AsType[*worktree.RefusedError](err); ok {
			return committed{}, terret.Errorf(terret.CodeConflict, "%s", why.Reason)
		}
		return committed{Commit: id, Files: len(files)}, err
	})
}

// commitOwn commits as the person's own git does.
func (s *Server) commitOwn(ctx context.Context, record terret.Session, message string, files []worktree.Seen) (string, error) {
	folder, err := s.maker.Own(record)
	if err != nil {
		return "", err
	}
	paths := make([]string, len(files))
	for i, f := range files {
		paths[i] = f.Path
	}
	id, err := folder.Commit(ctx, message, paths)
	return id, assemble.Conflict(err)
}
