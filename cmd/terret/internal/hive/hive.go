// Package hive reads the sessions of Hive, a desktop app for coding agents, out of its
// database, so that they can go on in Terret.
//
// Hive keeps the agent's own session id in the column opencode_session_id, whichever the
// agent is: the name is older than the second agent. Which agent it is stands in
// agent_sdk, "opencode" or "claude-code". Databases from before that column know only
// OpenCode, which is also what its default says.
package hive

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/lite"
)

// firstAgent is the agent of rows that do not name one.
const firstAgent = "opencode"

// maxName bounds ids and names: the file is another program's.
const maxName = 512

// Sessions are the sessions of a database that an agent has begun, as they may be made
// here: with their ids and titles, in the folder of their worktree or else of their
// project. They grant nothing: their policy is to ask. The agent is named as Hive names
// it. The error says what is wrong with each row that is left out, and goes with the
// others. Nothing is written to the database; Hive may be running.
func Sessions(path string) ([]terret.Session, error) {
	if info, err := os.Stat(path); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a file", path)
	}
	db, err := lite.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = db.Close() }() // it was only read
	if err := db.Exec(`PRAGMA query_only = 1`); err != nil {
		return nil, err
	}
	columns, err := names(db)
	if e, ok := errors.AsType[*lite.Error](err); ok && e.Primary() == sqlite3.SQLITE_NOTADB {
		return nil, fmt.Errorf("%s is not a database of Hive", path)
	}
	if err != nil {
		return nil, err
	}
	if !slices.Contains(columns, "opencode_session_id") {
		return nil, fmt.Errorf("%s is not a database of Hive: it has no sessions with an opencode_session_id", path)
	}
	agent := "NULL"
	if slices.Contains(columns, "agent_sdk") {
		agent = "s.agent_sdk"
	}
	rows := db.Query(`SELECT s.id, s.name, s.opencode_session_id, ` + agent + `, s.created_at, coalesce(w.path, p.path)
		FROM sessions s LEFT JOIN worktrees w ON w.id = s.worktree_id LEFT JOIN projects p ON p.id = s.project_id
		WHERE s.opencode_session_id <> '' ORDER BY s.created_at, s.id`)
	var found []terret.Session
	var faults []error
	for rows.Next() {
		s, err := session(rows)
		if err != nil {
			faults = append(faults, fmt.Errorf("session %.64q: %w", rows.Text(0), err))
			continue
		}
		found = append(found, s)
	}
	return found, errors.Join(append(faults, rows.Close())...)
}

// names are the columns of the table of sessions.
func names(db *lite.Conn) (out []string, err error) {
	rows := db.Query(`SELECT name FROM pragma_table_info('sessions')`)
	for rows.Next() {
		out = append(out, rows.Text(0))
	}
	return out, rows.Close()
}

func session(r *lite.Rows) (terret.Session, error) {
	s := terret.Session{
		ID: r.Text(0), Title: r.Text(1), NativeID: terret.NullString(r.Text(2)), Agent: r.Text(3), Cwd: r.Text(5),
		Mode: terret.ModeDirect, Policy: terret.PolicyAsk, State: terret.SessionPending,
	}
	if s.Agent == "" {
		s.Agent = firstAgent
	}
	if !terret.ValidID("", s.ID) {
		return s, errors.New("its id is not a UUID")
	}
	for _, word := range []string{s.Agent, string(s.NativeID)} {
		if len(word) > maxName || terret.CheckWord("", word) != nil {
			return s, fmt.Errorf("%.64q is not a name", word)
		}
	}
	if len(s.Title) > maxName {
		return s, errors.New("its name is too long")
	}
	if info, err := os.Stat(s.Cwd); err != nil || !info.IsDir() {
		return s, fmt.Errorf("there is no folder %.256q", s.Cwd)
	}
	created, err := time.Parse(time.RFC3339, r.Text(4))
	if err != nil {
		return s, err
	}
	s.CreatedAt = terret.TimeOf(created)
	return s, nil
}
