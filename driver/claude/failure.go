package claude

import (
	"cmp"
	"strings"

	"github.com/terret-dev/terret"
)

// notSignedIn tells people what to do.
const notSignedIn = "Claude Code not authenticated. Run `claude auth login` in your terminal."

// failureOf is the error that a result reports, or nil. It ignores the subtype: for
// errors of the model's API that is "success".
func (t *translator) failureOf(r *resultMessage) *terret.Error {
	said := cmp.Or(r.Result, strings.Join(r.Errors, "; "))
	switch r.TerminalReason {
	case "aborted_streaming", "aborted_tools":
		return terret.Errorf(terret.CodeInterrupted, "the turn was interrupted")
	case "max_turns":
		return terret.Errorf(terret.CodeMaxTurns, "%s", cmp.Or(said, "the agent reached its limit on steps; raise max_turns to let it continue"))
	}
	if !r.IsError {
		return nil
	}
	switch {
	case t.head.Subtype == "error_max_turns":
		return terret.Errorf(terret.CodeMaxTurns, "%s", said)
	case t.head.Subtype == "error_max_budget_usd":
		return terret.Errorf(terret.CodeMaxBudget, "%s", said)
	case t.head.Subtype == "error_max_structured_output_retries":
		return terret.Errorf(terret.CodeMaxStructured, "%s", cmp.Or(said, "the model gave no answer that fits output_schema; simplify the schema, or ask again"))
	case !t.session.started && r.NumTurns == 0 && isResumeError(r.Errors):
		return terret.Errorf(terret.CodeResumeFailed, "%s", said)
	}
	kind, retryable := errorKind(t.turn.failure, r, said)
	message := cmp.Or(said, "the agent failed and did not say why; prompt the session to try again")
	switch {
	case kind == terret.CodeNotAuthenticated:
		message = notSignedIn
	case r.StopReason == "refusal" && t.turn.refusal != "":
		message = t.turn.refusal
	}
	return &terret.Error{Code: kind, Message: message, Retryable: retryable, HTTPStatus: r.APIErrorStatus}
}

// errorKind classifies a failure by the agent's own word for it, the status of the
// model's API, and the reason why it stopped.
func errorKind(word string, r *resultMessage, said string) (kind terret.ErrorCode, retryable bool) {
	if r.StopReason == "refusal" {
		return terret.CodeModelError, false
	}
	switch word {
	case "authentication_failed", "oauth_org_not_allowed":
		return terret.CodeNotAuthenticated, false
	case "billing_error":
		return terret.CodeBilling, false
	case "rate_limit":
		return terret.CodeRateLimited, true
	case "overloaded":
		return terret.CodeOverloaded, true
	case "model_not_found":
		return terret.CodeModelNotFound, false
	case "server_error":
		if r.APIErrorStatus == 0 {
			return terret.CodeConnectionFailed, true
		}
	}
	switch status := r.APIErrorStatus; {
	case status == 401:
		return terret.CodeNotAuthenticated, false
	case status == 402:
		return terret.CodeBilling, false
	case status == 429:
		return terret.CodeRateLimited, true
	case status == 529:
		return terret.CodeOverloaded, true
	case status >= 500:
		return terret.CodeModelError, true
	case status >= 400 || word != "":
		return terret.CodeModelError, false
	}
	switch r.TerminalReason {
	case "blocking_limit":
		return terret.CodeRateLimited, true
	case "prompt_too_long", "image_error", "model_error", "api_error":
		return terret.CodeModelError, false
	}
	if strings.HasPrefix(said, "API Error") {
		return terret.CodeModelError, false
	}
	return terret.CodeExecutionError, false
}

// isResumeError reports whether the agent says that there is nothing to resume.
func isResumeError(errs []string) bool {
	for _, e := range errs {
		for _, words := range []string{"No conversation found", "--resume requires", "No message found with message.uuid"} {
			if strings.Contains(e, words) {
				return true
			}
		}
	}
	return false
}
