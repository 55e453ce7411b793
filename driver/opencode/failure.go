package opencode

import (
	"cmp"
	"strings"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/brief"
)

// signIn tells people what to do.
const signIn = "OpenCode is not signed in to the model's provider. Run `opencode auth login` in your terminal."

// failure is why the turn did not go well, or nil.
func (t *translator) failure() *terret.Error {
	u := t.turn
	f := u.failure
	if m := t.messages[u.lastID]; f == nil && m != nil {
		f = m.info.Error
	}
	switch {
	case u.gaveUp != nil:
		return u.gaveUp
	case u.interrupted || f != nil && f.Name == "MessageAbortedError":
		return terret.Errorf(terret.CodeInterrupted, "the turn was interrupted")
	case f == nil:
		return nil
	}
	return failureOf(f)
}

// failureOf says what went wrong, by the name that the agent has for it and the status
// of the model's API.
func failureOf(f *failure) *terret.Error {
	status := f.Data.StatusCode
	said := cmp.Or(f.Data.Message, f.Name, "the agent failed and did not say why; prompt the session to try again")
	out := &terret.Error{Message: said, HTTPStatus: status}
	switch {
	case f.Name == "ProviderAuthError" || status == 401 || status == 403:
		out.Code, out.Message = terret.CodeNotAuthenticated, signIn
		if f.Data.Message != "" {
			out.Message += " The provider says: " + brief.Cut(f.Data.Message, diagLimit)
		}
	case status == 402:
		out.Code = terret.CodeBilling
	case status == 404 || strings.HasPrefix(said, "Model not found"):
		out.Code = terret.CodeModelNotFound
	case status == 429:
		out.Code, out.Retryable = terret.CodeRateLimited, true
	case status == 529:
		out.Code, out.Retryable = terret.CodeOverloaded, true
	case status >= 500:
		out.Code, out.Retryable = terret.CodeModelError, true
	case f.Name == "StructuredOutputError":
		out.Code = terret.CodeMaxStructured
	case status >= 400 || f.Name == "MessageOutputLengthError" || f.Name == "ContextOverflowError":
		out.Code = terret.CodeModelError
	case unconnected(said):
		out.Code, out.Retryable = terret.CodeConnectionFailed, true
	case f.Name == "APIError":
		out.Code, out.Retryable = terret.CodeModelError, f.Data.IsRetryable
	default:
		out.Code = terret.CodeExecutionError
	}
	return out
}

// unconnected reports whether the agent says that the model's API cannot be reached.
func unconnected(said string) bool {
	return strings.HasPrefix(said, "Cannot connect to API") || strings.Contains(said, "Unable to connect")
}

// tired is why we end a turn whose model's API was tried too often.
func tired(s status) *terret.Error {
	out := terret.Errorf(terret.CodeModelError, "the model's API failed %d times: %s", s.Attempt, brief.Cut(s.Message, diagLimit))
	if unconnected(s.Message) {
		out.Code = terret.CodeConnectionFailed
	}
	out.Retryable = true
	return out
}
