package sim_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/terret-dev/terret/test/sim"
)

func TestMain(m *testing.M) {
	// A connection of net/http that was refused stays for half a second, so that
	// the client reads the answer before the reset.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait"))
}

func parse(t testing.TB, text string) *sim.Scenario {
	t.Helper()
	s, err := sim.Parse("test.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func load(t testing.TB, name string) *sim.Scenario {
	t.Helper()
	s, err := sim.Load("testdata/" + name + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// start serves the scenario until the test ends.
func start(t testing.TB, s *sim.Scenario, o sim.Options) (*sim.Server, string) {
	t.Helper()
	srv, err := sim.NewServer(s, o)
	if err != nil {
		t.Fatal(err)
	}
	running, err := srv.Start(context.WithoutCancel(t.Context()), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := running.Close(); err != nil {
			t.Error(err)
		}
	})
	return srv, running.URL()
}

// client has its own connections, so that none outlives the test.
func client(t testing.TB) *http.Client {
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

// message is a message of the Messages API.
type message struct {
	Role    string `json:"role"`
	Content any    `json:"content"`
}

func user(text string) message      { return message{"user", text} }
func assistant(text string) message { return message{"assistant", text} }

func result(text string) message {
	return message{"user", []any{map[string]any{"type": "tool_result", "tool_use_id": "t", "content": text}}}
}

// body is a request with one tool.
func body(stream bool, messages ...message) map[string]any {
	return map[string]any{
		"model": "claude-test", "max_tokens": 100, "stream": stream, "messages": messages,
		"tools": []any{map[string]any{"name": "Bash", "input_schema": map[string]any{"type": "object"}}},
	}
}

func without(b map[string]any, field string) map[string]any {
	delete(b, field)
	return b
}

func post(t testing.TB, c *http.Client, url string, body any) (*http.Response, []byte, error) {
	t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Api-Key", "sk-canary")
	res, err := c.Do(req)
	if err != nil {
		return nil, nil, err
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	return res, got, err
}

// text asks without streaming and returns the text of the answer, or its error.
func text(t testing.TB, c *http.Client, url string, messages ...message) string {
	t.Helper()
	res, data, err := post(t, c, url+"/v1/messages", body(false, messages...))
	if err != nil {
		return err.Error()
	}
	return textOf(t, res, data)
}

func textOf(t testing.TB, res *http.Response, data []byte) string {
	t.Helper()
	var got struct {
		Content []struct{ Type, Text, Name string }
		Error   struct{ Type, Message string }
	}
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatalf("%v: %s", err, data)
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Sprintf("%d %s: %s", res.StatusCode, got.Error.Type, got.Error.Message)
	}
	var parts []string
	for _, b := range got.Content {
		parts = append(parts, b.Text+b.Name)
	}
	return strings.Join(parts, "|")
}
