// Command custom-policy embeds an agent and decides about each of its tool uses itself: by rules
// of the house in the agents' own language, and by a limit on changes that no rule could say. Every
// decision is a line of JSON on standard error.
//
//	custom-policy -changes 3 -model anthropic/claude-sonnet-4-5 "tidy up the docs"
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/policy"
	"github.com/terret-dev/terret/sdk"
)

// houseRules hold in every project.
var houseRules = []terret.Rule{
	{Effect: terret.EffectDeny, Pattern: "Edit(.github/**)"},
	{Effect: terret.EffectDeny, Pattern: "Read(**/.env)"},
	{Effect: terret.EffectDeny, Pattern: "Bash(git push *)"},
	{Effect: terret.EffectAllow, Pattern: "Bash(go test *)"},
}

// house decides. Several tool uses may ask at once.
type house struct {
	cwd   string
	audit io.Writer

	mu      sync.Mutex
	changes int // that may still be made
}

func main() {
	model := flag.String("model", "demo", "the model, as provider/model")
	changes := flag.Int("changes", 3, "how many changes the agent may make")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := run(ctx, *model, strings.Join(flag.Args(), " "), ".", *changes, os.Stdout, os.Stderr)
	if err != nil {
		fmt.Fprintln(os.Stderr, "custom-policy:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, model, prompt, cwd string, changes int, out, audit io.Writer) error {
	cwd, err := filepath.Abs(cwd)
	if err != nil {
		return err
	}
	h := &house{cwd: cwd, audit: audit, changes: changes}
	session, err := sdk.NewSession(ctx, sdk.Options{
		Model: model, Cwd: cwd,
		// The agent waits for us before each tool use, also those that would need no permission.
		Policy: terret.PolicyAsk, Session: terret.SessionOptions{Ask: []string{"Read", "Glob", "Grep"}},
		Gates: []terret.Gate{terret.GatePreTool}, OnRequest: h.decide,
	})
	if err != nil {
		return err
	}
	defer func() { _ = session.Close() }()
	if err := session.Send(ctx, prompt); err != nil {
		return err
	}
	for msg, err := range session.Receive(ctx) {
		if err != nil {
			return err
		}
		if m, ok := msg.(*sdk.NormalizedMessage); ok && m.Role == terret.RoleAssistant {
			fmt.Fprintln(out, m.Text())
		}
	}
	return nil
}

// decide implements sdk.Options.OnRequest.
func (h *house) decide(_ context.Context, r terret.Request) (terret.Decision, error) {
	var use struct {
		Name, Tool string // of a tool that is about to run; of a request for permission
		Class      terret.ToolClass
		Input      json.RawMessage
	}
	if err := json.Unmarshal(r.Data, &use); err != nil {
		return terret.Decision{}, err // is a refusal
	}
	use.Name = cmp.Or(use.Name, use.Tool)
	d := h.judge(policy.Subject{Tool: use.Name, Class: use.Class, Input: use.Input, Cwd: h.cwd})
	line, err := json.Marshal(map[string]any{"tool": use.Name, "input": use.Input, "behavior": d.Behavior, "reason": d.Reason})
	if err != nil {
		return terret.Decision{}, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	_, err = fmt.Fprintf(h.audit, "%s\n", line)
	return d, err // nothing runs that cannot be written down
}

// judge applies the rules, and then the limit.
func (h *house) judge(s policy.Subject) terret.Decision {
	switch v := policy.Judge(s, houseRules, terret.PolicyAsk); {
	case v.Behavior == terret.BehaviorDeny:
		return terret.Decision{Behavior: terret.BehaviorDeny, Reason: "house rule: " + v.Reason}
	case v.Behavior == terret.BehaviorAllow || s.Class == terret.ClassRead || s.Class == terret.ClassSearch:
		return terret.Decision{Behavior: terret.BehaviorAllow, Reason: "harmless"}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.changes == 0 {
		return terret.Decision{Behavior: terret.BehaviorDeny, Reason: "no more changes are left; stop, and say what remains to be done"}
	}
	h.changes--
	return terret.Decision{Behavior: terret.BehaviorAllow, Reason: fmt.Sprintf("a change; %d are left", h.changes)}
}
