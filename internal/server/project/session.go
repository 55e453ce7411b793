package project

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/files"
)

// sessionFile is the content of a session's file: what the session is, but nothing that
// was said in it, except for its title. [Sessions] reads it.
type sessionFile struct {
	ID          string            `json:"id"`
	CreatedAt   string            `json:"createdAt"`
	UpdatedAt   string            `json:"updatedAt"`
	ProjectRoot string            `json:"projectRoot"`
	Persona     terret.NullString `json:"persona"`
	Mode        terret.Mode       `json:"mode"`
	// ClaudeSessionID is the agent's own session id, whatever the agent.
	ClaudeSessionID terret.NullString `json:"claudeSessionId"`
	Agent           string            `json:"agent"`
	Title           string            `json:"title"`
	OneShot         bool              `json:"oneShot,omitempty"`
}

// isoTime is ISO 8601 with milliseconds.
const isoTime = "2006-01-02T15:04:05.000Z"

func iso(t terret.Time) string { return t.UTC().Format(isoTime) }

func (f *Files) saveSession(dir *os.Root, s terret.Session) error {
	if err := checkID(s); err != nil {
		return err
	}
	mode := s.Mode
	if mode == "" {
		mode = terret.ModeDirect
	}
	content, err := json.MarshalIndent(sessionFile{
		ID: s.ID, CreatedAt: iso(s.CreatedAt), UpdatedAt: iso(s.UpdatedAt), ProjectRoot: s.Cwd,
		Persona: terret.NullString(f.redact.String(string(s.Persona))), Mode: mode, ClaudeSessionID: s.NativeID,
		Agent: s.Agent, Title: f.redact.String(s.Title), OneShot: s.OneShot,
	}, "", "  ")
	if err != nil {
		return err
	}
	sessions, err := subfolder(dir, sessionsName, 0o700)
	if err != nil {
		return err
	}
	defer done(sessions)
	// The log is the truth: this copy need not survive a power cut.
	return files.SwapIn(sessions, s.ID+".json", append(content, '\n'))
}

// changesSession reports whether the session's file must be written after an event.
func changesSession(d terret.Data) bool {
	switch d.(type) {
	case terret.SessionStart, terret.SessionNativeID, terret.SessionUpdated, terret.SessionEnd,
		terret.TurnComplete, terret.TurnError, terret.ProcessExit:
		return true
	}
	return false
}

// removeFiles removes what belongs to the session alone. Missing files are fine.
func removeFiles(s terret.Session) error {
	if err := checkID(s); err != nil {
		return err
	}
	root, err := os.OpenRoot(s.Cwd)
	if err != nil {
		return ignoreMissing(err)
	}
	defer done(root)
	dir, err := subfolder(root, folderName, 0)
	if err != nil {
		return ignoreMissing(err)
	}
	defer done(dir)
	return errors.Join(removeFrom(dir, sessionsName, s.ID+".json"), removeFrom(dir, promptsName, promptName(s)))
}

// removeFrom removes a file and temporary ones that a crash may have left.
func removeFrom(dir *os.Root, folder, name string) error {
	inner, err := subfolder(dir, folder, 0)
	if err != nil {
		return ignoreMissing(err)
	}
	defer done(inner)
	entries, err := fs.ReadDir(inner.FS(), ".")
	for _, e := range entries {
		if e.Name() == name || strings.HasPrefix(e.Name(), name+".") && strings.HasSuffix(e.Name(), ".tmp") {
			err = errors.Join(err, ignoreMissing(inner.Remove(e.Name())))
		}
	}
	return err
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
