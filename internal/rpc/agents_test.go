package rpc_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/terret-dev/terret/internal/rpc"
	"github.com/terret-dev/terret/internal/test/agenttest"
	"github.com/terret-dev/terret/test/sim"
)

type object = map[string]any

// host is the other side of a real agent in these tests: it allows everything.
type host struct {
	t    *testing.T
	conn *rpc.Conn

	mu    sync.Mutex
	text  string         // that the agent said
	asked map[string]int // requests, by method
	over  chan string    // how turns ended, where a notification says so
}

// connect starts the agent with a scripted model.
func connect(t *testing.T, a agenttest.Agent, o rpc.Options, args ...string) (*host, agenttest.Place, func()) {
	t.Helper()
	scenario, err := sim.Load("../../test/sim/testdata/agents.yaml")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	srv, err := sim.NewServer(scenario, sim.Options{Vars: map[string]string{"dir": dir}})
	if err != nil {
		t.Fatal(err)
	}
	model, err := srv.Start(context.WithoutCancel(t.Context()), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { model.Close() })
	place := a.Prepare(t, model.URL())
	place.Dir = dir
	if strings.HasPrefix(a.Name, "codex") { // its sandbox wants its home outside of the temporary folder
		place.Env = append(place.Env, "TMPDIR="+dir)
	}
	agent := place.Start(t, args...)
	h := &host{t: t, asked: map[string]int{}, over: make(chan string, 1)}
	o.Request, o.Notification = h.answer, h.hear
	o.Stray = func(line []byte, why error) { t.Errorf("%v: %s", why, line) }
	h.conn = rpc.New(rpc.Join(agent.Stdout(), agent.Stdin()), o)
	return h, place, func() {
		t.Helper()
		if _, err := agent.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		if err := h.conn.Wait(); !errors.Is(err, io.EOF) {
			t.Errorf("the connection ended with %v", err)
		}
		h.conn.Close()
		for _, problem := range append(srv.Player().Unmatched(), srv.Player().Remaining()...) {
			t.Error(problem)
		}
		if got, err := os.ReadFile(filepath.Join(dir, "a.txt")); err != nil || string(got) != "second line\n" {
			t.Errorf("it wrote %q, %v", got, err)
		}
		if want := "It is done: " + dir; !strings.Contains(h.text, want) {
			t.Errorf("it said %q, want %q", h.text, want)
		}
		if t.Failed() {
			t.Log(agent.StderrTail())
		}
	}
}

// call calls, with patience.
func (h *host) call(method string, params, result any) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), agenttest.Patience)
	defer cancel()
	if err := h.conn.Call(ctx, method, params, result); err != nil {
		h.t.Fatal(err)
	}
}

// answer allows.
func (h *host) answer(_ context.Context, m rpc.Message) (any, error) {
	h.mu.Lock()
	h.asked[m.Method]++
	h.mu.Unlock()
	switch m.Method {
	case "session/request_permission":
		var p struct {
			Options []struct{ OptionID, Kind string }
		}
		if err := m.Decode(&p); err != nil {
			return nil, err
		}
		for _, o := range p.Options {
			if o.Kind == "allow_once" {
				return object{"outcome": object{"outcome": "selected", "optionId": o.OptionID}}, nil
			}
		}
		return nil, errors.New("nothing to allow")
	case "item/commandExecution/requestApproval", "item/fileChange/requestApproval":
		return object{"decision": "accept"}, nil
	default:
		return nil, rpc.MethodNotFound(m.Method)
	}
}

// hear keeps what the agent says.
func (h *host) hear(_ context.Context, m rpc.Message) error {
	var p struct {
		Update struct {
			SessionUpdate string
			Content       json.RawMessage
		}
		Delta json.RawMessage
		Turn  struct{ Status string }
	}
	if err := json.Unmarshal(m.Params, &p); err != nil {
		return fmt.Errorf("%s: %w", m.Raw, err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case m.Method == "session/update" && p.Update.SessionUpdate == "agent_message_chunk":
		var content struct{ Text string }
		if err := json.Unmarshal(p.Update.Content, &content); err != nil {
			return err
		}
		h.text += content.Text
	case m.Method == "item/agentMessage/delta":
		var text string
		if err := json.Unmarshal(p.Delta, &text); err != nil {
			return err
		}
		h.text += text
	case m.Method == "turn/completed":
		h.over <- p.Turn.Status
	}
	return nil
}

// TestACPAgents holds a turn with every agent that speaks ACP.
func TestACPAgents(t *testing.T) {
	t.Parallel()
	// Modes in which agents ask, where that is not what they do at first.
	modes := map[string]string{"qwen": "default", "codex-acp": "read-only", "goose": "approve"}
	for _, a := range agenttest.All() {
		if a.ACP == nil {
			continue
		}
		t.Run(a.Name, func(t *testing.T) {
			t.Parallel()
			h, place, end := connect(t, a, rpc.Options{Cancel: "$/cancel_request"}, a.ACP...)
			var about struct{ ProtocolVersion int }
			h.call("initialize", object{
				"protocolVersion": 1, "clientInfo": object{"name": "terret", "version": "0"},
				"clientCapabilities": object{"fs": object{"readTextFile": false, "writeTextFile": false}, "terminal": false},
			}, &about)
			if about.ProtocolVersion != 1 {
				t.Errorf("it speaks version %d", about.ProtocolVersion)
			}
			var session struct{ SessionID string }
			h.call("session/new", object{"cwd": place.Dir, "mcpServers": []any{}}, &session)
			if mode := modes[a.Name]; mode != "" {
				h.call("session/set_mode", object{"sessionId": session.SessionID, "modeId": mode}, nil)
			}
			var turn struct{ StopReason string }
			h.call("session/prompt", object{
				"sessionId": session.SessionID, "prompt": []any{object{"type": "text", "text": "make the file please"}},
			}, &turn)
			if turn.StopReason != "end_turn" {
				t.Errorf("it stopped with %s", turn.StopReason)
			}
			if asks := a.Program != "opencode"; asks == (h.asked["session/request_permission"] == 0) {
				t.Errorf("it asked %v", h.asked)
			}
			end()
		})
	}
}

// TestCodex holds a turn with Codex's own protocol, which leaves out the version.
func TestCodex(t *testing.T) {
	t.Parallel()
	h, place, end := connect(t, agenttest.Find(t, "codex"), rpc.Options{Bare: true}, "app-server")
	h.call("initialize", object{"clientInfo": object{"name": "terret", "version": "0"}}, nil)
	if err := h.conn.Notify(t.Context(), "initialized", object{}); err != nil {
		t.Error(err)
	}
	var started struct{ Thread struct{ ID string } }
	h.call("thread/start", object{"cwd": place.Dir, "approvalPolicy": "untrusted", "sandbox": "workspace-write"}, &started)
	h.call("turn/start", object{"threadId": started.Thread.ID, "input": []any{object{"type": "text", "text": "make the file please"}}}, nil)
	select {
	case got := <-h.over:
		if got != "completed" {
			t.Errorf("the turn ended %s", got)
		}
	case <-h.conn.Done():
		t.Error("the connection ended")
	case <-time.After(agenttest.Patience):
		t.Error("the turn did not end")
	}
	if h.asked["item/fileChange/requestApproval"] == 0 {
		t.Errorf("it asked %v", h.asked)
	}
	end()
}
