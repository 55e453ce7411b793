package claude

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

// spoken is a line of the agent's own record, as far as it says what was said.
type spoken struct {
	Type            string          `json:"type"`
	UUID            string          `json:"uuid"`
	SessionID       string          `json:"sessionId"`
	Cwd             string          `json:"cwd"`
	Timestamp       time.Time       `json:"timestamp"`
	IsSidechain     bool            `json:"isSidechain"`
	IsMeta          bool            `json:"isMeta"`
	IsCompact       bool            `json:"isCompactSummary"`
	AgentID         string          `json:"agentId"`
	CustomTitle     string          `json:"customTitle"` // type custom-title
	AITitle         string          `json:"aiTitle"`     // type ai-title
	Summary         string          `json:"summary"`     // type summary
	ToolUseResult   json.RawMessage `json:"toolUseResult"`
	ParentToolUseID string          `json:"parentToolUseID"`
	Message         struct {
		ID      string     `json:"id"`
		Model   string     `json:"model"`
		Content rawContent `json:"content"`
		Usage   apiUsage   `json:"usage"`
	} `json:"message"`
}

// prompt is what a person said there, if it was a person.
func (s *spoken) prompt() []terret.Block {
	if s.Type != "user" || s.IsMeta || s.IsCompact || s.IsSidechain || len(s.ToolUseResult) > 0 {
		return nil
	}
	var words rawContent
	for _, b := range s.Message.Content {
		if b.Type == "tool_result" {
			return nil
		}
		words = append(words, b)
	}
	text := strings.TrimSpace(words.text())
	if text == "" || strings.HasPrefix(text, "<local-command") || strings.HasPrefix(text, "<command-") || strings.HasPrefix(text, "[Request interrupted by user") {
		return nil
	}
	return words.blocks()
}

// records is the folder with the agent's own records.
func records(env []string) string {
	config := seat.Lookup(env, "CLAUDE_CONFIG_DIR")
	if config == "" {
		home := seat.Lookup(env, "HOME")
		if home == "" {
			return ""
		}
		config = filepath.Join(home, ".claude")
	}
	return filepath.Join(config, "projects")
}

// peek bounds how much of a record is read to list it.
const peek = 64 << 10

// Discover implements terret.Discoverer.
func (d *Driver) Discover(ctx context.Context) ([]terret.Discovered, error) {
	root := records(d.cfg.Environ)
	projects, err := os.ReadDir(root)
	if errors.Is(err, fs.ErrNotExist) || root == "" {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []terret.Discovered
	for _, p := range projects {
		files, err := os.ReadDir(filepath.Join(root, p.Name()))
		if err != nil {
			continue // not a folder, or not ours to read
		}
		for _, f := range files {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			id, isRecord := strings.CutSuffix(f.Name(), ".jsonl")
			info, err := f.Info()
			if !isRecord || !terret.ValidID("", id) || err != nil || !info.Mode().IsRegular() {
				continue
			}
			found := terret.Discovered{Agent: agentName, NativeID: id, UpdatedAt: terret.TimeOf(info.ModTime()), Size: info.Size()}
			if d.describe(filepath.Join(root, p.Name(), f.Name()), &found) {
				out = append(out, found)
			}
		}
	}
	return out, nil
}

// describe reads the folder and the title at the beginning of a record. It reports whether
// anything was said there.
func (d *Driver) describe(path string, found *terret.Discovered) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	begin, err := io.ReadAll(io.LimitReader(f, peek))
	if err != nil {
		return false
	}
	said := false
	title := ""
	for line := range bytes.Lines(begin) {
		var s spoken
		if !decode(line, &s) || s.IsSidechain {
			continue
		}
		found.Cwd = cmp.Or(found.Cwd, s.Cwd)
		title = cmp.Or(s.CustomTitle, s.AITitle, s.Summary, title)
		if words := s.prompt(); words != nil {
			said = true
			found.Title = cmp.Or(found.Title, brief.Cut(brief.Line(terret.TextOf(words)), 80))
		}
		said = said || s.Type == "assistant"
	}
	found.Title = cmp.Or(brief.Cut(brief.Line(title), 80), found.Title)
	return found.Cwd != "" && (said || len(begin) == peek)
}

// Recall implements terret.Discoverer.
func (d *Driver) Recall(ctx context.Context, nativeID string) iter.Seq2[terret.Event, error] {
	return seat.Recall(func(out *seat.Recalling) error {
		paths, err := filepath.Glob(filepath.Join(escapeGlob(records(d.cfg.Environ)), "*", nativeID+".jsonl"))
		if err != nil || len(paths) == 0 || !terret.ValidID("", nativeID) {
			return terret.Errorf(terret.CodeNotFound, "Claude Code has no record of session %s", nativeID)
		}
		r := &recalling{Recalling: out, t: newTranslator(options{nativeID: nativeID}), dir: strings.TrimSuffix(paths[0], ".jsonl"), counted: map[string]terret.Usage{}}
		if err := r.file(ctx, paths[0], ""); err != nil {
			return err
		}
		return r.finish()
	})
}

// recalling turns the agent's own record of a session into events.
type recalling struct {
	*seat.Recalling
	t       *translator
	dir     string                  // with the records of subagents
	counted map[string]terret.Usage // by message
	agents  int                     // whose records were read
}

// mostAgents bounds the records of subagents in one session.
const mostAgents = 1000

// file reads a record: the session's, or that of the subagent that a call started.
func (r *recalling) file(ctx context.Context, path, call string) error {
	return seat.Lines(path, func(line []byte) error {
		var s spoken
		if !decode(line, &s) || s.Type != "user" && s.Type != "assistant" || call == "" && s.IsSidechain {
			return context.Cause(ctx)
		}
		if !s.Timestamp.IsZero() {
			r.At = s.Timestamp
		}
		return cmp.Or(context.Cause(ctx), r.line(ctx, line, &s, call))
	})
}

func (r *recalling) line(ctx context.Context, line []byte, s *spoken, call string) error {
	if call == "" {
		words := s.prompt()
		switch {
		case words == nil && (r.Open() || s.Type == "user"):
		case words == nil: // it goes on by itself
			words = []terret.Block{}
			fallthrough
		default:
			if err := r.finish(); err != nil {
				return err
			}
			if err := r.Begin(words, s.UUID); err != nil || s.Type == "user" {
				return err
			}
		}
		if s.Type == "user" && (!r.Open() || len(s.Message.Content) == 0 || s.Message.Content[0].Type != "tool_result") {
			return nil // what the agent tells itself
		}
		if err := r.subagent(ctx, s); err != nil {
			return err
		}
	}
	if id := s.Message.ID; s.Type == "assistant" && id != "" { // a message has a line for each of its blocks
		if used := s.Message.Usage.usage(); used.Output >= r.counted[id].Output {
			r.Usage = r.Usage.Add(used).Sub(r.counted[id])
			r.counted[id] = used
		}
	}
	if s.Type == "assistant" && call == "" {
		r.Text = cmp.Or(strings.TrimSpace(s.Message.Content.text()), r.Text)
	}
	events, _ := r.t.translate(asStreamed(line, call), r.At)
	return r.Emit(events...)
}

// asStreamed is a line of the record in the words of the agent's stream.
func asStreamed(line []byte, call string) []byte {
	var fields map[string]json.RawMessage
	if !decode(line, &fields) {
		return line
	}
	for was, is := range map[string]string{"toolUseResult": "tool_use_result", "sessionId": "session_id"} {
		if v, ok := fields[was]; ok {
			fields[is] = v
			delete(fields, was)
		}
	}
	if call != "" {
		fields["parent_tool_use_id"] = seat.Encode(call)
	}
	return seat.Encode(fields)
}

// subagent reads what a subagent said before its result, if that has a record of its own.
func (r *recalling) subagent(ctx context.Context, s *spoken) error {
	var result toolOutcome
	decode(s.ToolUseResult, &result)
	calls := s.Message.Content
	if result.AgentID == "" || len(calls) == 0 || strings.ContainsAny(result.AgentID, `/\.`) || r.agents == mostAgents {
		return nil
	}
	r.agents++
	err := r.file(ctx, filepath.Join(r.dir, "subagents", "agent-"+result.AgentID+".jsonl"), calls[0].ToolUseID)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// finish says what the turn has left open.
func (r *recalling) finish() error {
	if !r.Open() {
		return nil
	}
	r.t.begin(nil, r.At)
	for actor, s := range r.t.speakers {
		r.t.completeMessage(actor, s)
	}
	r.t.breakOff("the record has no result", false)
	events, _ := r.t.take()
	return r.Emit(events...)
}
