package httpapi

import (
	"context"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/internal/server/access"
	"github.com/terret-dev/terret/internal/workfiles"
)

func (s *Server) folderRoutes() {
	handle(s, route{
		method: "GET", path: "/v1/roots", id: "list-roots", tag: tagFiles, scope: access.View,
		summary: "List the folders that sessions may work in",
		long:    "Their subfolders are allowed too.",
	}, s.listRoots)
	handle(s, route{
		method: "GET", path: "/v1/dirs", id: "list-dirs", tag: tagFiles, scope: access.View,
		summary: "List the subfolders of a folder",
		long:    "To choose one to work in. The folder must be inside one of the roots.",
		fails:   []terret.ErrorCode{terret.CodeNotFound, terret.CodeConflict},
	}, s.listDirs)
	handle(s, route{
		method: "GET", path: "/v1/files", id: "list-files", tag: tagFiles, scope: access.View,
		summary: "List a folder of a session",
		long:    "Links that lead out of the session's folder are not followed.",
		fails:   inSession(terret.CodeNotFound),
	}, s.listFiles)
	handle(s, route{
		method: "GET", path: "/v1/files/content", id: "read-file", tag: tagFiles, scope: access.View,
		summary: "Read a file in a session's folder",
		long:    "Large files are cut.",
		fails:   inSession(terret.CodeNotFound),
	}, s.readFile)
	handle(s, route{
		method: "GET", path: "/v1/files/raw", id: "download-file", tag: tagFiles, scope: access.View,
		summary: "Download a file in a session's folder",
		long:    "The file's own bytes, up to 1 GB, which browsers are told to keep as a file and not to look into.",
		fails:   inSession(terret.CodeNotFound),
		answers: func(huma.Registry) map[string]*huma.Response {
			return map[string]*huma.Response{"200": written("The file", &huma.Schema{Type: huma.TypeString, Format: "binary"}, "application/octet-stream")}
		},
	}, s.downloadFile)
	handle(s, route{
		method: "GET", path: "/v1/files/find", id: "find-files", tag: tagFiles, scope: access.View,
		summary: "Find files in a session's folder by letters of their path",
		long:    "Best matches first. Ignored files are left out.",
		fails:   inSession(),
	}, s.findFiles)
	handle(s, route{
		method: "GET", path: "/v1/sessions/{id}/changes", id: "changes", tag: tagFiles, scope: access.View,
		summary: "Show what has changed in a session's folder, or in one turn",
		long:    "Returns unified diffs. Without a turn: against the last commit or, outside a repository, the state before the first turn.",
		fails:   inSession(terret.CodeNotFound, terret.CodeUnsupported),
	}, s.changes)
	handle(s, route{
		method: "POST", path: "/v1/sessions/{id}/changes/take-back", id: "take-back", tag: tagFiles, scope: access.Prompt,
		summary: "Take back the change of one file, or some of its hunks",
		long:    "The file becomes what the list of changes compares it with, or loses only the hunks that are named. If it is no longer in the state that the caller saw, or not as the turn left it, that is a conflict and nothing is touched. What was there is kept as a copy, which restore-copy puts back. The conversation stays as it is.",
		fails:   inSession(terret.CodeNotFound, terret.CodeUnsupported, terret.CodeSessionBusy),
	}, s.takeBack)
}

// inRoots returns the folder's real path, if it is inside one of the roots.
func (s *Server) inRoots(field, dir string) (string, error) {
	if dir == "" {
		return "", terret.Invalid(field, "say which folder the agent should work in")
	}
	real, err := s.roots.Resolve(dir)
	if err != nil {
		e := *terret.AsError(err)
		if e.Code == terret.CodeNotFound {
			e.Code = terret.CodeInvalidRequest
		}
		e.Message = field + ": " + strings.TrimPrefix(e.Message, e.Field+": ")
		e.Field = field
		return "", &e
	}
	return real, nil
}

func (s *Server) listRoots(ctx context.Context, _ *struct{}) (*body[terret.Page[workfiles.Root]], error) {
	if err := everywhere(ctx); err != nil {
		return nil, err
	}
	return page(s.roots.List(), nil)
}

func (s *Server) listDirs(ctx context.Context, in *struct {
	Path string `query:"path" required:"true" doc:"An absolute path inside one of the roots."`
},
) (*body[workfiles.Subfolders], error) {
	if err := everywhere(ctx); err != nil {
		return nil, err
	}
	return reply(s.roots.Dirs(ctx, in.Path))
}

// inFolder runs fn on the folder of a session that the caller may see.
func inFolder[T any](ctx context.Context, s *Server, session string, fn func(terret.Session, *workfiles.Folder) (T, error)) (*body[T], error) {
	record, err := s.session(ctx, session)
	if err != nil {
		return nil, err
	}
	if _, err := s.inRoots("cwd", record.Cwd); err != nil {
		return nil, err // another program made the session elsewhere
	}
	dir, err := workfiles.Open(record.Cwd, s.cfg.Home, s.cfg.Roots...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = dir.Close() }()
	return reply(fn(record, dir))
}

func (s *Server) listFiles(ctx context.Context, in *struct {
	Session string `query:"session" required:"true"`
	Path    string `query:"path" doc:"Path relative to the session's folder. Default: the folder itself."`
	Changes bool   `query:"changes" doc:"Mark what has changed."`
},
) (*body[workfiles.Listing], error) {
	return inFolder(ctx, s, in.Session, func(record terret.Session, dir *workfiles.Folder) (workfiles.Listing, error) {
		var marks []workfiles.Change
		if in.Changes {
			if found, err := s.working(ctx, record, dir, false); err == nil { // otherwise there is nothing to mark
				marks = found.Items
			}
		}
		return dir.List(ctx, in.Path, marks)
	})
}

func (s *Server) readFile(ctx context.Context, in *struct {
	Session string `query:"session" required:"true"`
	Path    string `query:"path" required:"true" doc:"Path relative to the session's folder."`
},
) (*body[workfiles.Content], error) {
	return inFolder(ctx, s, in.Session, func(_ terret.Session, dir *workfiles.Folder) (workfiles.Content, error) {
		return dir.Read(ctx, in.Path)
	})
}

// downloadFile opens the file before it answers, so that no file is an error.
func (s *Server) downloadFile(ctx context.Context, in *struct {
	Session string `query:"session" required:"true"`
	Path    string `query:"path" required:"true" doc:"Path relative to the session's folder."`
},
) (*turnAnswer, error) {
	opened, err := inFolder(ctx, s, in.Session, func(_ terret.Session, dir *workfiles.Folder) (*workfiles.Download, error) {
		return dir.Download(in.Path)
	})
	if err != nil {
		return nil, err
	}
	f := opened.Body
	return &turnAnswer{Body: func(c huma.Context) {
		_, w := humago.Unwrap(c)
		defer func() { _ = f.Close() }()
		h := w.Header()
		h.Set("Content-Type", "application/octet-stream")
		h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": f.Name}))
		if _, err := io.Copy(w, f); err != nil {
			panic(http.ErrAbortHandler) // a short file would look complete
		}
	}}, nil
}

func (s *Server) findFiles(ctx context.Context, in *struct {
	Session string `query:"session" required:"true"`
	Q       string `query:"q"`
	Limit   int    `query:"limit" minimum:"1" maximum:"200"`
},
) (*body[workfiles.Matches], error) {
	return inFolder(ctx, s, in.Session, func(_ terret.Session, dir *workfiles.Folder) (workfiles.Matches, error) {
		return dir.Find(ctx, in.Q, in.Limit)
	})
}

func (s *Server) changes(ctx context.Context, in *struct {
	SessionPath
	Turn string `query:"turn" doc:"Only what this turn changed."`
	Diff string `query:"diff" enum:"0,1" doc:"0 omits the diffs."`
},
) (*body[workfiles.Changes], error) {
	return inFolder(ctx, s, in.ID, func(record terret.Session, dir *workfiles.Folder) (workfiles.Changes, error) {
		diffs := in.Diff != "0"
		if in.Turn == "" {
			return s.working(ctx, record, dir, diffs)
		}
		turns, err := s.store.Turns(ctx, record.ID)
		if err != nil {
			return workfiles.Changes{}, err
		}
		if t := turnIn(turns, in.Turn); t != nil {
			return s.turnChanges(ctx, record, *t, dir, diffs)
		}
		return workfiles.Changes{}, terret.Errorf(terret.CodeNotFound, "session %s has no turn %.64q", record.ID, in.Turn)
	})
}

// turnChanges returns what changed in a turn, and who else may have done it.
func (s *Server) turnChanges(ctx context.Context, record terret.Session, t terret.Turn, dir *workfiles.Folder, diffs bool) (workfiles.Changes, error) {
	c, err := dir.Turn(ctx, t.Before, t.After, diffs)
	if err != nil {
		return c, err
	}
	others, err := s.engine.Others(ctx, record, t)
	for i := range c.Items {
		c.Items[i].By = others.By(c.Items[i].Path)
	}
	return c, err
}

type newTakeBack struct {
	Path  string `json:"path" minLength:"1" doc:"As the list of changes has it."`
	State string `json:"state" minLength:"1" doc:"The state of the change, as the list has it."`
	Turn  string `json:"turn,omitempty" doc:"What this turn changed. Default: all that has changed, as the list has it without a turn."`
	Hunks []int  `json:"hunks,omitempty" maxItems:"10000" nullable:"false" doc:"Hunks of the diff, counted from 0. Default: the whole change."`
}

func (s *Server) takeBack(ctx context.Context, in *struct {
	SessionPath
	Body newTakeBack
},
) (*body[engine.Restored], error) {
	return inFolder(ctx, s, in.ID, func(record terret.Session, dir *workfiles.Folder) (engine.Restored, error) {
		back, err := s.planBack(ctx, record, dir, in.Body)
		if err != nil {
			return engine.Restored{}, err
		}
		added, removed := back.Lines()
		return s.engine.TakeBack(ctx, record.ID, caller(ctx), engine.Replacement{
			Path: back.Path, Now: (*engine.File)(back.Now), Wanted: (*engine.File)(back.Wanted), Insertions: added, Deletions: removed,
		})
	})
}

func (s *Server) planBack(ctx context.Context, record terret.Session, dir *workfiles.Folder, want newTakeBack) (workfiles.Back, error) {
	turns, err := s.store.Turns(ctx, record.ID)
	if err != nil {
		return workfiles.Back{}, err
	}
	pick := workfiles.Pick{Path: want.Path, State: want.State, Hunks: want.Hunks}
	if want.Turn == "" {
		return dir.BackWorking(ctx, firstSnapshot(turns), pick)
	}
	if t := turnIn(turns, want.Turn); t != nil {
		return dir.BackTurn(ctx, t.Before, t.After, pick)
	}
	return workfiles.Back{}, terret.Errorf(terret.CodeNotFound, "session %s has no turn %.64q", record.ID, want.Turn)
}

// working returns what has changed in a session's folder so far.
func (s *Server) working(ctx context.Context, record terret.Session, dir *workfiles.Folder, diffs bool) (workfiles.Changes, error) {
	turns, err := s.store.Turns(ctx, record.ID)
	if err != nil {
		return workfiles.Changes{}, err
	}
	return dir.Working(ctx, firstSnapshot(turns), diffs)
}

// firstSnapshot is that of the folder before the session's first turn.
func firstSnapshot(turns []terret.Turn) string {
	for _, t := range turns {
		if t.Before != "" {
			return t.Before
		}
	}
	return ""
}
