package native

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/aymanbagabas/go-udiff"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/native/internal/tools"
	"github.com/terret-dev/terret/internal/redact"
)

// Replay is a recorded session that is run again, with the answers that its model gave
// then. One agent at a time may use it.
type Replay struct {
	// RealTools has tools run, instead of having the results that they had then.
	// Subagents are not run again.
	RealTools bool
	// Here and There say that a path now stands for another one then.
	Here, There string
	// Secrets were kept out of the recording.
	Secrets map[string]string

	prompts []terret.Prompt
	calls   []recordedCall // whole

	mu      sync.Mutex
	next    int
	results []terret.Block // of the tools that the last answer called
	last    recordedCall   // what the model was asked last, now
	found   []Difference
}

// Difference is something that the model is asked differently now.
type Difference struct {
	Call int    `json:"call"` // counted from 1
	What string `json:"what"` // such as "system prompt", "tools" or "message 3 (user)"
	Diff string `json:"diff"` // - then, + now
}

// ReadReplay reads a recording.
func ReadReplay(path string) (*Replay, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, terret.Errorf(terret.CodeNotFound, "the session was not recorded; start one with --record")
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it is only read
	r := &Replay{}
	var before recordedCall
	in := bufio.NewReader(io.LimitReader(f, 2*maxRecording))
	for n := 1; ; n++ {
		text, err := in.ReadBytes('\n')
		if len(bytes.TrimSpace(text)) > 0 {
			var line recordedLine
			if jsonErr := json.Unmarshal(text, &line); jsonErr != nil {
				if errors.Is(err, io.EOF) {
					return r, nil // it was cut off in the middle
				}
				return nil, terret.Errorf(terret.CodeInvalidRequest, "%s:%d: %w", path, n, jsonErr)
			}
			if line.Prompt != nil {
				r.prompts = append(r.prompts, *line.Prompt)
			}
			if c := line.Call; c != nil {
				if c.Same > len(before.Messages) {
					return nil, terret.Errorf(terret.CodeInvalidRequest, "%s:%d: a call before it is missing", path, n)
				}
				c.Messages = append(append([]recordedSaid{}, before.Messages[:c.Same]...), c.Messages...)
				if c.System == nil {
					c.System = before.System
				}
				if c.Tools == nil {
					c.Tools = before.Tools
				}
				before = *c
				r.calls = append(r.calls, before)
			}
		}
		if errors.Is(err, io.EOF) {
			return r, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// Prompts are what people said, in order.
func (r *Replay) Prompts() []terret.Prompt { return r.prompts }

// Calls is how many calls were recorded.
func (r *Replay) Calls() int { return len(r.calls) }

// Differences are those that were found, once all prompts were sent again.
func (r *Replay) Differences() []Difference {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := r.found
	if left := len(r.calls) - r.next; left > 0 {
		out = append(out, Difference{r.next + 1, "calls", fmt.Sprintf("-%d more calls of the model\n", left)})
	}
	return out
}

// answer compares what the model is asked now with what it was asked then, and answers
// as it did.
func (r *Replay) answer(model string, q query, s sink) (reply, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.plain(asked(model, q))
	if r.next >= len(r.calls) {
		r.found = append(r.found, Difference{r.next + 1, "calls", "+one more call of the model\n"})
		return reply{}, terret.Errorf(terret.CodeConflict, "the recording has no more answers")
	}
	then := r.calls[r.next]
	r.next++
	before := recordedCall{System: new(string)}
	if r.next > 1 {
		before = r.calls[r.next-2]
	}
	r.compare(then, now, before)
	r.last, r.results = now, nil
	if r.next < len(r.calls) {
		for _, m := range r.calls[r.next].Messages[min(len(then.Messages), len(r.calls[r.next].Messages)):] {
			for _, b := range m.Blocks {
				if b.Type == terret.BlockToolResult {
					r.results = append(r.results, b)
				}
			}
		}
	}
	if then.Error != nil {
		return reply{usage: then.Usage}, then.Error
	}
	for i, b := range then.Reply {
		for _, p := range piecesOf(i, b) {
			if err := s(p); err != nil {
				return reply{}, err
			}
		}
	}
	return reply{blocks: then.Reply, stopReason: then.Stop, usage: then.Usage, context: then.Context}, nil
}

// piecesOf are the pieces in which a block comes.
func piecesOf(i int, b terret.Block) []piece {
	switch b.Type {
	case terret.BlockToolUse:
		return []piece{{index: i, toolID: b.ToolID, toolName: b.Name}, {index: i, input: string(b.Input)}}
	case terret.BlockThinking:
		return []piece{{index: i, thinking: b.Text}}
	default:
		return []piece{{index: i, text: b.Text}}
	}
}

// plain is a call as it would be recorded, without secrets, and with the paths of then.
func (r *Replay) plain(c recordedCall) recordedCall {
	text := redact.New(r.Secrets).Bytes(asJSON(c))
	if r.Here != "" {
		text = bytes.ReplaceAll(text, []byte(r.Here), []byte(r.There))
	}
	var out recordedCall
	if json.Unmarshal(text, &out) != nil {
		return c // it cannot be told apart, then
	}
	return out
}

// compare notes what differs. What differed in the same way in the call before is not
// noted again.
func (r *Replay) compare(then, now, before recordedCall) {
	note := func(what, a, b string) {
		if a != b {
			r.found = append(r.found, Difference{r.next, what, changes(a, b)})
		}
	}
	again := r.next > 1
	if !again || then.Model != before.Model || now.Model != r.last.Model {
		note("model", then.Model+"\n", now.Model+"\n")
	}
	if !again || then.Effort != before.Effort || now.Effort != r.last.Effort {
		note("effort", then.Effort+"\n", now.Effort+"\n")
	}
	if !again || *then.System != *before.System || *now.System != *r.last.System {
		note("system prompt", *then.System+"\n", *now.System+"\n")
	}
	if a, b := toolsIn(then.Tools), toolsIn(now.Tools); !again || a != toolsIn(before.Tools) || b != toolsIn(r.last.Tools) {
		note("tools", a, b)
	}
	for i := range max(len(then.Messages), len(now.Messages)) {
		a, b := messageIn(then.Messages, i), messageIn(now.Messages, i)
		if again && a == messageIn(before.Messages, i) && b == messageIn(r.last.Messages, i) {
			continue
		}
		note("message "+strconv.Itoa(i+1), a, b)
	}
}

// changes is a diff of a few lines around what changed.
func changes(a, b string) string {
	var out strings.Builder
	for line := range strings.Lines(udiff.Unified("then", "now", a, b)) {
		if !strings.HasPrefix(line, "--- ") && !strings.HasPrefix(line, "+++ ") {
			out.WriteString(line)
		}
	}
	return out.String()
}

// toolsIn are tools for people.
func toolsIn(list []recordedTool) string {
	var out strings.Builder
	for _, t := range list {
		fmt.Fprintf(&out, "%s: %s\n  %s\n", t.Name, t.Description, bytes.TrimSpace(t.Schema))
	}
	return out.String()
}

// messageIn is a message for people, or empty if there is none. The ids of calls, which
// differ from run to run, are left out.
func messageIn(list []recordedSaid, i int) string {
	if i >= len(list) {
		return ""
	}
	var out strings.Builder
	out.WriteString("[" + string(list[i].Role) + "]\n")
	for _, b := range list[i].Blocks {
		switch b.Type {
		case terret.BlockToolUse:
			out.WriteString("call " + b.Name + " " + string(b.Input) + "\n")
		case terret.BlockToolResult:
			out.WriteString("result " + terret.TextOf(b.Content) + "\n")
		default:
			out.WriteString(string(b.Type) + " " + b.Text + "\n")
		}
	}
	return out.String()
}

// ask asks the model, or the recording in its place, and records it if that is wanted. The
// calls of subagents are not recorded: their result is.
func (t *turnRun) ask(ctx context.Context, m *chosen, q query, s sink) (reply, error) {
	q = m.suited(q)
	if r := t.a.driver.cfg.Replay; r != nil {
		return r.answer(m.id, q, s)
	}
	r, err := m.generate(ctx, q, s)
	if t.sub == nil && ctx.Err() == nil {
		t.a.rec.call(m.id, q, r, err)
	}
	return r, err
}

// replayed is the result that a call had when it was recorded. ok is false if it is to
// run.
func (u *use) replayed(ctx context.Context) (o outcome, ok bool) {
	r := u.a.driver.cfg.Replay
	if r == nil || r.RealTools && u.call.Name != taskTool {
		return outcome{}, false
	}
	r.mu.Lock()
	results := r.results
	r.mu.Unlock()
	i, err := strconv.Atoi(u.key[strings.LastIndexByte(u.key, '/')+1:])
	if err != nil || i >= len(results) {
		return u.refuse(ctx, "the recording has no result of this call"), true
	}
	if err := u.emit(ctx, u.pre()); err != nil {
		return outcome{text: brokenOff, failed: true, err: err}, true
	}
	then := tools.Result{Text: terret.TextOf(results[i].Content)}
	if results[i].IsError {
		return u.failed(ctx, then, 0), true
	}
	return u.done(ctx, then, 0), true
}
