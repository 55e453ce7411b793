package native

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/redact"
)

// maxRecording bounds a recording, in bytes.
const maxRecording = 64 << 20

// RecordingPath is the file in Terret's folder in which the traffic of a session with its
// models is recorded.
func RecordingPath(home, session string) string {
	return filepath.Join(home, "recordings", session+".ndjson")
}

// A recording is a list of lines: what a person said, and what the model was asked and
// answered. What is the same as in the call before is left out.
type recordedLine struct {
	Prompt *terret.Prompt `json:"prompt,omitempty"`
	Call   *recordedCall  `json:"call,omitempty"`
}

type recordedCall struct {
	Model    string         `json:"model"`
	Effort   string         `json:"effort,omitempty"`
	System   *string        `json:"system,omitempty"` // nil: as before
	Tools    []recordedTool `json:"tools,omitempty"`  // nil: as before
	Same     int            `json:"same,omitempty"`   // messages as before
	Messages []recordedSaid `json:"messages,omitempty"`

	Reply   []terret.Block `json:"reply,omitempty"`
	Stop    string         `json:"stop,omitempty"`
	Usage   terret.Usage   `json:"usage"`
	Context int64          `json:"context,omitempty"`
	Error   *terret.Error  `json:"error,omitempty"`
}

type recordedTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"`
}

type recordedSaid struct {
	Role   terret.Role    `json:"role"`
	Blocks []terret.Block `json:"blocks"`
}

// asked is a query in the form in which it is recorded, with everything in it.
func asked(model string, q query) recordedCall {
	c := recordedCall{Model: model, Effort: q.effort, System: &q.system, Tools: []recordedTool{}}
	for _, t := range q.tools {
		c.Tools = append(c.Tools, recordedTool{t.name, t.description, t.schema})
	}
	for _, m := range q.messages {
		c.Messages = append(c.Messages, recordedSaid{m.role, m.blocks})
	}
	return c
}

// recorder writes a recording. It is safe for concurrent use.
type recorder struct {
	secrets *redact.Redactor
	warn    func(error)

	mu     sync.Mutex
	file   *os.File // nil once it is full or failed
	size   int64
	system string
	tools  []byte
	before [][]byte // messages of the last call
}

// record opens the recording of the session, if it is to be recorded.
func (a *agent) record() error {
	if !a.req.Settings.Record || a.driver.cfg.Replay != nil {
		return nil
	}
	home := a.driver.cfg.Home
	if home == "" {
		return terret.Errorf(terret.CodeUnsupported, "the session cannot be recorded: there is no data folder")
	}
	path := RecordingPath(home, a.req.Session.ID)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return terret.Errorf(terret.CodeStartupRefused, "the session cannot be recorded: %w", err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return terret.Errorf(terret.CodeStartupRefused, "the session cannot be recorded: %w", err)
	}
	r := &recorder{file: f, secrets: redact.New(redact.FromEnv(a.req.Env)), warn: func(err error) { a.req.Log.Warn("the recording ends here", "session", a.req.Session.ID, "error", err) }}
	if info, err := f.Stat(); err == nil {
		r.size = info.Size()
	}
	a.rec = r
	return nil
}

func (r *recorder) close() error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file == nil {
		return nil
	}
	err := r.file.Close()
	r.file = nil
	return err
}

// said records what a person said.
func (r *recorder) said(p terret.Prompt) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.write(recordedLine{Prompt: &terret.Prompt{Blocks: p.Blocks}})
}

// call records a call of the model.
func (r *recorder) call(model string, q query, a reply, err error) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	c := asked(model, q)
	now := make([][]byte, len(c.Messages))
	for i, m := range c.Messages {
		now[i] = asJSON(m)
		if c.Same == i && i < len(r.before) && bytes.Equal(now[i], r.before[i]) {
			c.Same++
		}
	}
	c.Messages, r.before = c.Messages[c.Same:], now
	tools := asJSON(c.Tools)
	if bytes.Equal(tools, r.tools) {
		c.Tools = nil
	}
	if r.tools != nil && *c.System == r.system {
		c.System = nil
	}
	r.system, r.tools = q.system, tools
	c.Reply, c.Stop, c.Usage, c.Context = a.blocks, a.stopReason, a.usage, a.context
	if err != nil {
		c.Error = terret.AsError(err)
	}
	r.write(recordedLine{Call: &c})
}

// write writes a line. r.mu must be held. A recording that fails does not fail the turn.
func (r *recorder) write(line recordedLine) {
	if r.file == nil {
		return
	}
	b := append(r.secrets.Bytes(asJSON(line)), '\n')
	var err error
	if r.size += int64(len(b)); r.size > maxRecording {
		err = errors.New("it is larger than 64 MB")
	} else {
		_, err = r.file.Write(b)
	}
	if err != nil {
		r.warn(errors.Join(err, r.file.Close()))
		r.file = nil
	}
}

// asJSON is v as JSON.
func asJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		return []byte("null") // schemas of strangers; there is nothing to compare then
	}
	return b
}

// DeleteRecording removes the recording of a session, if there is one.
func DeleteRecording(home, session string) error {
	if err := os.Remove(RecordingPath(home, session)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
