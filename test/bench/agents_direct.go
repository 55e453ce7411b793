package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"

	"github.com/terret-dev/terret/internal/test/agenttest"
)

// byHand starts a program, to be driven by hand.
type byHand func(ctx context.Context, p agenttest.Place) (*manual, error)

// manual is a program that is driven by hand.
type manual struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	id   int
	turn func(context.Context) error // says hello, and returns when the turn is over
}

func startManual(ctx context.Context, p agenttest.Place, args ...string) (*manual, error) {
	cmd := apart(exec.CommandContext(ctx, p.Program, args...))
	cmd.Dir, cmd.Env = p.Dir, p.Env
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &manual{cmd: cmd, in: in, out: bufio.NewReaderSize(out, 1<<20)}, cmd.Start()
}

// close ends the program. It does not ask first: some, like OpenCode, wait for open
// connections.
func (m *manual) close() {
	_ = m.in.Close()
	_ = m.cmd.Process.Kill()
	_ = m.cmd.Wait()
}

// call makes a call and returns its result. If until is set, it goes on reading until a
// line holds that.
func (m *manual) call(method string, params any, until string) (json.RawMessage, error) {
	m.id++
	line, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": m.id, "method": method, "params": params})
	if err != nil {
		return nil, err
	}
	if _, err := m.in.Write(append(line, '\n')); err != nil {
		return nil, err
	}
	var result json.RawMessage
	for result == nil || until != "" {
		line, err := m.out.ReadBytes('\n')
		if err != nil {
			return nil, err
		}
		if until != "" && bytes.Contains(line, []byte(until)) {
			return result, nil
		}
		var answer struct {
			ID     json.RawMessage
			Method string
			Result json.RawMessage
			Error  json.RawMessage
		}
		if json.Unmarshal(line, &answer) != nil || answer.Method != "" || string(answer.ID) != fmt.Sprint(m.id) {
			continue
		}
		if answer.Error != nil {
			return nil, fmt.Errorf("%s: %s", method, answer.Error)
		}
		result = answer.Result
	}
	return result, nil
}

// find is the first string of that name in a JSON document.
func find(document json.RawMessage, name string) string {
	_, rest, _ := strings.Cut(string(document), `"`+name+`":"`)
	value, _, _ := strings.Cut(rest, `"`)
	return value
}

func acpByHand(args []string) byHand {
	return func(ctx context.Context, p agenttest.Place) (*manual, error) {
		m, err := startManual(ctx, p, args...)
		if err != nil {
			return nil, err
		}
		if _, err := m.call("initialize", map[string]any{"protocolVersion": 1, "clientCapabilities": map[string]any{}}, ""); err != nil {
			return nil, err
		}
		opened, err := m.call("session/new", map[string]any{"cwd": p.Dir, "mcpServers": []string{}}, "")
		if err != nil {
			return nil, err
		}
		prompt := map[string]any{"sessionId": find(opened, "sessionId"), "prompt": []map[string]string{{"type": "text", "text": "hello"}}}
		m.turn = func(context.Context) error {
			_, err := m.call("session/prompt", prompt, "")
			return err
		}
		return m, nil
	}
}

func codexByHand(ctx context.Context, p agenttest.Place) (*manual, error) {
	m, err := startManual(ctx, p, "app-server")
	if err != nil {
		return nil, err
	}
	if _, err := m.call("initialize", map[string]any{"clientInfo": map[string]string{"name": "bench", "version": "0"}}, ""); err != nil {
		return nil, err
	}
	if _, err := io.WriteString(m.in, `{"method":"initialized"}`+"\n"); err != nil {
		return nil, err
	}
	opened, err := m.call("thread/start", map[string]any{"cwd": p.Dir}, "")
	if err != nil {
		return nil, err
	}
	prompt := map[string]any{"threadId": find(opened, "id"), "input": []map[string]string{{"type": "text", "text": "hello"}}}
	m.turn = func(context.Context) error {
		_, err := m.call("turn/start", prompt, `"method":"turn/completed"`)
		return err
	}
	return m, nil
}

func opencodeByHand(ctx context.Context, p agenttest.Place) (*manual, error) {
	m, err := startManual(ctx, p, "serve", "--port", "0")
	if err != nil {
		return nil, err
	}
	var url string
	for url == "" {
		line, err := m.out.ReadString('\n')
		if err != nil {
			return nil, err
		}
		if _, rest, ok := strings.Cut(line, "listening on "); ok {
			url = strings.TrimSpace(rest)
		}
	}
	post := func(ctx context.Context, path, body string) (json.RawMessage, error) {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, url+path, strings.NewReader(body))
		if err != nil {
			return nil, err
		}
		r.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			return nil, err
		}
		answer, err := io.ReadAll(resp.Body)
		if err = errors.Join(err, resp.Body.Close()); err == nil && resp.StatusCode >= http.StatusBadRequest {
			err = fmt.Errorf("%s: %s", resp.Status, answer)
		}
		return answer, err
	}
	opened, err := post(ctx, "/session", "{}")
	if err != nil {
		return nil, err
	}
	m.turn = func(ctx context.Context) error {
		_, err := post(ctx, "/session/"+find(opened, "id")+"/message", `{"parts":[{"type":"text","text":"hello"}]}`)
		return err
	}
	return m, nil
}
