package opencode

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/seat"
	"github.com/terret-dev/terret/internal/brief"
	"github.com/terret-dev/terret/internal/lite"
)

// database is the agent's own database; empty if there is none.
func (d *Driver) database() string {
	data := seat.Lookup(d.cfg.Environ, "XDG_DATA_HOME")
	if data == "" {
		home := seat.Lookup(d.cfg.Environ, "HOME")
		if home == "" {
			return ""
		}
		data = filepath.Join(home, ".local", "share")
	}
	path := filepath.Join(data, "opencode", "opencode.db")
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	return path
}

// busy is how long to wait while the agent writes, in milliseconds.
const busy = "PRAGMA busy_timeout = 2000"

// read opens the agent's own database for reading. Nothing is open if there is none.
func (d *Driver) read(ctx context.Context) (db *lite.Conn, done func(), err error) {
	path := d.database()
	if path == "" {
		return nil, func() {}, nil
	}
	db, err = lite.OpenReadOnly(path)
	if err != nil {
		return nil, nil, err
	}
	stop := context.AfterFunc(ctx, db.Interrupt)
	if err := db.Exec(busy); err != nil {
		stop()
		return nil, nil, errors.Join(err, db.Close())
	}
	return db, func() {
		stop()
		_ = db.Close() // it was only read
	}, nil
}

// Discover implements terret.Discoverer. The sessions of subagents are left out.
func (d *Driver) Discover(ctx context.Context) ([]terret.Discovered, error) {
	db, done, err := d.read(ctx)
	if db == nil || err != nil {
		return nil, err
	}
	defer done()
	rows := db.Query(`SELECT s.id, s.directory, s.title, s.time_updated,
		(SELECT coalesce(sum(length(p.data)), 0) FROM (SELECT data FROM part WHERE session_id = s.id LIMIT 1000) p)
		FROM session s WHERE s.parent_id IS NULL AND EXISTS (SELECT 1 FROM message m WHERE m.session_id = s.id)`)
	var out []terret.Discovered
	for rows.Next() {
		id := rows.Text(0)
		if !isSession(id) {
			continue
		}
		out = append(out, terret.Discovered{
			Agent: Name, NativeID: id, Cwd: rows.Text(1), Title: brief.Cut(brief.Line(rows.Text(2)), 80),
			UpdatedAt: terret.TimeOf(time.UnixMilli(rows.Int(3))), Size: rows.Int(4),
		})
	}
	return out, cmp.Or(rows.Close(), context.Cause(ctx))
}

// isSession reports whether OpenCode could have given a session this id.
func isSession(id string) bool {
	rest, ok := strings.CutPrefix(id, "ses_")
	return ok && !strings.ContainsFunc(rest, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && r != '_' && r != '-'
	})
}

// Recall implements terret.Discoverer.
func (d *Driver) Recall(ctx context.Context, nativeID string) iter.Seq2[terret.Event, error] {
	return seat.Recall(func(out *seat.Recalling) error {
		db, done, err := d.read(ctx)
		if err != nil {
			return err
		}
		if db == nil {
			return terret.Errorf(terret.CodeNotFound, "OpenCode has no session %s", nativeID)
		}
		defer done()
		said := false
		rows := db.Query(`SELECT m.id, m.time_created, m.data, p.id, p.data FROM message m LEFT JOIN part p ON p.message_id = m.id
			WHERE m.session_id = ? ORDER BY m.time_created, m.id, p.id`, nativeID)
		r := recalling{Recalling: out}
		for err == nil && rows.Next() {
			said = true
			err = r.part(rows)
		}
		err = cmp.Or(err, rows.Close(), context.Cause(ctx))
		if err == nil {
			err = r.flush()
		}
		if err == nil && !said {
			err = terret.Errorf(terret.CodeNotFound, "OpenCode has no session %s", nativeID)
		}
		return err
	})
}

// recalling turns the rows of a session into events.
type recalling struct {
	*seat.Recalling
	id     string // of the message that is read
	info   messageInfo
	prompt []terret.Block // of a person, until the message is whole
}

func (r *recalling) part(rows *lite.Rows) error {
	if id := rows.Text(0); id != r.id {
		if err := r.flush(); err != nil {
			return err
		}
		r.id, r.info, r.prompt, r.At = id, messageInfo{}, nil, time.UnixMilli(rows.Int(1))
		if json.Unmarshal(rows.Bytes(2), &r.info) != nil {
			r.info = messageInfo{} // of another version
		}
		if r.info.Role == "assistant" && r.Open() {
			r.Usage = r.Usage.Add(r.info.Tokens.usage())
		}
	}
	var p part
	if rows.Null(3) || json.Unmarshal(rows.Bytes(4), &p) != nil {
		return nil
	}
	if r.info.Role == "user" {
		if p.Type == "text" && !p.Synthetic && !p.Ignored && strings.TrimSpace(p.Text) != "" {
			r.prompt = append(r.prompt, terret.Text(p.Text))
		}
		return nil
	}
	if r.info.Role != "assistant" || !r.Open() {
		return nil
	}
	if p.Time.End > 0 {
		r.At = time.UnixMilli(p.Time.End)
	}
	return r.say(rows.Text(3), &p)
}

func (r *recalling) say(id string, p *part) error {
	message := func(b terret.Block) error {
		return r.Emit(terret.Event{Data: terret.MessageComplete{MessageID: id, Role: terret.RoleAssistant, Blocks: []terret.Block{b}}})
	}
	switch p.Type {
	case "text":
		r.Text = p.Text
		return message(terret.Text(p.Text))
	case "reasoning":
		return message(terret.Block{Type: terret.BlockThinking, Text: p.Text})
	case "tool":
	default:
		return nil
	}
	s := p.State
	input := terret.JSON(s.Input)
	if len(input) == 0 {
		input = terret.JSON("{}")
	}
	pre := terret.Event{Data: terret.ToolPre{ToolID: p.CallID, Name: p.Tool, Class: classOf(p.Tool), Input: input, Title: brief.Line(s.Title)}}
	took := max(0, s.Time.End-s.Time.Start)
	if s.Status == "completed" {
		return r.Emit(pre, terret.Event{Data: terret.ToolPost{ToolID: p.CallID, Name: p.Tool, Content: []terret.Block{terret.Text(s.Output)}, DurationMS: took}})
	}
	return r.Emit(pre, terret.Event{Data: terret.ToolFailure{ToolID: p.CallID, Name: p.Tool, Error: brief.Cut(cmp.Or(s.Error, "the record has no result"), 500), DurationMS: took, Interrupted: s.Error == ""}})
}

// flush begins the turn of a prompt that is whole.
func (r *recalling) flush() error {
	if r.prompt == nil {
		return nil
	}
	words, id := r.prompt, r.id
	r.prompt = nil
	return r.Begin(words, id)
}
