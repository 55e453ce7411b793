package acp

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/seat"
	"github.com/terret-dev/terret/internal/brief"
	"github.com/terret-dev/terret/internal/lazyregexp"
	"github.com/terret-dev/terret/internal/rpc"
)

// failureOf is the error with which the turn ended, or nil. a.telling is held.
func (t *turn) failureOf(a *agent, answer prompted, err error) *terret.Error {
	if refusal, ok := errors.AsType[*rpc.Error](err); ok {
		if t.cancelled && !t.silent {
			return interrupted() // some agents end it with an error
		}
		t.status = statusIn(string(refusal.Data))
		if refusal.Code >= 400 && refusal.Code < 600 { // that of the model's API
			t.status = int(refusal.Code)
		}
		var data struct {
			Name string `json:"errorName"` // OpenCode's
		}
		seat.Decode(refusal.Data, &data)
		out := t.failed(a, refusalText(refusal), refusal.Code == codeAuthRequired || data.Name == "ProviderAuthError")
		if out.Code == terret.CodeExecutionError && data.Name == "APIError" {
			out.Code = terret.CodeModelError
		}
		if t.silent && out.Code == terret.CodeExecutionError {
			return t.silence(a) // it says only that it was told to stop
		}
		return out
	}
	switch {
	case a.Closed() && err == nil: // whatever it made of that
		return terret.Errorf(terret.CodeProcessFailed, "%s was closed in the middle of the turn", t.p.title)
	case t.silent:
		return t.silence(a)
	case errors.Is(err, rpc.ErrClosed):
		return t.p.ExitError(t.p.title+" ended in the middle of the turn", "prompt the session to go on")
	case err != nil:
		return terret.Errorf(terret.CodeMalformedOutput, "%s ended the turn with an answer that cannot be read: %w", t.p.title, err)
	}
	switch answer.StopReason {
	case "cancelled":
		if t.cancelled || len(t.denials) == 0 {
			return interrupted()
		}
	case "max_turn_requests":
		return terret.Errorf(terret.CodeMaxTurns, "%s took as many steps as it may", t.p.title)
	case "refusal":
		return terret.Errorf(terret.CodeModelError, "the model refused to go on")
	}
	if said := strings.TrimSpace(t.said); !t.cancelled && t.inVain(answer, said) {
		return t.failed(a, said, false)
	}
	return nil
}

// inVain reports whether a turn that ended well failed, and its last words say why.
func (t *turn) inVain(answer prompted, said string) bool {
	q := t.profile.quirks
	if q.failure != nil && q.failure.MatchString(said) {
		return true
	}
	return q.anonymous && t.unnamed && said != "" && (answer.Usage == nil || answer.Usage.Output == 0)
}

func interrupted() *terret.Error {
	return terret.Errorf(terret.CodeInterrupted, "the turn was interrupted")
}

// silence is the error of a turn in which the agent said nothing for too long.
func (t *turn) silence(a *agent) *terret.Error {
	e := terret.Errorf(terret.CodeTimeout, "%s has said nothing for %s; the model may be out of reach", t.p.title, a.d.idle)
	e.Retryable = true
	return e
}

// failed is the error that the agent's words tell.
func (t *turn) failed(a *agent, text string, unauthenticated bool) *terret.Error {
	text = t.p.Redact.String(text)
	status := t.status
	if status == 0 {
		status = statusIn(text)
	}
	if said := t.said; status == 0 && strings.Contains(said, "API Error") {
		status = statusIn(said) // what the agent's program has said for its model
	}
	if unauthenticated || status == 0 && saysUnauthenticated(text) || status == 401 || status == 403 {
		e := a.notSignedIn(text)
		e.HTTPStatus = status
		return e
	}
	code, retryable := kindOf(status)
	switch {
	case unreachable.MatchString(text) && statusIn(text) == 0: // whatever the agent makes of that
		code, retryable, status = terret.CodeConnectionFailed, true, 0
	case status != 0:
	case limited.MatchString(text):
		code, retryable = terret.CodeRateLimited, true
	case missing.MatchString(text):
		code = terret.CodeModelNotFound
	default:
		code = terret.CodeExecutionError
	}
	return &terret.Error{Code: code, Message: fmt.Sprintf("%s: %s", t.p.title, brief.Cut(text, 500)), Retryable: retryable, HTTPStatus: status}
}

// notSignedIn tells people what to do.
func (a *agent) notSignedIn(text string) *terret.Error {
	how := ""
	if c := a.d.p.SignIn.Command; c != "" {
		how = " Run `" + c + "` in your terminal."
	}
	return terret.Errorf(terret.CodeNotAuthenticated, "%s is not authenticated.%s It said: %s", a.d.p.title(), how, brief.Cut(text, 500))
}

// kindOf is what a status of the model's API means.
func kindOf(status int) (code terret.ErrorCode, retryable bool) {
	switch {
	case status == 402:
		return terret.CodeBilling, false
	case status == 404:
		return terret.CodeModelNotFound, false
	case status == 429:
		return terret.CodeRateLimited, true
	case status == 529:
		return terret.CodeOverloaded, true
	case status >= 500:
		return terret.CodeModelError, true
	}
	return terret.CodeModelError, false
}

var (
	// statuses find the status of the model's API in the words of agents.
	statuses = lazyregexp.New(`(?i)(?:status(?:[ _]?code)?|error|code|http)["']?(?:\s*[:=]|\s+is|\s+code)?\s*["']?\(?([45]\d\d)\b|^\(?([45]\d\d)\b|\(([45]\d\d)\b`)
	// unreachable are words for a model that nobody answers for.
	unreachable = lazyregexp.New(`(?i)ECONNREFUSED|connection refused|connection error|fetch failed|network error|could not connect|can.t connect|unable to connect|cannot connect|error sending request|socket hang up|ECONNRESET|ENOTFOUND`)
	missing     = lazyregexp.New(`(?i)selected model|model\b.{0,80}\b(?:not found|does not exist|may not exist)`)
	limited     = lazyregexp.New(`(?i)rate limit`)
	unsigned    = lazyregexp.New(`(?i)\bauthenticat|failed to resolve provider|missing environment variable|not logged in|not signed in|unauthorized|api[ _]key (?:is )?(?:not|missing|required)|missing (?:api[ _])?key|no api[ _]key|invalid api key|please (?:log|sign) in|/login\b`)
)

// statusIn is the status that a text tells, or zero.
func statusIn(text string) int {
	m := statuses.FindStringSubmatch(text)
	for i := 1; i < len(m); i++ {
		if n, err := strconv.Atoi(m[i]); err == nil {
			return n
		}
	}
	return 0
}

func saysUnauthenticated(text string) bool { return unsigned.MatchString(text) }

// refusalText is all that an error says. Many agents put what matters into its data.
func refusalText(e *rpc.Error) string {
	var text string
	if !seat.Decode(e.Data, &text) {
		var details struct {
			Details string `json:"details"`
			Message string `json:"message"`
			Error   string `json:"error"`
		}
		seat.Decode(e.Data, &details)
		text = cmp.Or(details.Details, details.Message, details.Error)
	}
	if text == "" || strings.Contains(e.Message, text) {
		return e.Message
	}
	return e.Message + ": " + text
}
