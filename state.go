package terret

import (
	"cmp"
	"slices"
	"strings"
)

// SessionState says what a session is doing.
type SessionState string

// The states of a session.
const (
	SessionPending      SessionState = "pending" // the agent has not reported an id yet
	SessionStarting     SessionState = "starting"
	SessionIdle         SessionState = "idle"
	SessionBusy         SessionState = "busy"
	SessionWaiting      SessionState = "waiting" // a decision is open
	SessionCompacting   SessionState = "compacting"
	SessionRetrying     SessionState = "retrying"
	SessionInterrupting SessionState = "interrupting"
	SessionFailed       SessionState = "failed" // the last turn failed; still usable
	SessionStale        SessionState = "stale"  // the agent lost it
	SessionClosed       SessionState = "closed"
)

// SessionStates lists them.
func SessionStates() []SessionState {
	return []SessionState{
		SessionPending, SessionStarting, SessionIdle, SessionBusy, SessionWaiting, SessionCompacting, SessionRetrying,
		SessionInterrupting, SessionFailed, SessionStale, SessionClosed,
	}
}

// Validate rejects an unknown state.
func (s SessionState) Validate() error {
	if slices.Contains(SessionStates(), s) {
		return nil
	}
	return Invalid("state", "there is no state %.64q; use %s", s, oneOf(SessionStates()))
}

// Working reports whether a turn runs in that state.
func (s SessionState) Working() bool {
	switch s {
	case SessionBusy, SessionWaiting, SessionCompacting, SessionRetrying, SessionInterrupting:
		return true
	case SessionPending, SessionStarting, SessionIdle, SessionFailed, SessionStale, SessionClosed:
		return false
	}
	return false
}

// TurnState is the state of a turn.
type TurnState string

// The states of a turn.
const (
	TurnQueued      TurnState = "queued"
	TurnRunning     TurnState = "running"
	TurnCompleted   TurnState = "completed"
	TurnFailed      TurnState = "failed"
	TurnInterrupted TurnState = "interrupted"
	TurnKilled      TurnState = "killed"
)

// Ended reports whether nothing more will happen in the turn.
func (s TurnState) Ended() bool { return s != TurnQueued && s != TurnRunning }

// AgentState says what a named agent of a team is doing.
type AgentState string

// The states of a named agent.
const (
	AgentIdle       AgentState = "idle"
	AgentProcessing AgentState = "processing"
	AgentFailed     AgentState = "failed" // until the next success
	AgentRestarting AgentState = "restarting"
	AgentTerminated AgentState = "terminated"
)

// Mode says how a person works with the session.
type Mode string

// The modes.
const (
	ModeWorkbench Mode = "workbench"
	ModePipeline  Mode = "pipeline"
	ModeDirect    Mode = "direct"
)

// Validate rejects an unknown mode.
func (m Mode) Validate() error {
	switch m {
	case ModeWorkbench, ModePipeline, ModeDirect:
		return nil
	}
	return Invalid("mode", "unknown mode %q; use workbench, pipeline or direct", m)
}

// Policy names what happens to requests that no rule decides.
type Policy string

// The policies.
const (
	PolicyAsk               Policy = "ask"
	PolicyAcceptEdits       Policy = "accept-edits"
	PolicyDenyUnlessAllowed Policy = "deny-unless-allowed"
	PolicyPlan              Policy = "plan"
	PolicyRules             Policy = "rules"
	PolicyAutoApprove       Policy = "auto-approve"
)

// policyTitles are the words for the policies that people choose between.
var policyTitles = map[Policy]string{
	PolicyAsk: "Ask", PolicyAcceptEdits: "Auto-edit", PolicyPlan: "Plan", PolicyAutoApprove: "Full auto",
	PolicyRules: "Rules", PolicyDenyUnlessAllowed: "Allowed only",
}

// Title is what people call the policy, such as "Auto-edit".
func (p Policy) Title() string { return cmp.Or(policyTitles[p], string(p)) }

// PolicyNamed returns the policy with that name or title, such as "auto-edit" or
// "full-auto". It returns the word itself if there is none.
func PolicyNamed(word string) Policy {
	plain := strings.ReplaceAll(strings.ToLower(word), " ", "-")
	for p, title := range policyTitles {
		if plain == string(p) || plain == strings.ReplaceAll(strings.ToLower(title), " ", "-") {
			return p
		}
	}
	return Policy(word)
}

// Validate rejects an unknown policy.
func (p Policy) Validate() error {
	if slices.Contains(Policies(), p) {
		return nil
	}
	return Invalid("policy", "there is no policy %q; use %s", p, oneOf(Policies()))
}

// Policies lists them in display order.
func Policies() []Policy {
	return []Policy{PolicyAsk, PolicyAcceptEdits, PolicyRules, PolicyPlan, PolicyDenyUnlessAllowed, PolicyAutoApprove}
}
