package native

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/anthropics/anthropic-sdk-go"

	"github.com/terret-dev/terret"
)

// garbage is the error for what is not an answer of the API. Within one it may be
// an accident; where none has begun, something else answers at the address.
func (c *claude) garbage(within bool, what string) error {
	e := &terret.Error{Code: terret.CodeMalformedOutput, Retryable: within, Message: "the API sent something that cannot be read: " + c.clean(what)}
	if !within {
		e.Message += "; check " + anthropicBase
	}
	return e
}

// apiError says what went wrong in words that a person can act on. within says that
// an answer had begun.
func (c *claude) apiError(err error, within bool) error {
	api, ok := errors.AsType[*anthropic.Error](err)
	if !ok {
		_, syntax := errors.AsType[*json.SyntaxError](err)
		_, shape := errors.AsType[*json.UnmarshalTypeError](err)
		if syntax || shape {
			return c.garbage(within, err.Error())
		}
		return &terret.Error{
			Code: terret.CodeConnectionFailed, Retryable: !errors.Is(err, errElsewhere),
			Message: "the API cannot be reached or broke off: " + c.clean(err.Error()) + "; check the network, or " + anthropicBase,
		}
	}
	f := &failure{why: c.judge(api), after: retryAfter(api.Response)}
	if api.StatusCode >= http.StatusBadRequest { // in the middle of an answer it is 200
		f.why.HTTPStatus = api.StatusCode
	}
	if api.Response != nil {
		switch api.Response.Header.Get("X-Should-Retry") {
		case "true":
			f.why.Retryable = true
		case "false":
			f.why.Retryable = false
		}
	}
	return f
}

// judge goes by what the API calls the error, or else by the status.
func (c *claude) judge(api *anthropic.Error) *terret.Error {
	detail, ours := apiMessage(api)
	detail = c.clean(detail)
	name, status := string(api.Type()), api.StatusCode
	e := &terret.Error{}
	switch {
	case name == "authentication_error" || name == "" && status == http.StatusUnauthorized:
		e.Code, e.Message = terret.CodeNotAuthenticated, "the API does not accept the key in "+anthropicKey+": "+detail
	case name == "billing_error" || status == http.StatusPaymentRequired || strings.Contains(detail, "credit balance is too low"):
		e.Code, e.Message = terret.CodeBilling, "the account cannot pay: "+detail
	case name == "permission_error" || name == "" && status == http.StatusForbidden:
		e.Code, e.Message = terret.CodeNotAuthenticated, "the key in "+anthropicKey+" may not do this: "+detail
	case name == "not_found_error" || status == http.StatusNotFound && ours:
		e.Code, e.Message = terret.CodeModelNotFound, "the API does not know the model "+c.name+": "+detail
	case status == http.StatusNotFound:
		e.Code, e.Message = terret.CodeConnectionFailed, "there is no API of models at this address: "+detail+"; check "+anthropicBase
	case name == "rate_limit_error" || status == http.StatusTooManyRequests:
		e.Code, e.Retryable, e.Message = terret.CodeRateLimited, true, "the API's rate limit is reached: "+detail
	case name == "overloaded_error" || status == 529 || status == http.StatusServiceUnavailable:
		e.Code, e.Retryable, e.Message = terret.CodeOverloaded, true, "the API is overloaded: "+detail
	default:
		e.Code, e.Message = terret.CodeModelError, "the API failed: "+detail
		e.Retryable = status >= http.StatusInternalServerError || status == http.StatusRequestTimeout || status == http.StatusConflict ||
			name == "api_error" || name == "timeout_error"
	}
	return e
}

// clean keeps secrets out of what people are told, also when a server repeats them.
func (c *claude) clean(text string) string { return c.secrets.String(text) }

// maxDetail bounds what is told of an answer that is not the API's own error.
const maxDetail = 200

// apiMessage is the API's own message, or the beginning of whatever was sent. ours
// says which.
func apiMessage(e *anthropic.Error) (text string, ours bool) {
	var body struct{ Error struct{ Message string } }
	raw := e.RawJSON()
	if json.Unmarshal([]byte(raw), &body) == nil && body.Error.Message != "" {
		return body.Error.Message, true
	}
	raw = strings.Join(strings.Fields(raw), " ")
	if raw == "" {
		raw = http.StatusText(e.StatusCode)
	}
	if runes := []rune(raw); len(runes) > maxDetail {
		raw = string(runes[:maxDetail]) + "…"
	}
	return raw, false
}

// retryAfter is how long the answer asks to wait, zero if it does not.
func retryAfter(r *http.Response) time.Duration {
	if r == nil {
		return 0
	}
	if ms, err := strconv.ParseFloat(r.Header.Get("Retry-After-Ms"), 64); err == nil {
		return seconds(ms / 1000)
	}
	text := r.Header.Get("Retry-After")
	if s, err := strconv.ParseFloat(text, 64); err == nil {
		return seconds(s)
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(time.Until(at), 0)
	}
	return 0
}

func seconds(s float64) time.Duration {
	if !(s > 0) { // nor a number
		return 0
	}
	return time.Duration(min(s, 1e6) * float64(time.Second))
}
