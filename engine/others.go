package engine

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"time"

	"github.com/terret-dev/terret"
)

// Others says which changes of a turn may be those of other sessions, which worked in the same
// folder at the same time. The snapshots around a turn hold what everybody did.
type Others struct {
	own    touched
	theirs []touched
}

// touched is what a session did in a folder during a turn of it.
type touched struct {
	session string
	paths   map[string]bool // that its tools named to write to
	loose   bool            // it used tools that may write anywhere, such as commands
}

// By returns the session that may have made a change of the turn, by the path from its folder,
// or "" if nobody else can have. What only the turn's own tools named is its own. What another
// session's tools named is that one's, and so is what nobody named if the other ran commands.
func (o *Others) By(path string) string {
	if o == nil {
		return ""
	}
	for _, t := range o.theirs {
		if t.paths[path] {
			return t.session
		}
	}
	if o.own.paths[path] {
		return ""
	}
	for _, t := range o.theirs {
		if t.loose {
			return t.session
		}
	}
	return ""
}

// Others finds out who else worked in the folder of a session during a turn. It is nil if
// nobody did.
func (e *Engine) Others(ctx context.Context, s terret.Session, t terret.Turn) (*Others, error) {
	around, err := e.around(ctx, s)
	if err != nil || len(around) == 0 {
		return nil, err
	}
	var o Others
	for _, x := range around {
		if x.UpdatedAt.Before(t.StartedAt.Time) || t.EndedAt != nil && x.CreatedAt.After(t.EndedAt.Time) {
			continue
		}
		turns, err := e.store.Turns(ctx, x.ID)
		if err != nil {
			return nil, err
		}
		during := map[string]bool{}
		for _, u := range turns {
			if overlap(t, u) {
				during[u.ID] = true
			}
		}
		if len(during) == 0 {
			continue
		}
		did, err := e.touched(ctx, x, s.Cwd, during)
		if err != nil {
			return nil, err
		}
		o.theirs = append(o.theirs, did)
	}
	if len(o.theirs) == 0 {
		return nil, nil
	}
	o.own, err = e.touched(ctx, s, s.Cwd, map[string]bool{t.ID: true})
	return &o, err
}

// overlap reports whether two turns ran at the same time.
func overlap(a, b terret.Turn) bool {
	before := func(end *terret.Time, start time.Time) bool { return end != nil && end.Before(start) }
	return !before(a.EndedAt, b.StartedAt.Time) && !before(b.EndedAt, a.StartedAt.Time)
}

// maxAround bounds how many sessions of a folder are looked at, the last used first.
const maxAround = 1000

// around lists the other sessions that work in the folder of a session, below or above it.
func (e *Engine) around(ctx context.Context, s terret.Session) (out []terret.Session, err error) {
	list := func(f terret.SessionFilter, wanted func(terret.Session) bool) error {
		for len(out) < maxAround {
			page, err := e.store.ListSessions(ctx, f)
			if err != nil {
				return err
			}
			for _, x := range page.Items {
				if x.ID != s.ID && x.Agent != NoAgent && x.Node == s.Node && wanted(x) {
					out = append(out, x)
				}
			}
			if f.Cursor = page.Next; f.Cursor == "" {
				return nil
			}
		}
		return nil
	}
	below := s.Cwd + string(filepath.Separator)
	err = list(terret.SessionFilter{Query: filepath.Base(s.Cwd)}, func(x terret.Session) bool { return x.Cwd == s.Cwd || strings.HasPrefix(x.Cwd, below) })
	for dir := filepath.Dir(s.Cwd); err == nil && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		err = list(terret.SessionFilter{Cwd: dir}, func(terret.Session) bool { return true })
	}
	return out, err
}

// touched reads from the log of a session what its tools wrote to in some turns. Paths are
// from dir.
func (e *Engine) touched(ctx context.Context, s terret.Session, dir string, turns map[string]bool) (touched, error) {
	out := touched{session: s.ID, paths: map[string]bool{}}
	for entry, err := range e.hub.Entries(ctx, s.ID, terret.KindToolPre) {
		if err != nil {
			return out, err
		}
		ev, err := entry.Decode()
		if err != nil {
			return out, err
		}
		d, ok := ev.Data.(terret.ToolPre)
		if !ok || !turns[ev.Turn] {
			continue
		}
		switch d.Class {
		case terret.ClassEdit:
			named := pathsOf(d)
			out.loose = out.loose || len(named) == 0
			for _, p := range named {
				if !filepath.IsAbs(p) {
					p = filepath.Join(s.Cwd, p)
				}
				if rel, err := filepath.Rel(dir, p); err == nil && filepath.IsLocal(rel) {
					out.paths[filepath.ToSlash(rel)] = true
				}
			}
		case terret.ClassRead, terret.ClassSearch, terret.ClassFetch, terret.ClassAgent, terret.ClassThink:
		default:
			out.loose = true
		}
	}
	return out, nil
}

// pathsOf are the files that a tool names.
func pathsOf(d terret.ToolPre) []string {
	if len(d.Paths) > 0 {
		return d.Paths
	}
	var in map[string]any
	if json.Unmarshal(d.Input, &in) != nil {
		return nil
	}
	for _, key := range []string{"file_path", "filePath", "path", "notebook_path"} {
		if p, ok := in[key].(string); ok && p != "" {
			return []string{p}
		}
	}
	return nil
}
