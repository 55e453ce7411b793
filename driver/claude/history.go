package claude

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/seat"
	"github.com/terret-dev/terret/internal/ndjson"
)

// record is a line of the agent's own session file.
type record struct {
	Type    string `json:"type"`
	UUID    string `json:"uuid"`
	Parent  string `json:"parentUuid"`
	Message struct {
		ID string `json:"id"`
	} `json:"message"`
}

// Fork implements terret.Forker. The agent makes the copy at its first prompt.
func (a *agent) Fork(_ context.Context, messageID string) (string, error) {
	n, err := a.past()
	if err != nil {
		return "", err
	}
	if messageID == "" {
		n.copy = true
		return n.String(), nil
	}
	records, err := a.records(n.id)
	if err != nil {
		return "", err
	}
	at, ok := find(records, messageID)
	if !ok {
		return "", unknownMessage(messageID)
	}
	return native{id: n.id, copy: true, at: at.UUID}.String(), nil
}

// Rewind implements terret.Rewinder. It does not change the session: the next prompt
// goes to a copy that ends before the message.
func (a *agent) Rewind(ctx context.Context, messageID string) error {
	a.Switching.Lock()
	defer a.Switching.Unlock()
	n, err := a.past()
	if err != nil {
		return err
	}
	records, err := a.records(n.id)
	if err != nil {
		return err
	}
	prompt, ok := find(records, messageID)
	if !ok {
		return unknownMessage(messageID)
	}
	at := before(records, prompt)
	a.mu.Lock()
	undone := append([]string{a.native}, a.Undone()...)
	a.mu.Unlock()
	return a.moveTo(ctx, native{id: n.id, copy: true, at: at}.String(), "rewind", undone)
}

// Forward implements terret.Rewinder.
func (a *agent) Forward(ctx context.Context) error {
	a.Switching.Lock()
	defer a.Switching.Unlock()
	to, undone, err := a.Redo()
	if err != nil {
		return err
	}
	return a.moveTo(ctx, to, "forward", undone)
}

// moveTo continues with another session from the next prompt on. a.Switching must be
// held.
func (a *agent) moveTo(ctx context.Context, to, reason string, undone []string) error {
	if p := a.Current(); p != nil {
		a.Retire(ctx, p)
	}
	a.mu.Lock()
	old := a.native
	a.native = to
	a.mu.Unlock()
	return a.Undo(ctx, undone, terret.Event{Data: terret.SessionNativeID{Old: terret.NullString(old), New: to, Reason: reason}})
}

func unknownMessage(id string) error {
	return terret.Errorf(terret.CodeNotFound, "Claude Code does not know the message %s in this session", id)
}

// past is the session that the agent will resume.
func (a *agent) past() (native, error) {
	a.mu.Lock()
	current := a.native
	a.mu.Unlock()
	if current == "" {
		return native{}, terret.Errorf(terret.CodeNotFound, "the conversation has not begun; prompt the session first")
	}
	return parseNative(current)
}

// find returns the last line of a message.
func find(records []record, messageID string) (out record, ok bool) {
	whole, _, _ := strings.Cut(messageID, "#") // see completeMessage
	for _, r := range records {
		if r.UUID != "" && (r.UUID == lineID(messageID) || r.UUID == messageID || r.Message.ID != "" && r.Message.ID == whole) {
			out, ok = r, true
		}
	}
	return out, ok
}

// before returns the last message before a prompt, or fromNothing.
func before(records []record, prompt record) string {
	lines := make(map[string]record, len(records))
	for _, r := range records {
		lines[r.UUID] = r
	}
	at := prompt
	for range records { // a cycle must not trap us
		parent, ok := lines[at.Parent]
		if !ok || at.Parent == "" {
			break
		}
		if parent.Type == "assistant" || parent.Type == "user" {
			return parent.UUID
		}
		at = parent
	}
	return fromNothing
}

// records reads the agent's own session file.
func (a *agent) records(id string) ([]record, error) {
	path, err := a.file(id)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, terret.Errorf(terret.CodeConflict, "cannot read Claude Code's record of the session: %w", err)
	}
	defer f.Close()
	var out []record
	lines := ndjson.NewReader(f, 0)
	for {
		line, err := lines.Next()
		if _, tooLong := errors.AsType[*ndjson.LineTooLongError](err); tooLong {
			continue
		}
		if err != nil {
			return out, nil //nolint:nilerr // what can be read is read
		}
		var r record
		if json.Unmarshal(line, &r) == nil {
			out = append(out, r)
		}
	}
}

// file finds the agent's own session file. Its folders are named after where the agent
// worked, in a way that changes; ids are unique.
func (a *agent) file(id string) (string, error) {
	config := seat.Lookup(a.Req.Env, "CLAUDE_CONFIG_DIR")
	if config == "" {
		config = filepath.Join(seat.Lookup(a.Req.Env, "HOME"), ".claude")
	}
	found, err := filepath.Glob(filepath.Join(escapeGlob(config), "projects", "*", id+".jsonl"))
	if err != nil || len(found) == 0 {
		return "", terret.Errorf(terret.CodeNotFound, "Claude Code has no record of session %s", id)
	}
	return found[0], nil
}

func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}
