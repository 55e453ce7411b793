package drivertest

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/terret-dev/terret/test/sim"
)

// step is what the model answers to which request. The fields of a request that are
// empty match everything.
type step struct {
	// The request: a part of what the user said, of a tool's result, and of the text
	// that the conversation began with.
	User, Result, First string
	// Reminder is a part of what the agent tells the model on the side.
	Reminder string
	// The answer. A held one waits before its last piece until it is released.
	Text     string
	Pieces   []string
	Chunk    int // characters in a piece
	Thinking string
	Calls    []Call
	Hold     string
	Status   int // an error of the API
	Input    int // tokens
	// Repeat says that it answers any number of requests, Anywhere that it does so out
	// of order.
	Repeat, Anywhere bool
}

// object leaves out what is zero.
type object map[string]any

func (o object) set(name string, value any, is bool) {
	if is {
		o[name] = value
	}
}

func (s step) object() object {
	match, answer := object{}, object{}
	match.set("user", s.User, s.User != "")
	match.set("tool_result", s.Result, s.Result != "")
	match.set("first", s.First, s.First != "")
	match.set("reminder", s.Reminder, s.Reminder != "")
	answer.set("text", s.Text, s.Text != "")
	answer.set("pieces", s.Pieces, s.Pieces != nil)
	answer.set("chunk", s.Chunk, s.Chunk != 0)
	answer.set("thinking", s.Thinking, s.Thinking != "")
	answer.set("hold", s.Hold, s.Hold != "")
	// Agents that heed it try again soon.
	answer.set("error", object{"status": s.Status, "headers": object{"retry-after-ms": "20"}}, s.Status != 0)
	answer.set("usage", object{"input": s.Input}, s.Input != 0)
	var calls []object
	for _, c := range s.Calls {
		calls = append(calls, object{"name": c.Name, "input": c.Input})
	}
	answer.set("tools", calls, calls != nil)
	out := object{"match": match, "answer": answer}
	out.set("repeat", "forever", s.Repeat)
	out.set("anywhere", true, s.Anywhere)
	return out
}

// scenarioOf makes a script of the steps. JSON is YAML, too.
func scenarioOf(name string, steps []step) (*sim.Scenario, error) {
	var all []object
	for _, s := range steps {
		all = append(all, s.object())
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(object{"steps": all}); err != nil {
		return nil, err
	}
	return sim.Parse(name, out.Bytes())
}

// model is the scripted model behind the agent.
type model struct {
	server  *sim.Server
	running *sim.Running

	mu  sync.Mutex
	all []sim.Recorded
}

func startModel(ctx context.Context, name string, steps []step) (*model, error) {
	script, err := scenarioOf(name, steps)
	if err != nil {
		return nil, err
	}
	m := &model{}
	if m.server, err = sim.NewServer(script, sim.Options{Record: m.record}); err != nil {
		return nil, err
	}
	m.running, err = m.server.Start(context.WithoutCancel(ctx), "127.0.0.1:0")
	return m, err
}

func (m *model) record(r sim.Recorded) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.all = append(m.all, r)
	return nil
}

// heard is what the model was sent in one request.
type heard struct {
	Model    string
	System   string
	Tools    []string
	User     string   // all that the user said, and what tools returned
	Said     string   // all that the model said before
	Images   []string // base64
	Thinking bool     // it was asked to think aloud
}

// requests are those that steps answered, or should have. Side calls, such as those
// for a title, are not among them.
func (m *model) requests() []heard {
	m.mu.Lock()
	recorded := slices.Clone(m.all)
	m.mu.Unlock()
	var out []heard
	for _, r := range recorded {
		if strings.HasPrefix(r.Step, "step ") || r.Step == "no step" {
			if r.Request != nil {
				out = append(out, heardIn(r))
			}
		}
	}
	return out
}

// last is the last request. Without any it is empty.
func (m *model) last() heard {
	all := m.requests()
	if len(all) == 0 {
		return heard{}
	}
	return all[len(all)-1]
}

// heardIn is what a request holds, whichever API it was made to.
func heardIn(r sim.Recorded) heard {
	out := heard{Model: r.Request.Model, System: r.Request.System, Thinking: asksToThink(r)}
	for _, t := range r.Request.Tools {
		out.Tools = append(out.Tools, t.Name)
	}
	for _, msg := range r.Request.Messages {
		var texts []string
		for _, b := range msg.Blocks {
			switch b.Type {
			case sim.BlockText, sim.BlockToolResult:
				texts = append(texts, b.Text)
			case sim.BlockImage:
				out.Images = append(out.Images, b.Data)
			case sim.BlockThinking, sim.BlockToolUse:
			}
		}
		text := strings.Join(texts, "\n") + "\n"
		if msg.Role == "assistant" {
			out.Said += text
		} else {
			out.User += text
		}
	}
	return out
}

// asksToThink reports whether the model is asked to think aloud. In the API for chat
// completions nobody has to ask.
func asksToThink(r sim.Recorded) bool {
	var w struct {
		Thinking         struct{ Type string }
		Reasoning        json.RawMessage
		GenerationConfig struct{ ThinkingConfig json.RawMessage }
	}
	if json.Unmarshal(r.Body, &w) != nil {
		return false
	}
	return w.Thinking.Type != "" && w.Thinking.Type != "disabled" || w.Reasoning != nil || w.GenerationConfig.ThinkingConfig != nil ||
		strings.HasSuffix(r.Path, "/chat/completions")
}
