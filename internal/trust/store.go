package trust

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"
	"unicode/utf8"

	"github.com/terret-dev/terret/internal/files"
)

// Decision is a person's decision about a folder as it is now.
type Decision string

// The decisions.
const (
	Trusted Decision = "trusted"
	Refused Decision = "refused"
	Unknown Decision = "unknown" // nobody was asked, or something has changed since
	Nothing Decision = "nothing" // there is nothing to decide
)

// fileName is the name of the file with the decisions.
const fileName = "trust.json"

// Bounds on what is kept.
const (
	maxStore = 8 << 20
	maxKept  = 16 // decisions about one folder
)

// Store holds the decisions of one person, in a file that any number of processes
// share. It is safe for concurrent use.
type Store struct {
	home   string
	places []Place
}

// Open names the folder that holds the decisions. It need not exist. More are places of
// agents beside those that are known here.
func Open(home string, more ...Place) *Store { return &Store{home: home, places: more} }

// record is one decision.
type record struct {
	Hash    string    `json:"hash"`
	Trusted bool      `json:"trusted"`
	By      string    `json:"by"`
	At      time.Time `json:"at"`
}

// content is the file.
type content struct {
	Version int                 `json:"version"`
	Folders map[string][]record `json:"folders"` // the latest decision last
}

const version = 1

// Check inspects a folder and returns the decision about it. If there is an error,
// nothing is trusted.
func (s *Store) Check(dir string) (Decision, State, error) { return s.CheckCopy(dir, dir) }

// CheckCopy inspects a folder that is a copy of another, and returns the decision about
// the other when its content was exactly the same.
func (s *Store) CheckCopy(dir, other string) (Decision, State, error) {
	state, err := Inspect(dir, s.places...)
	if err != nil {
		return Unknown, State{}, err
	}
	if state.Empty() {
		return Nothing, state, nil
	}
	all, err := s.read()
	if err != nil {
		return Unknown, state, err
	}
	name, err := resolve(other)
	if err != nil {
		return Unknown, state, err
	}
	for _, r := range all.Folders[name] {
		if r.Hash != state.Hash || state.Problem != "" {
			continue
		}
		if r.Trusted {
			return Trusted, state, nil
		}
		return Refused, state, nil
	}
	return Unknown, state, nil
}

// Decide records a person's decision about a folder whose state had that hash. It fails
// if the folder has changed since, or cannot be trusted.
func (s *Store) Decide(dir, hash string, trusted bool, by string) error {
	state, err := Inspect(dir, s.places...)
	switch {
	case err != nil:
		return err
	case state.Problem != "":
		return fmt.Errorf("%s cannot be trusted: %s", state.Folder, state.Problem)
	case hash == "" || state.Hash != hash:
		return fmt.Errorf("%s has changed since you looked at it; look again", state.Folder)
	case !utf8.ValidString(state.Folder):
		return fmt.Errorf("%q cannot be trusted: its name is not UTF-8", state.Folder)
	}
	if err := os.MkdirAll(s.home, 0o700); err != nil {
		return err
	}
	lock, err := files.OpenLocked(context.Background(), filepath.Join(s.home, fileName+".lock"))
	if err != nil {
		return fmt.Errorf("cannot lock the trust decisions: %w", err)
	}
	defer lock.Close()
	known, err := s.read()
	if err != nil {
		return err
	}
	kept := []record{}
	for _, r := range known.Folders[state.Folder] {
		if r.Hash != hash {
			kept = append(kept, r)
		}
	}
	kept = append(kept[max(0, len(kept)-maxKept+1):], record{Hash: hash, Trusted: trusted, By: by, At: time.Now().UTC().Round(0)})
	known.Folders[state.Folder] = kept
	return s.write(known)
}

func (s *Store) path() string { return filepath.Join(s.home, fileName) }

// read returns the content of the file, or nothing if there is none.
func (s *Store) read() (content, error) {
	none := content{Version: version, Folders: map[string][]record{}}
	f, err := os.OpenFile(s.path(), os.O_RDONLY|nonBlocking, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return none, nil
	}
	if err != nil {
		return none, fmt.Errorf("cannot read the trust decisions: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return none, fmt.Errorf("cannot read the trust decisions: %w", err)
	}
	switch {
	case !info.Mode().IsRegular():
		return none, s.bad("is not a regular file")
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o022 != 0:
		return none, fmt.Errorf("others can write to %s, so it is ignored; `chmod 600` it if you know what is in it", s.path())
	}
	text, err := io.ReadAll(io.LimitReader(f, maxStore+1))
	if err != nil {
		return none, fmt.Errorf("cannot read the trust decisions: %w", err)
	}
	if len(text) > maxStore {
		return none, s.bad("is too large")
	}
	var out content
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&out); err != nil {
		return none, s.bad("cannot be read: " + err.Error())
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return none, s.bad("contains data after its end")
	}
	if out.Version != version {
		return none, fmt.Errorf("%s has version %d, which this terret does not support; use the newer terret that wrote it", s.path(), out.Version)
	}
	if out.Folders == nil {
		out.Folders = none.Folders
	}
	return out, nil
}

func (s *Store) bad(what string) error {
	return fmt.Errorf("%s %s, so no folder is trusted; remove it to start over", s.path(), what)
}

// write replaces the file.
func (s *Store) write(c content) error {
	text, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	return files.Write(s.path(), append(text, '\n'))
}
