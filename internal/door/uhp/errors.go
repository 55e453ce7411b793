package uhp

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/lazyregexp"
)

// fault is an error in the protocol's form.
type fault struct {
	Type    string         `json:"type"`
	Code    string         `json:"code"`
	Message string         `json:"message"`
	Param   *string        `json:"param"`
	Detail  map[string]any `json:"detail"`

	status int
}

// Error implements error.
func (f *fault) Error() string { return f.Message }

// The types of errors.
const (
	typeRequest = "invalid_request_error"
	typeAuth    = "authentication_error"
	typeScope   = "permission_error"
	typeRate    = "rate_limit_error"
	typeHarness = "harness_error"
	typeServer  = "server_error"
)

func refuse(status int, code, param, message string) *fault {
	f := &fault{Type: typeRequest, Code: code, Message: safe(message), status: status}
	switch {
	case status == http.StatusUnauthorized:
		f.Type = typeAuth
	case status == http.StatusForbidden:
		f.Type = typeScope
	case status == http.StatusTooManyRequests:
		f.Type = typeRate
	case status >= 500:
		f.Type = typeServer
	}
	if param != "" {
		f.Param = &param
	}
	return f
}

func invalid(param, message string) *fault {
	return refuse(http.StatusBadRequest, "invalid_input", param, message)
}

// The things that can be missing.
func noHarness(param, id string) *fault {
	return refuse(http.StatusNotFound, "harness_not_found", param, "No harness with id '"+short(id)+"'.")
}

func noResponse(param, id string) *fault {
	return refuse(http.StatusNotFound, "response_not_found", param, "No response with id '"+short(id)+"'.")
}

func noSession(id string) *fault {
	return refuse(http.StatusNotFound, "session_not_found", "", "No session with id '"+short(id)+"'.")
}

func noFile(param, id string) *fault {
	return refuse(http.StatusNotFound, "file_not_found", param, "No file with id '"+short(id)+"'.")
}

func short(text string) string {
	if len(text) > 100 {
		text = text[:100] + "…"
	}
	return strings.ToValidUTF8(text, "?")
}

var (
	address  = lazyregexp.New(`[a-z]+://[^\s,;]+`)
	filePath = lazyregexp.New(`(^|[\s"'(:=])(/[^\s"'():,;]+|[A-Za-z]:\\[^\s"',;]+)`)
)

// safe is a message without addresses and paths, which the protocol forbids.
func safe(message string) string {
	message = address.ReplaceAllString(message, "(an address)")
	return strings.ToValidUTF8(filePath.ReplaceAllString(message, "$1(a path)"), "?")
}

// faultOf puts an error of the server into the protocol's words.
func faultOf(err error) *fault {
	if f, ok := err.(*fault); ok { //nolint:errorlint // made here, and never wrapped
		return f
	}
	e := terret.AsError(err)
	switch e.Code {
	case terret.CodeUnauthorized:
		return refuse(http.StatusUnauthorized, "invalid_credential", "", "The API key is not a valid token of this server.")
	case terret.CodeForbidden:
		return refuse(http.StatusForbidden, "insufficient_scope", "", e.Message)
	case terret.CodeSessionNotFound:
		return refuse(http.StatusNotFound, "session_not_found", "", "No such session.")
	case terret.CodeNotFound:
		return refuse(http.StatusNotFound, "file_not_found", "", e.Message)
	case terret.CodeSessionBusy:
		return refuse(http.StatusConflict, "session_busy", "", "A task is already running in this session.")
	case terret.CodeInvalidRequest:
		return invalid(e.Field, e.Message)
	case terret.CodeModelNotFound:
		return refuse(http.StatusUnprocessableEntity, "model_unavailable", "model", e.Message)
	case terret.CodeUnsupported:
		return refuse(http.StatusUnprocessableEntity, "terret_unsupported", e.Field, e.Message)
	case terret.CodeAlreadyDecided, terret.CodeConflict, terret.CodeSessionClosed:
		return refuse(http.StatusConflict, "terret_conflict", e.Field, e.Message)
	case terret.CodeRateLimited:
		return refuse(http.StatusTooManyRequests, "rate_limited", "", e.Message)
	case terret.CodeAgentNotFound, terret.CodeNotAuthenticated, terret.CodeOverloaded, terret.CodeStartupRefused,
		terret.CodeConnectionFailed, terret.CodeProcessFailed, terret.CodeMalformedOutput:
		return refuse(http.StatusServiceUnavailable, "harness_unavailable", "", e.Message)
	case terret.CodeExecutionError, terret.CodeModelError, terret.CodeBilling, terret.CodeMaxTurns, terret.CodeMaxBudget,
		terret.CodeMaxStructured, terret.CodeResumeFailed, terret.CodeInterrupted, terret.CodeKilled, terret.CodeTimeout, terret.CodeInternal:
	}
	return refuse(http.StatusInternalServerError, "terret_internal", "", "The server failed; its log says more.")
}

// Refuse writes a refusal of the server in the protocol's form.
func Refuse(w http.ResponseWriter, r *http.Request, status int, err *terret.Error) {
	f := faultOf(err)
	switch {
	case status == http.StatusUnauthorized && r.Header.Get("Authorization") == "":
		f = refuse(status, "missing_credential", "", "Send a token of this server as a bearer token.")
	case status == http.StatusRequestEntityTooLarge:
		f = refuse(status, "file_too_large", "", err.Message)
		f.Detail = map[string]any{"max_bytes": maxBody}
	case status == http.StatusNotFound:
		f = refuse(status, "file_not_found", "", "There is nothing at this path.")
	case status == http.StatusUnsupportedMediaType, status == http.StatusMethodNotAllowed, status == http.StatusRequestTimeout:
		f = refuse(status, "invalid_input", "", err.Message)
	}
	if status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="terret"`)
	}
	w.Header().Set(versionHeader, version)
	writeFault(w, f)
}

func writeFault(w http.ResponseWriter, f *fault) {
	writeJSON(w, f.status, map[string]any{"error": f})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // the caller may be gone
}
