package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/files"
	"github.com/terret-dev/terret/internal/server/access"
	"github.com/terret-dev/terret/internal/server/marks"
)

func (s *Server) markRoutes() {
	handle(s, route{
		method: "GET", path: "/v1/marks", id: "get-marks", tag: tagSessions, scope: access.View,
		summary: "Show which sessions people have pinned, put away, seen and labelled",
		long:    "Marks are for lists that people look at. All who use the server share them, so all devices of a person show the same.",
	}, s.getMarks)
	handle(s, route{
		method: "PATCH", path: "/v1/marks", id: "change-marks", tag: tagSessions, scope: access.Prompt,
		summary: "Pin sessions, put them away, label them, or mark them as seen",
		long:    "What is not named stays as it is. The newest 5,000 marks of each kind are kept, and the newest 10 labels of a session.",
	}, s.changeMarks)
}

// Marks are what people have noted about sessions.
type Marks = marks.Marks

type markChange struct {
	Pin       []string `json:"pin,omitempty" maxItems:"1000"`
	Unpin     []string `json:"unpin,omitempty" maxItems:"1000"`
	Archive   []string `json:"archive,omitempty" maxItems:"1000"`
	Unarchive []string `json:"unarchive,omitempty" maxItems:"1000"`
	Seen      []string `json:"seen,omitempty" maxItems:"1000" doc:"Sessions in which everything has been seen by now."`

	Label   map[string][]string `json:"label,omitempty" maxProperties:"50" doc:"By label, of at most 40 characters: the sessions that get it."`
	Unlabel map[string][]string `json:"unlabel,omitempty" maxProperties:"50" doc:"By label: the sessions that lose it."`
}

const (
	maxMarks  = 5000 // of each kind
	maxLabels = 10   // of a session
	maxLabel  = 40   // characters
)

// check says what is wrong with a change.
func (n markChange) check() error {
	all := slices.Concat(n.Pin, n.Unpin, n.Archive, n.Unarchive, n.Seen)
	for _, words := range []map[string][]string{n.Label, n.Unlabel} {
		for word, ids := range words {
			if strings.TrimSpace(word) != word || word == "" || utf8.RuneCountInString(word) > maxLabel || strings.ContainsFunc(word, unicode.IsControl) {
				return terret.Invalid("body", "%.60q is not a label: it is a word or some, of at most %d characters", word, maxLabel)
			}
			if len(ids) > maxMarks {
				return terret.Invalid("body", "at most %d sessions get a label at once", maxMarks)
			}
			all = append(all, ids...)
		}
	}
	for _, id := range all {
		if checkID(id) != nil {
			return terret.Invalid("body", "%q is not the id of a session", id)
		}
	}
	return nil
}

func (s *Server) getMarks(ctx context.Context, _ *struct{}) (*body[Marks], error) {
	if err := everywhere(ctx); err != nil {
		return nil, err
	}
	return reply(s.marks(ctx))
}

// marks returns what people have noted.
func (s *Server) marks(ctx context.Context) (Marks, error) {
	return marks.Read(ctx, s.fleet, s.cfg.Home)
}

func (s *Server) changeMarks(ctx context.Context, in *struct{ Body markChange }) (_ *body[Marks], err error) {
	if err := everywhere(ctx); err != nil {
		return nil, err
	}
	if s.cfg.Home == "" && s.fleet == nil {
		return nil, terret.Errorf(terret.CodeInternal, "there is no data folder to keep marks in")
	}
	n := in.Body
	if err := n.check(); err != nil {
		return nil, err
	}
	if s.fleet != nil {
		var m Marks
		err := s.fleet.ChangeDocument(ctx, marks.Document, func(old []byte) (_ []byte, err error) {
			if m, err = marks.Parse(old); err != nil {
				return nil, err
			}
			m = withMarks(m, n)
			return json.Marshal(m)
		})
		return reply(m, err)
	}
	lock, err := files.OpenLocked(ctx, filepath.Join(s.cfg.Home, "marks.lock"))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	m, err := s.marks(ctx)
	if err != nil {
		return nil, err
	}
	m = withMarks(m, n)
	text, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	return reply(m, files.Write(marks.File(s.cfg.Home), text))
}

// withMarks is the marks after a change. It changes m.Seen and m.Labels.
func withMarks(m Marks, n markChange) Marks {
	m.Pinned, m.Archived = marked(m.Pinned, n.Pin, n.Unpin), marked(m.Archived, n.Archive, n.Unarchive)
	for _, id := range n.Seen {
		m.Seen[id] = terret.Now()
	}
	for len(m.Seen) > maxMarks {
		delete(m.Seen, slices.MinFunc(slices.Collect(maps.Keys(m.Seen)), func(a, b string) int { return m.Seen[a].Compare(m.Seen[b].Time) }))
	}
	relabel(m.Labels, n.Label, n.Unlabel)
	return m
}

// relabel gives sessions labels, and takes some away. Those of the newest sessions are kept.
func relabel(labels, add, remove map[string][]string) {
	for word, ids := range remove {
		for _, id := range ids {
			labels[id] = slices.DeleteFunc(labels[id], func(l string) bool { return l == word })
			if len(labels[id]) == 0 {
				delete(labels, id)
			}
		}
	}
	for _, word := range slices.Sorted(maps.Keys(add)) {
		for _, id := range add[word] {
			if !slices.Contains(labels[id], word) {
				labels[id] = append(labels[id], word)
			}
			labels[id] = labels[id][max(0, len(labels[id])-maxLabels):]
		}
	}
	if over := len(labels) - maxMarks; over > 0 {
		for _, id := range slices.Sorted(maps.Keys(labels))[:over] { // ids are in the order of time
			delete(labels, id)
		}
	}
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
