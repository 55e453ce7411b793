package codex

import (
	"context"
	"maps"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/brief"
)

// started is how a thread was loaded.
type started struct {
	source  string // new, resume or fork
	thread  string
	model   string
	cwd     string
	version string
	mode    string
	tools   []string
	lost    string // why the thread that was to be gone on with is not
}

// threadParams are what every thread is loaded with. Codex would take what is left out
// from its own settings.
func (p *process) threadParams(model string) object {
	config := maps.Clone(p.launch.config)
	if len(p.trusted) > 0 {
		config["hooks.state"] = p.trusted
	}
	params := object{
		"cwd": p.launch.dir, "approvalPolicy": p.approvalPolicy(), "approvalsReviewer": "user", "sandbox": p.launch.sandbox, "config": config,
	}
	if model != "" {
		params["model"] = model
	}
	if p.launch.developer != "" {
		params["developerInstructions"] = p.launch.developer
	}
	return params
}

// approvalPolicy says when Codex asks for approval. "untrusted" asks about everything,
// but runs an approved command again without its sandbox if that held it back. So in a
// sandbox, where the hook decides about tools, Codex asks only to leave it.
func (p *process) approvalPolicy() string {
	if p.asksToLeave() {
		return "on-request"
	}
	return "untrusted"
}

// asksToLeave reports whether an approval is about leaving the sandbox and nothing else.
func (p *process) asksToLeave() bool { return p.launch.sandbox != noSandbox && p.relay != nil }

// load starts a thread, or goes on with one. If Codex has lost it, it begins another and
// says so, unless the session is not to.
func (p *process) load(ctx context.Context, current, model string, onStale terret.OnStale) (started, error) {
	out := started{source: "new", version: p.version, tools: p.launch.offered()}
	params := p.threadParams(model)
	method := "thread/start"
	if current != "" {
		n, err := parseNative(current)
		if err != nil {
			return out, err
		}
		method, out.source = "thread/resume", "resume"
		params["threadId"], params["excludeTurns"] = n.id, true
		if n.copy {
			method, out.source = "thread/fork", "fork"
			if n.last != "" {
				params["lastTurnId"] = n.last
			}
		}
	}
	answer, err := p.callThread(ctx, method, params)
	if current != "" && isLost(err) {
		if onStale == terret.OnStaleError {
			return out, terret.Errorf(terret.CodeResumeFailed, "Codex has lost thread %s: %w", current, err)
		}
		out.source, out.lost = "new", err.Error()
		answer, err = p.callThread(ctx, "thread/start", p.threadParams(model))
	}
	if err != nil {
		return out, refusal(err)
	}
	out.thread, out.model, out.cwd = answer.Thread.ID, answer.Model, answer.Cwd
	return out, nil
}

// callThread loads a thread and makes it the one that we listen to.
func (p *process) callThread(ctx context.Context, method string, params object) (threadAnswer, error) {
	var answer threadAnswer
	if err := p.conn.Call(ctx, method, params, &answer); err != nil {
		return answer, err
	}
	if answer.Thread.ID == "" {
		return answer, terret.Errorf(terret.CodeMalformedOutput, "Codex did not say which thread it has loaded")
	}
	p.mu.Lock()
	p.t.thread, p.model = answer.Thread.ID, ""
	if method == "thread/start" { // others may have been told another model by their last turn
		p.model = answer.Model
	}
	p.mu.Unlock()
	return answer, nil
}

// events tell how the thread was loaded. before is what the session knew.
func (s started) events(before string) []terret.Event {
	out := []terret.Event{{Source: "thread/started", Data: terret.SessionStart{
		Source: s.source, Agent: Name, AgentVersion: s.version, NativeID: s.thread, Model: s.model, Cwd: s.cwd,
		PermissionMode: s.mode, Tools: s.tools,
	}}}
	if s.thread == before {
		return out
	}
	change := terret.SessionNativeID{Old: terret.NullString(before), New: s.thread, Reason: "start"}
	switch {
	case s.lost != "":
		change.Reason, change.Error = "stale", brief.Cut(s.lost, diagLimit)
	case s.source == "fork":
		change.Reason = "fork"
	}
	return append(out, terret.Event{Source: "thread/started", Data: change})
}
