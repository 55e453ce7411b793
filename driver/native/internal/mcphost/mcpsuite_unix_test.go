//go:build unix

package mcphost

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/elicit"
	"github.com/terret-dev/terret/driver/native/internal/tools"
	"github.com/terret-dev/terret/internal/test/agenttest"
)

// TestMCPClientSuite runs the official conformance suite on this client.
func TestMCPClientSuite(t *testing.T) {
	t.Parallel()
	known, err := filepath.Abs("testdata/mcp-suite.yaml")
	if err != nil {
		t.Fatal(err)
	}
	agenttest.MCPSuite(t, "client", known, []string{role + "=guest"}, "--command", os.Args[0])
}

// visit is the child process: it is in a session with the server of a scenario, and does what
// a model and a person would who want to see everything.
func visit(address string) error {
	var about struct {
		ClientID string `json:"client_id"`
		Calls    []struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"toolCalls"`
	}
	if text := os.Getenv("MCP_CONFORMANCE_CONTEXT"); text != "" {
		if err := json.Unmarshal([]byte(text), &about); err != nil {
			return err
		}
	}
	config, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"suite": map[string]any{"url": address, "oauth": map[string]any{"clientId": about.ClientID}}}})
	if err != nil {
		return err
	}
	s, err := New(config, Options{Log: slog.New(slog.NewTextHandler(os.Stderr, nil)), Tokens: &pocket{kept: map[string]string{}}, Ask: agree})
	if err != nil {
		return err
	}
	defer s.Close()
	v := visitor{s: s, inputs: map[string]json.RawMessage{}, done: map[string]bool{}}
	for _, call := range about.Calls {
		v.inputs[call.Name] = call.Arguments
	}
	ctx := context.Background()
	for more := true; more; {
		s.Refresh(ctx)
		if more, err = v.step(ctx); err != nil {
			return err
		}
	}
	for command := range s.Commands() {
		if _, err := s.Expand(ctx, command, ""); err != nil {
			return err
		}
	}
	return nil
}

type visitor struct {
	s      *Servers
	inputs map[string]json.RawMessage // of tools
	done   map[string]bool            // tools that need not be used again
	signed int                        // in, so often: three times at most
}

// step uses a tool that was not used yet, or not with success before the person signed in.
func (v *visitor) step(ctx context.Context) (more bool, err error) {
	all := v.s.Tools()
	for _, t := range all {
		name := strings.TrimPrefix(t.Name, Name("suite", ""))
		switch {
		case name == signIn && v.signed == 3, v.done[name]:
			continue
		case name == signIn:
			v.signed++
		}
		use, err := t.Prepare(ctx, tools.Env{}, v.input(name, all))
		if err != nil {
			return false, err
		}
		r, err := use.Run(ctx, nil)
		fmt.Fprintf(os.Stderr, "%s: %s %v\n", name, r.Text, err)
		if uri, _, ok := strings.Cut(r.Text, " "); ok && name == listResources {
			v.inputs[readResource] = json.RawMessage(fmt.Sprintf(`{"uri": %q}`, uri))
		}
		v.done[name] = name != signIn && (v.s.States()[0].Status != NeedsAuth || v.signed == 3)
		return true, nil
	}
	if state := v.s.States()[0]; state.Status != "connected" {
		return false, fmt.Errorf("%+v", state)
	}
	return false, nil
}

// input is what a tool is used with.
func (v *visitor) input(name string, all []tools.Tool) json.RawMessage {
	switch {
	case v.inputs[name] != nil:
		return v.inputs[name]
	case name == "add_numbers":
		return json.RawMessage(`{"a": 2, "b": 3}`)
	case name == "json_schema_echo": // of the other tool
		for _, t := range all {
			if t.Name == Name("suite", "json_schema_2020_12_tool") {
				return json.RawMessage(`{"schema": ` + string(t.Schema) + `}`)
			}
		}
	}
	return json.RawMessage(`{}`)
}

// agree is a person who signs in, and says yes.
func agree(ctx context.Context, q terret.QuestionRequest) (terret.Decision, error) {
	if q.URL == "" {
		answers := map[string]terret.Choice{}
		for _, one := range q.Questions {
			if len(one.Options) > 0 && one.Options[0].Label == elicit.Yes {
				answers[one.ID] = terret.Choice{elicit.Yes}
			}
		}
		return terret.Decision{Behavior: terret.BehaviorAnswer, Answers: answers}, nil
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, q.URL, http.NoBody)
	if err != nil {
		return terret.Decision{}, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return terret.Decision{}, err
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return terret.Decision{Behavior: terret.BehaviorReject}, nil
	}
	<-ctx.Done() // the question is withdrawn
	return terret.Decision{}, ctx.Err()
}

// pocket keeps tokens.
type pocket struct {
	mu   sync.Mutex
	kept map[string]string
}

func (p *pocket) Get(name string) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.kept[name], nil
}

func (p *pocket) Set(_ context.Context, name, value string) (bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.kept[name] = value
	return false, nil
}
