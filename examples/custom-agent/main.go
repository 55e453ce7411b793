// Command custom-agent is a small agent of your own: it speaks the Agent Client Protocol on
// standard input and output, and needs no model. It collects lines with a word (TODO,
// if the prompt does not end with another) into a file, if it may.
//
//	go build -o todos ./examples/custom-agent
//	terret agents add todos -- ./todos
//	terret run --agent todos --allow 'Edit(TODO.md)' "collect every TODO"
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

type object = map[string]any

// message is any message of JSON-RPC.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Cwd    string // of a new session
		Prompt []struct{ Type, Text string }
	} `json:"params"`
	Result struct {
		Outcome struct{ Outcome, OptionID string } // of a request for permission
	} `json:"result"`
}

// agent has one session, and works on one prompt at a time.
type agent struct {
	in  *json.Decoder
	out *bufio.Writer
	cwd string

	cancelled bool // the turn is to end
}

func main() {
	a := &agent{in: json.NewDecoder(os.Stdin), out: bufio.NewWriter(os.Stdout)}
	for {
		var m message
		if a.in.Decode(&m) != nil {
			return // whoever started us has closed the pipe
		}
		switch m.Method {
		case "initialize":
			a.answer(m.ID, object{"protocolVersion": 1, "agentInfo": object{"name": "todos", "version": "1.0.0"}, "agentCapabilities": object{}})
		case "session/new":
			a.cwd = m.Params.Cwd
			a.answer(m.ID, object{"sessionId": "one"})
		case "session/prompt":
			a.cancelled = false
			words := []string{"TODO"}
			for _, block := range m.Params.Prompt {
				words = append(words, strings.Fields(block.Text)...)
			}
			a.say(a.collect(words[len(words)-1]))
			reason := "end_turn"
			if a.cancelled {
				reason = "cancelled"
			}
			a.answer(m.ID, object{"stopReason": reason})
		default:
			if m.ID != nil && m.Method != "" {
				a.send(object{"jsonrpc": "2.0", "id": m.ID, "error": object{"code": -32601, "message": "there is no " + m.Method}})
			}
		}
	}
}

// collect is the work: it looks, asks, and writes. It returns what to say.
func (a *agent) collect(word string) string {
	var found strings.Builder
	_ = filepath.WalkDir(a.cwd, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && strings.HasPrefix(d.Name(), ".") && path != a.cwd {
			return fs.SkipDir
		}
		if err != nil || !d.Type().IsRegular() || d.Name() == "TODO.md" {
			return nil
		}
		text, _ := os.ReadFile(path)
		name, _ := filepath.Rel(a.cwd, path)
		for i, line := range strings.Split(string(text), "\n") {
			if strings.Contains(line, word) {
				fmt.Fprintf(&found, "- %s:%d: %s\n", name, i+1, strings.TrimSpace(line))
			}
		}
		return nil
	})
	if found.Len() == 0 {
		return "There is no " + word + "."
	}
	file := filepath.Join(a.cwd, "TODO.md")
	call := object{"toolCallId": "write", "title": "Write TODO.md", "kind": "edit", "status": "pending", "locations": []object{{"path": file}}, "content": []object{{"type": "diff", "path": file, "newText": found.String()}}}
	if !a.may(call) {
		return "I may not write TODO.md. This would be in it:\n\n" + found.String()
	}
	status := "completed"
	if err := os.WriteFile(file, []byte(found.String()), 0o600); err != nil {
		status = "failed"
	}
	a.update(object{"sessionUpdate": "tool_call_update", "toolCallId": "write", "status": status})
	return fmt.Sprintf("%d lines are in TODO.md.", strings.Count(found.String(), "\n"))
}

// may asks whoever decides: rules, a policy, or a person.
func (a *agent) may(call object) bool {
	a.update(object{"sessionUpdate": "tool_call", "toolCallId": call["toolCallId"], "title": call["title"], "kind": call["kind"], "status": call["status"], "locations": call["locations"], "content": call["content"]})
	a.send(object{"jsonrpc": "2.0", "id": "ask", "method": "session/request_permission", "params": object{"sessionId": "one", "toolCall": call, "options": []object{
		{"optionId": "yes", "name": "Allow", "kind": "allow_once"}, {"optionId": "no", "name": "Deny", "kind": "reject_once"},
	}}})
	for {
		var m message
		if a.in.Decode(&m) != nil {
			os.Exit(0)
		}
		a.cancelled = a.cancelled || m.Method == "session/cancel"
		if string(m.ID) == `"ask"` && m.Method == "" {
			return m.Result.Outcome.OptionID == "yes"
		}
	}
}

func (a *agent) say(text string) {
	a.update(object{"sessionUpdate": "agent_message_chunk", "content": object{"type": "text", "text": text}})
}

func (a *agent) update(update object) {
	a.send(object{"jsonrpc": "2.0", "method": "session/update", "params": object{"sessionId": "one", "update": update}})
}

func (a *agent) answer(id json.RawMessage, result any) {
	a.send(object{"jsonrpc": "2.0", "id": id, "result": result})
}

// send writes one message, on one line.
func (a *agent) send(m object) {
	if json.NewEncoder(a.out).Encode(m) != nil || a.out.Flush() != nil {
		os.Exit(1)
	}
}
