package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/access"
	"github.com/terret-dev/terret/internal/atomicfile"
	"github.com/terret-dev/terret/internal/lockfile"
)

func (s *Server) markRoutes() {
	handle(s, route{
		method: "GET", path: "/v1/marks", id: "get-marks", tag: tagSessions, scope: access.View,
		summary: "Show which sessions people have pinned, put away and seen",
		long:    "Marks are for lists that people look at. All who use the server share them, so all devices of a person show the same.",
	}, s.getMarks)
	handle(s, route{
		method: "PATCH", path: "/v1/marks", id: "change-marks", tag: tagSessions, scope: access.Prompt,
		summary: "Pin sessions, put them away, or mark them as seen",
		long:    "What is not named stays as it is. The newest 5,000 marks of each kind are kept.",
	}, s.changeMarks)
}

// Marks are what people have noted about sessions.
type Marks struct {
	Pinned   []string               `json:"pinned" doc:"Sessions, the newest mark last."`
	Archived []string               `json:"archived" doc:"Sessions that were put away, the newest mark last."`
	Seen     map[string]terret.Time `json:"seen" doc:"By session: what happened until then has been seen."`
}

type markChange struct {
	Pin       []string `json:"pin,omitempty" maxItems:"1000"`
	Unpin     []string `json:"unpin,omitempty" maxItems:"1000"`
	Archive   []string `json:"archive,omitempty" maxItems:"1000"`
	Unarchive []string `json:"unarchive,omitempty" maxItems:"1000"`
	Seen      []string `json:"seen,omitempty" maxItems:"1000" doc:"Sessions in which everything has been seen by now."`
}

// maxMarks bounds the marks of each kind.
const maxMarks = 5000

func (s *Server) marksFile() string { return filepath.Join(s.cfg.Home, "marks.json") }

func (s *Server) readMarks() (Marks, error) {
	out := Marks{Pinned: []string{}, Archived: []string{}, Seen: map[string]terret.Time{}}
	text, err := os.ReadFile(s.marksFile())
	if errors.Is(err, os.ErrNotExist) || s.cfg.Home == "" {
		return out, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	return out, err
}

// marksName is the document that holds the marks of a fleet.
const marksName = "marks"

// sharedMarks reads what the nodes of a fleet share.
func sharedMarks(text []byte) (Marks, error) {
	out := Marks{Pinned: []string{}, Archived: []string{}, Seen: map[string]terret.Time{}}
	if text == nil {
		return out, nil
	}
	return out, json.Unmarshal(text, &out)
}

func (s *Server) getMarks(ctx context.Context, _ *struct{}) (*body[Marks], error) {
	if err := everywhere(ctx); err != nil {
		return nil, err
	}
	return reply(s.marks(ctx))
}

// marks returns what people have noted.
func (s *Server) marks(ctx context.Context) (Marks, error) {
	if s.fleet == nil {
		return s.readMarks()
	}
	text, err := s.fleet.Document(ctx, marksName)
	if err != nil {
		return Marks{}, err
	}
	return sharedMarks(text)
}

func (s *Server) changeMarks(ctx context.Context, in *struct{ Body markChange }) (_ *body[Marks], err error) {
	if err := everywhere(ctx); err != nil {
		return nil, err
	}
	if s.cfg.Home == "" && s.fleet == nil {
		return nil, terret.Errorf(terret.CodeInternal, "there is no data folder to keep marks in")
	}
	n := in.Body
	for _, id := range slices.Concat(n.Pin, n.Unpin, n.Archive, n.Unarchive, n.Seen) {
		if checkID(id) != nil {
			return nil, terret.Invalid("body", "%q is not the id of a session", id)
		}
	}
	if s.fleet != nil {
		var m Marks
		err := s.fleet.ChangeDocument(ctx, marksName, func(old []byte) (_ []byte, err error) {
			if m, err = sharedMarks(old); err != nil {
				return nil, err
			}
			m = m.with(n)
			return json.Marshal(m)
		})
		return reply(m, err)
	}
	lock, err := lockfile.Open(ctx, filepath.Join(s.cfg.Home, "marks.lock"))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	m, err := s.readMarks()
	if err != nil {
		return nil, err
	}
	m = m.with(n)
	text, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	return reply(m, atomicfile.Write(s.marksFile(), text))
}

// with is the marks after a change. It changes m.Seen.
func (m Marks) with(n markChange) Marks {
	m.Pinned, m.Archived = marked(m.Pinned, n.Pin, n.Unpin), marked(m.Archived, n.Archive, n.Unarchive)
	for _, id := range n.Seen {
		m.Seen[id] = terret.Now()
	}
	for len(m.Seen) > maxMarks {
		delete(m.Seen, slices.MinFunc(slices.Collect(maps.Keys(m.Seen)), func(a, b string) int { return m.Seen[a].Compare(m.Seen[b].Time) }))
	}
	return m
}

// marked is the list with and without some sessions.
func marked(list, add, remove []string) []string {
	out := slices.DeleteFunc(slices.Clone(list), func(id string) bool { return slices.Contains(add, id) || slices.Contains(remove, id) })
	for _, id := range add {
		if !slices.Contains(out, id) && !slices.Contains(remove, id) {
			out = append(out, id)
		}
	}
	return out[max(0, len(out)-maxMarks):]
}
