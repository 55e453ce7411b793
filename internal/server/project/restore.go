package project

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/terret-dev/terret"
)

// Bounds of what is read: anybody may have put files into a folder.
const (
	maxSessions    = 10_000
	maxSessionFile = 64 << 10
	maxName        = 512
)

// Sessions are the sessions whose files a project's folder holds, as they may be made
// again after the database is lost. They grant nothing: their policy is to ask. The
// error names every file that is not one, and goes with the sessions of the others.
func Sessions(project string) ([]terret.Session, error) {
	cwd, err := filepath.Abs(project)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(cwd)
	if err != nil {
		return nil, err
	}
	defer done(root)
	dir, err := subfolder(root, folderName, 0)
	if err != nil {
		return nil, ignoreMissing(err)
	}
	defer done(dir)
	files, err := subfolder(dir, sessionsName, 0)
	if err != nil {
		return nil, ignoreMissing(err)
	}
	defer done(files)
	entries, err := fs.ReadDir(files.FS(), ".")
	if err != nil {
		return nil, err
	}
	var found []terret.Session
	var faults []error
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".json") {
			continue
		}
		if len(found) == maxSessions {
			return found, errors.Join(append(faults, fmt.Errorf("there are more than %d sessions", maxSessions))...)
		}
		s, err := readSession(files, e.Name(), cwd)
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", e.Name(), err))
			continue
		}
		found = append(found, s)
	}
	return found, errors.Join(faults...)
}

// readSession reads a session's file. The session gets the folder in which the file is,
// wherever that was before.
func readSession(dir *os.Root, name, cwd string) (terret.Session, error) {
	if info, err := dir.Lstat(name); err != nil || !info.Mode().IsRegular() {
		return terret.Session{}, errors.Join(err, errors.New("it is not a file"))
	}
	f, err := dir.Open(name)
	if err != nil {
		return terret.Session{}, err
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, maxSessionFile+1))
	if err != nil {
		return terret.Session{}, err
	}
	if len(content) > maxSessionFile {
		return terret.Session{}, errors.New("it is too large")
	}
	var file sessionFile
	if err := json.NewDecoder(bytes.NewReader(content)).Decode(&file); err != nil {
		return terret.Session{}, err
	}
	if file.Agent == "" {
		file.Agent = firstAgent
	}
	s := terret.Session{
		ID: file.ID, Agent: file.Agent, NativeID: file.ClaudeSessionID, Title: file.Title, Cwd: cwd, Persona: file.Persona,
		Mode: file.Mode, OneShot: file.OneShot, Policy: terret.PolicyAsk, State: terret.SessionPending,
	}
	if err := checkID(s); err != nil || s.ID+".json" != name {
		return terret.Session{}, errors.Join(err, errors.New("its name is not the id of its session"))
	}
	for _, word := range []string{s.Agent, string(s.NativeID), string(s.Persona)} {
		if len(word) > maxName || terret.CheckWord("", word) != nil {
			return terret.Session{}, fmt.Errorf("%.64q is not a name", word)
		}
	}
	if err := s.Mode.Validate(); err != nil {
		return terret.Session{}, err
	}
	created, err := time.Parse(isoTime, file.CreatedAt)
	if err != nil {
		return terret.Session{}, err
	}
	s.CreatedAt = terret.TimeOf(created)
	return s, nil
}

// firstAgent is the agent of files that do not name one: there was only this one. It is a
// word of the file format (claudeSessionId is another), so no driver can say it.
const firstAgent = "claude"
