// Package marks is what people have noted about sessions, for all who share the store: in
// a file of the data folder, or in a document of the fleet.
package marks

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/terret-dev/terret"
)

// Marks are what people have noted about sessions.
type Marks struct {
	Pinned   []string               `json:"pinned" doc:"Sessions, the newest mark last."`
	Archived []string               `json:"archived" doc:"Sessions that were put away, the newest mark last."`
	Seen     map[string]terret.Time `json:"seen" doc:"By session: what happened until then has been seen."`
	Labels   map[string][]string    `json:"labels" doc:"By session: words that people gave it, the newest last."`
}

// Document is the name of the document that holds the marks of a fleet.
const Document = "marks"

// File is the file that holds the marks of a machine.
func File(home string) string { return filepath.Join(home, "marks.json") }

// Parse reads the text of a file or a document; nil means none.
func Parse(text []byte) (Marks, error) {
	out := Marks{Pinned: []string{}, Archived: []string{}, Seen: map[string]terret.Time{}, Labels: map[string][]string{}}
	if text == nil {
		return out, nil
	}
	return out, json.Unmarshal(text, &out)
}

// Read reads the marks of a fleet or, if that is nil, of a machine; home may be empty.
func Read(ctx context.Context, fleet terret.Fleet, home string) (Marks, error) {
	var text []byte
	var err error
	switch {
	case fleet != nil:
		text, err = fleet.Document(ctx, Document)
	case home != "":
		text, err = os.ReadFile(File(home))
		if errors.Is(err, fs.ErrNotExist) {
			text, err = nil, nil
		}
	}
	if err != nil {
		return Marks{}, err
	}
	return Parse(text)
}
