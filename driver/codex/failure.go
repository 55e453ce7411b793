package codex

import (
	"cmp"
	"errors"
	"strconv"
	"strings"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/seat"
	"github.com/terret-dev/terret/internal/brief"
	"github.com/terret-dev/terret/internal/lazyregexp"
	"github.com/terret-dev/terret/internal/rpc"
)

// notSignedIn tells people what to do.
const notSignedIn = "Codex not authenticated. Run `codex login` in your terminal, or set the key that its model provider needs; name a variable other than OPENAI_* and CODEX_* in agents.codex.env of the configuration."

// info is Codex's own word for an error, and the status of the model's API, if it tells.
func (f *turnFailure) info() (word string, status int) {
	if f == nil || seat.Decode(f.Info, &word) {
		return word, 0
	}
	var words map[string]struct {
		Status int `json:"httpStatusCode"`
	}
	if err := seat.Decode(f.Info, &words); !err {
		return "", 0
	}
	for w, about := range words {
		word, status = w, about.Status
	}
	return word, status
}

// statusWords are Codex's words for statuses that it does not tell.
var statusWords = map[string]int{"badRequest": 400, "unauthorized": 401, "modelNotFound": 404, "internalServerError": 500}

var statusPattern = lazyregexp.New(`(?i)\bstatus(?: code)?:? (\d{3})\b`)

// status is what the model's API answered, or zero.
func (f *turnFailure) status() int {
	if f == nil {
		return 0
	}
	word, status := f.info()
	if status != 0 {
		return status
	}
	if status = statusWords[word]; status != 0 {
		return status
	}
	if strings.Contains(f.Message, `"invalid_request_error"`) { // what the API said, as it is
		return 400
	}
	if m := statusPattern.FindStringSubmatch(f.Message + " " + f.Details); m != nil {
		status, _ = strconv.Atoi(m[1])
	}
	return status
}

func (f *turnFailure) said() string {
	if f == nil {
		return ""
	}
	if f.Details != "" && !strings.Contains(f.Message, f.Details) {
		return f.Message + ": " + f.Details
	}
	return f.Message
}

// asError is the error with which a turn failed.
func (f *turnFailure) asError() *terret.Error {
	word, _ := f.info()
	status := f.status()
	code, retryable := kindOf(word, status, f.said())
	message := cmp.Or(f.said(), "Codex failed and did not say why; prompt the session to try again")
	if code == terret.CodeNotAuthenticated {
		message = notSignedIn + " Codex says: " + message
	}
	return &terret.Error{Code: code, Message: message, Retryable: retryable, HTTPStatus: status}
}

// kindOf says what went wrong, by the status of the model's API and Codex's own word.
func kindOf(word string, status int, said string) (code terret.ErrorCode, retryable bool) {
	switch status {
	case 401, 403:
		return terret.CodeNotAuthenticated, false
	case 402:
		return terret.CodeBilling, false
	case 404:
		return terret.CodeModelNotFound, false
	case 429:
		return terret.CodeRateLimited, true
	case 529:
		return terret.CodeOverloaded, true
	}
	switch word {
	case "usageLimitExceeded", "rateLimitExceeded", "sessionBudgetExceeded":
		return terret.CodeRateLimited, true
	case "serverOverloaded", "flexUnavailable", "policyCapacityUnavailable":
		return terret.CodeOverloaded, true
	}
	switch {
	case status >= 500:
		return terret.CodeModelError, true
	case status >= 400 || word == "contextWindowExceeded" || word == "cyberPolicy" || word == "misalignmentPolicyViolation":
		return terret.CodeModelError, false
	case strings.Contains(said, "Missing environment variable"):
		return terret.CodeNotAuthenticated, false
	case word == "httpConnectionFailed" || strings.HasPrefix(word, "responseStream") || word == "responseTooManyFailedAttempts":
		return terret.CodeConnectionFailed, true
	case strings.Contains(said, "error sending request") || strings.Contains(said, "stream disconnected"):
		return terret.CodeConnectionFailed, true
	}
	return terret.CodeExecutionError, false
}

// refusal is the error of a call that Codex did not do, or did not answer.
func refusal(err error) error {
	if said, ok := errors.AsType[*rpc.Error](err); ok {
		return terret.Errorf(terret.CodeConflict, "Codex refused: %s", brief.Cut(said.Message, diagLimit))
	}
	if errors.Is(err, rpc.ErrClosed) {
		return terret.Errorf(terret.CodeProcessFailed, "the agent's process has ended: %w", err)
	}
	return err
}
