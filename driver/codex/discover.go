package codex

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/seat"
	"github.com/terret-dev/terret/internal/brief"
)

// A recorded line is one of the agent's own record of a thread.
type recorded struct {
	Timestamp time.Time `json:"timestamp"`
	Type      string    `json:"type"` // session_meta, response_item, event_msg, and more
	Payload   struct {
		Type      string          `json:"type"`
		ID        string          `json:"id"`
		Cwd       string          `json:"cwd"`
		Source    json.RawMessage `json:"source"` // of session_meta
		Role      string          `json:"role"`
		Name      string          `json:"name"`
		CallID    string          `json:"call_id"`
		Arguments string          `json:"arguments"`
		Input     string          `json:"input"` // of custom_tool_call
		Output    json.RawMessage `json:"output"`
		Content   []struct {
			Type string `json:"type"`
			Text string `json:"text"`
		} `json:"content"`
		Summary []struct {
			Text string `json:"text"`
		} `json:"summary"` // of reasoning
		Info struct {
			Last struct {
				Input      int64 `json:"input_tokens"`
				CacheRead  int64 `json:"cached_input_tokens"`
				CacheWrite int64 `json:"cache_write_input_tokens"`
				Output     int64 `json:"output_tokens"`
				Reasoning  int64 `json:"reasoning_output_tokens"`
			} `json:"last_token_usage"`
		} `json:"info"` // of token_count
	} `json:"payload"`
}

// told are the beginnings of what the agent puts before a person's words.
var told = []string{"<environment_context>", "<user_instructions>", "<INSTRUCTIONS>", "<skills_instructions>", "<permissions", "<turn_aborted>", "# AGENTS.md instructions"}

func (r *recorded) text() string {
	var parts []string
	for _, c := range r.Payload.Content {
		parts = append(parts, c.Text)
	}
	return strings.Join(parts, "\n")
}

// prompt is what a person said there, if it was a person.
func (r *recorded) prompt() string {
	if r.Type != "response_item" || r.Payload.Type != "message" || r.Payload.Role != "user" {
		return ""
	}
	text := strings.TrimSpace(r.text())
	for _, start := range told {
		if strings.HasPrefix(text, start) {
			return ""
		}
	}
	return text
}

// threads is the folder with the agent's own records, by day.
func (d *Driver) threads() string {
	home := seat.Lookup(d.cfg.Environ, "CODEX_HOME")
	if home == "" {
		if home = seat.Lookup(d.cfg.Environ, "HOME"); home == "" {
			return ""
		}
		home = filepath.Join(home, ".codex")
	}
	return filepath.Join(home, "sessions")
}

// peek bounds how much of a record is read to list it: it begins with long instructions.
const peek = 256 << 10

// Discover implements terret.Discoverer.
func (d *Driver) Discover(ctx context.Context) ([]terret.Discovered, error) {
	var out []terret.Discovered
	err := d.walk(ctx, func(path string, info fs.FileInfo) bool {
		found := terret.Discovered{Agent: Name, NativeID: threadOf(path), UpdatedAt: terret.TimeOf(info.ModTime()), Size: info.Size()}
		if describe(path, &found) {
			out = append(out, found)
		}
		return true
	})
	return out, err
}

// walk calls fn for each record until that returns false.
func (d *Driver) walk(ctx context.Context, fn func(path string, info fs.FileInfo) bool) error {
	root := d.threads()
	if root == "" {
		return nil
	}
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			if path == root {
				return err
			}
			return nil // not ours to read
		}
		if !e.Type().IsRegular() || threadOf(path) == "" {
			return nil
		}
		if info, err := e.Info(); err == nil && !fn(path, info) {
			return fs.SkipAll
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// threadOf is the id in "rollout-TIME-ID.jsonl"; empty if it is no such file.
func threadOf(path string) string {
	name, isRecord := strings.CutSuffix(filepath.Base(path), ".jsonl")
	const length = 36
	if !isRecord || !strings.HasPrefix(name, "rollout-") || len(name) < length || !terret.ValidID("", name[len(name)-length:]) {
		return ""
	}
	return name[len(name)-length:]
}

// describe reads the folder and the title at the beginning of a record. It reports whether
// a person has said something there: the threads of subagents begin otherwise.
func describe(path string, found *terret.Discovered) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	begin, err := io.ReadAll(io.LimitReader(f, peek))
	if err != nil {
		return false
	}
	for line := range bytes.Lines(begin) {
		var r recorded
		if json.Unmarshal(line, &r) != nil {
			continue
		}
		if r.Type == "session_meta" {
			if bytes.HasPrefix(r.Payload.Source, []byte("{")) {
				return false // another thread has started it
			}
			found.Cwd = cmp.Or(found.Cwd, r.Payload.Cwd)
		}
		if text := r.prompt(); text != "" {
			found.Title = brief.Cut(brief.Line(text), 80)
			break
		}
	}
	return found.Cwd != "" && (found.Title != "" || len(begin) == peek)
}

// Recall implements terret.Discoverer.
func (d *Driver) Recall(ctx context.Context, nativeID string) iter.Seq2[terret.Event, error] {
	return seat.Recall(func(out *seat.Recalling) error {
		path := ""
		err := d.walk(ctx, func(at string, _ fs.FileInfo) bool {
			if threadOf(at) == nativeID {
				path = at
			}
			return path == ""
		})
		if err == nil && path == "" {
			err = terret.Errorf(terret.CodeNotFound, "Codex has no record of thread %s", nativeID)
		}
		if err != nil {
			return err
		}
		r := &recalling{Recalling: out, calls: map[string]terret.ToolPre{}}
		if err := seat.Lines(path, func(line []byte) error { return cmp.Or(context.Cause(ctx), r.line(line)) }); err != nil {
			return err
		}
		return r.breakOff()
	})
}

// recalling turns the agent's own record of a thread into events.
type recalling struct {
	*seat.Recalling
	calls map[string]terret.ToolPre // that have no result yet
}

func (r *recalling) line(line []byte) error {
	var m recorded
	if json.Unmarshal(line, &m) != nil {
		return nil
	}
	if !m.Timestamp.IsZero() {
		r.At = m.Timestamp
	}
	if text := m.prompt(); text != "" {
		if err := r.breakOff(); err != nil {
			return err
		}
		return r.Begin([]terret.Block{terret.Text(text)}, m.Payload.ID)
	}
	p := &m.Payload
	if !r.Open() {
		return nil
	}
	switch m.Type + " " + p.Type {
	case "response_item message":
		if text := m.text(); p.Role == "assistant" && text != "" {
			r.Text = text
			return r.Emit(terret.Event{Data: terret.MessageComplete{MessageID: p.ID, Role: terret.RoleAssistant, Blocks: []terret.Block{terret.Text(text)}}})
		}
	case "response_item reasoning":
		for _, s := range p.Summary {
			if err := r.Emit(terret.Event{Data: terret.MessageComplete{MessageID: p.ID, Role: terret.RoleAssistant, Blocks: []terret.Block{{Type: terret.BlockThinking, Text: s.Text}}}}); err != nil {
				return err
			}
		}
	case "response_item function_call", "response_item custom_tool_call":
		return r.call(&m)
	case "response_item function_call_output", "response_item custom_tool_call_output":
		return r.result(&m)
	case "event_msg token_count":
		u := p.Info.Last
		r.Usage = r.Usage.Add(tokens{Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite, Reasoning: u.Reasoning}.usage())
	}
	return nil
}

func (r *recalling) call(m *recorded) error {
	p := &m.Payload
	input := terret.JSON(p.Arguments)
	if !json.Valid(input) || !strings.HasPrefix(strings.TrimSpace(p.Arguments), "{") {
		input = terret.JSON(seat.Encode(map[string]string{"input": p.Arguments + p.Input}))
	}
	var f struct {
		Cmd     string          `json:"cmd"`
		Command json.RawMessage `json:"command"`
	}
	_ = json.Unmarshal(input, &f) // what it lacks has no title
	class, title := classOf(p.Name), ""
	if f.Cmd != "" {
		class, title = terret.ClassExecute, "Run `"+brief.Line(f.Cmd)+"`"
	}
	pre := terret.ToolPre{ToolID: p.CallID, Name: p.Name, Class: class, Input: input, Title: title}
	r.calls[p.CallID] = pre
	return r.Emit(terret.Event{Data: pre})
}

func (r *recalling) result(m *recorded) error {
	p := &m.Payload
	pre, ok := r.calls[p.CallID]
	if !ok {
		return nil
	}
	delete(r.calls, p.CallID)
	var text string
	if json.Unmarshal(p.Output, &text) != nil {
		text = string(p.Output)
	}
	return r.Emit(terret.Event{Data: terret.ToolPost{ToolID: p.CallID, Name: pre.Name, Content: []terret.Block{terret.Text(text)}}})
}

// breakOff says which calls of the turn have no result.
func (r *recalling) breakOff() error {
	for id, pre := range r.calls {
		delete(r.calls, id)
		if err := r.Emit(terret.Event{Data: terret.ToolFailure{ToolID: id, Name: pre.Name, Error: "the record has no result", Interrupted: true}}); err != nil {
			return err
		}
	}
	return nil
}
