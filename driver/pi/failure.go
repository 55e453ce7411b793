package pi

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/brief"
	"github.com/terret-dev/terret/internal/lazyregexp"
)

// failure is why the turn did not go well, or nil.
func (t *translator) failure() *terret.Error {
	u := &t.turn
	switch {
	case u.stopping || u.stopReason == "aborted":
		return terret.Errorf(terret.CodeInterrupted, "the turn was interrupted")
	case u.stopReason == "error":
		return failureOf(u.errorText)
	}
	return nil
}

// statusPattern finds the status of the model's API where providers put it: first, or
// after a word.
var statusPattern = lazyregexp.New(`^(\d{3})\b|(?i)\b(?:status(?: code)?|error|"code")\W{0,3}(\d{3})\b`)

// statusOf is what the model's API answered, or zero.
func statusOf(text string) int {
	m := statusPattern.FindStringSubmatch(text)
	if m == nil {
		return 0
	}
	status, _ := strconv.Atoi(m[1] + m[2])
	return status
}

// failureOf says what went wrong, by what Pi passes on from the model's API.
func failureOf(text string) *terret.Error {
	said := cmp.Or(brief.Cut(text, diagLimit), "Pi failed and did not say why; prompt the session to try again")
	out := &terret.Error{Message: said, HTTPStatus: statusOf(text)}
	has := func(words ...string) bool {
		for _, w := range words {
			if strings.Contains(strings.ToLower(text), w) {
				return true
			}
		}
		return false
	}
	switch status := out.HTTPStatus; {
	case status == 401, status == 403, has("no api key", "authentication failed", "no models available"):
		out.Code, out.Message = terret.CodeNotAuthenticated, signIn+" Pi says: "+out.Message
	case status == 402:
		out.Code = terret.CodeBilling
	case status == 404:
		out.Code = terret.CodeModelNotFound
	case status == 429:
		out.Code, out.Retryable = terret.CodeRateLimited, true
	case status == 529, status == 0 && has("overloaded"):
		out.Code, out.Retryable = terret.CodeOverloaded, true
	case status >= 400:
		out.Code, out.Retryable = terret.CodeModelError, status >= 500
	case has("connection", "fetch failed", "socket", "network", "timed out", "terminated", "econn"):
		out.Code, out.Retryable = terret.CodeConnectionFailed, true
	default:
		out.Code = terret.CodeModelError
	}
	return out
}

// refusal is the error of a command that Pi did not do.
func refusal(text string) error {
	if err := failureOf(text); err.Code == terret.CodeNotAuthenticated {
		return err
	}
	return terret.Errorf(terret.CodeConflict, "Pi refused: %s", brief.Cut(text, diagLimit))
}
