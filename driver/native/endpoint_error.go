package native

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/sse"
)

// wireError is an answer of the API that is an error: its status says so, or an event
// in the middle of it.
type wireError struct {
	res  *http.Response
	body []byte
}

func (e *wireError) Error() string { return e.res.Status }

// said is what the API calls the error, and its message, if it is one of its own.
// OpenAI's code says more than its type. Some servers send the message alone.
func (e *wireError) said() (name, message string) {
	var body struct {
		Error json.RawMessage
	}
	var full struct {
		Type, Message string
		Code          any    // some send a number
		Status        string // Google's
	}
	_ = json.Unmarshal(e.body, &body) // else it is not one
	if json.Unmarshal(body.Error, &message) == nil {
		return "", message
	}
	if len(body.Error) == 0 {
		body.Error = e.body // an event of the Responses API
	}
	_ = json.Unmarshal(body.Error, &full)
	if code, ok := full.Code.(string); ok && code != "" {
		return code, full.Message
	}
	return cmp.Or(full.Status, full.Type), full.Message
}

// tooLong reports whether the API says that the conversation does not fit.
func (e *wireError) tooLong() bool {
	name, message := e.said()
	message = strings.ToLower(message)
	return name == "context_length_exceeded" || strings.Contains(message, "prompt is too long") ||
		strings.Contains(message, "maximum context length") || strings.Contains(message, "exceeds the context") || strings.Contains(message, "context window")
}

// rejects reports whether the API says that a request is wrong because of one of these
// things.
func rejects(err error, things ...string) bool {
	f, ok := errors.AsType[*failure](err)
	return ok && f.why.HTTPStatus == http.StatusBadRequest && slices.ContainsFunc(things, func(thing string) bool { return strings.Contains(strings.ToLower(f.why.Message), thing) })
}

// garbage is the error for what is not an answer of the API. Within one it may be
// an accident; where none has begun, something else answers at the address.
func (e *endpoint) garbage(within bool, what string) error {
	out := &terret.Error{Code: terret.CodeMalformedOutput, Retryable: within, Message: "cannot read the API's answer: " + e.clean(what)}
	if !within {
		out.Message += "; check " + e.provider.addressName()
	}
	return out
}

// apiError describes an error so that a person can act on it. within says that an
// answer had begun.
func (e *endpoint) apiError(err error, within bool) error {
	api, ok := errors.AsType[*wireError](err)
	if !ok {
		_, syntax := errors.AsType[*json.SyntaxError](err)
		_, shape := errors.AsType[*json.UnmarshalTypeError](err)
		if syntax || shape || errors.Is(err, sse.ErrTooLong) {
			return e.garbage(within, err.Error())
		}
		return &terret.Error{
			Code: terret.CodeConnectionFailed, Retryable: !errors.Is(err, errElsewhere),
			Message: "cannot reach the API, or the connection broke: " + e.clean(err.Error()) + "; check the network, or " + e.provider.addressName(),
		}
	}
	f := &failure{why: e.judge(api), after: retryAfter(api.res.Header), tooLong: api.tooLong()}
	if api.res.StatusCode >= http.StatusBadRequest { // in the middle of an answer it is 200
		f.why.HTTPStatus = api.res.StatusCode
	}
	switch api.res.Header.Get("X-Should-Retry") {
	case "true":
		f.why.Retryable = true
	case "false":
		f.why.Retryable = false
	}
	return f
}

// judge goes by what the API calls the error, or else by the status.
func (e *endpoint) judge(api *wireError) *terret.Error {
	name, detail := api.said()
	ours, status := detail != "", api.res.StatusCode
	if !ours {
		detail = api.beginning()
	}
	detail = e.clean(detail)
	key := e.provider.keyName()
	out := &terret.Error{}
	switch {
	case name == "authentication_error" || name == "invalid_api_key" || name == "UNAUTHENTICATED" || strings.Contains(detail, "API key not valid") || status == http.StatusUnauthorized:
		out.Code, out.Message = terret.CodeNotAuthenticated, "the API does not accept the key in "+key+": "+detail
	case name == "billing_error" || name == "insufficient_quota" || status == http.StatusPaymentRequired || strings.Contains(detail, "credit balance is too low"):
		out.Code, out.Message = terret.CodeBilling, "the account has no credit: "+detail
	case name == "permission_error" || name == "PERMISSION_DENIED" || status == http.StatusForbidden:
		out.Code, out.Message = terret.CodeNotAuthenticated, "the key in "+key+" is not allowed to do this: "+detail
	case name == "not_found_error" || name == "model_not_found" || name == "NOT_FOUND" || status == http.StatusNotFound && ours:
		out.Code, out.Message = terret.CodeModelNotFound, "the API does not know the model "+e.model+": "+detail
	case status == http.StatusNotFound:
		out.Code, out.Message = terret.CodeConnectionFailed, "there is no model API at this address: "+detail+"; check "+e.provider.addressName()
	case name == "rate_limit_error" || name == "rate_limit_exceeded" || name == "RESOURCE_EXHAUSTED" || status == http.StatusTooManyRequests:
		out.Code, out.Retryable, out.Message = terret.CodeRateLimited, true, "the API's rate limit is reached: "+detail
	case name == "overloaded_error" || name == "server_is_overloaded" || name == "UNAVAILABLE" || status == 529 || status == http.StatusServiceUnavailable:
		out.Code, out.Retryable, out.Message = terret.CodeOverloaded, true, "the API is overloaded: "+detail
	default:
		out.Code, out.Message = terret.CodeModelError, "the API failed: "+detail
		out.Retryable = status >= http.StatusInternalServerError || status == http.StatusRequestTimeout || status == http.StatusConflict ||
			name == "api_error" || name == "timeout_error" || name == "server_error" || name == "INTERNAL" || name == "DEADLINE_EXCEEDED"
	}
	return out
}

// clean keeps secrets out of messages, even if a server repeats them.
func (e *endpoint) clean(text string) string { return e.secrets.String(text) }

// maxDetail bounds what is shown of a response that is not the API's own error.
const maxDetail = 200

// beginning is the first of whatever was sent.
func (e *wireError) beginning() string {
	text := strings.Join(strings.Fields(string(e.body)), " ")
	if text == "" {
		text = http.StatusText(e.res.StatusCode)
	}
	if runes := []rune(text); len(runes) > maxDetail {
		text = string(runes[:maxDetail]) + "…"
	}
	return text
}

// retryAfter is how long the answer asks to wait, zero if it does not.
func retryAfter(h http.Header) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil {
		return seconds(ms / 1000)
	}
	text := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(text, 64); err == nil {
		return seconds(s)
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(time.Until(at), 0)
	}
	return 0
}

func seconds(s float64) time.Duration {
	if !(s > 0) { // also rejects NaN
		return 0
	}
	return time.Duration(min(s, 1e6) * float64(time.Second))
}
