package terret

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// ErrorCode is what a program branches on.
type ErrorCode string

// The error codes.
const (
	CodeInvalidRequest   ErrorCode = "invalid_request"
	CodeUnauthorized     ErrorCode = "unauthorized"
	CodeForbidden        ErrorCode = "forbidden"
	CodeSessionNotFound  ErrorCode = "session_not_found"
	CodeNotFound         ErrorCode = "not_found"
	CodeSessionBusy      ErrorCode = "session_busy"
	CodeAlreadyDecided   ErrorCode = "already_decided"
	CodeConflict         ErrorCode = "conflict"
	CodeSessionClosed    ErrorCode = "session_closed"
	CodeUnsupported      ErrorCode = "unsupported"
	CodeAgentNotFound    ErrorCode = "agent_not_found"
	CodeNotAuthenticated ErrorCode = "not_authenticated"
	CodeConnectionFailed ErrorCode = "connection_failed"
	CodeProcessFailed    ErrorCode = "process_failed"
	CodeMalformedOutput  ErrorCode = "malformed_output"
	CodeExecutionError   ErrorCode = "execution_error"
	CodeModelError       ErrorCode = "model_error"
	CodeRateLimited      ErrorCode = "rate_limited"
	CodeOverloaded       ErrorCode = "overloaded"
	CodeBilling          ErrorCode = "billing"
	CodeModelNotFound    ErrorCode = "model_not_found"
	CodeMaxTurns         ErrorCode = "max_turns"
	CodeMaxBudget        ErrorCode = "max_budget"
	CodeMaxStructured    ErrorCode = "max_structured_retries"
	CodeResumeFailed     ErrorCode = "resume_failed"
	CodeInterrupted      ErrorCode = "interrupted"
	CodeKilled           ErrorCode = "killed"
	CodeTimeout          ErrorCode = "timeout"
	CodeStartupRefused   ErrorCode = "startup_refused"
	CodeInternal         ErrorCode = "internal"
)

// ErrorClass is what an error code means to each kind of caller.
type ErrorClass struct {
	HTTP    int // response status; 0 if the code only ends turns
	Exit    int // exit code of the command line; 0 if the turn continues
	JSONRPC int // code of the error object
}

// errorClasses is the one table of error codes.
var errorClasses = map[ErrorCode]ErrorClass{
	CodeInvalidRequest:   {http.StatusUnprocessableEntity, 2, -32602},
	CodeUnauthorized:     {http.StatusUnauthorized, 4, -32001},
	CodeForbidden:        {http.StatusForbidden, 4, -32003},
	CodeSessionNotFound:  {http.StatusNotFound, 3, -32004},
	CodeNotFound:         {http.StatusNotFound, 3, -32005},
	CodeSessionBusy:      {http.StatusConflict, 3, -32009},
	CodeAlreadyDecided:   {http.StatusConflict, 3, -32010},
	CodeConflict:         {http.StatusConflict, 3, -32011},
	CodeSessionClosed:    {http.StatusGone, 3, -32012},
	CodeUnsupported:      {http.StatusNotImplemented, 3, -32601},
	CodeAgentNotFound:    {http.StatusServiceUnavailable, 5, -32020},
	CodeNotAuthenticated: {http.StatusFailedDependency, 5, -32000}, // editors read this as "sign in first"
	CodeConnectionFailed: {http.StatusBadGateway, 6, -32021},
	CodeProcessFailed:    {http.StatusBadGateway, 6, -32022},
	CodeMalformedOutput:  {http.StatusBadGateway, 6, -32023},
	CodeExecutionError:   {http.StatusBadGateway, 6, -32024},
	CodeModelError:       {http.StatusBadGateway, 6, -32025},
	CodeRateLimited:      {http.StatusTooManyRequests, 6, -32026},
	CodeOverloaded:       {http.StatusServiceUnavailable, 6, -32027},
	CodeBilling:          {http.StatusPaymentRequired, 6, -32028},
	CodeModelNotFound:    {http.StatusNotFound, 6, -32029},
	CodeMaxTurns:         {0, 7, -32030},
	CodeMaxBudget:        {0, 7, -32031},
	CodeMaxStructured:    {0, 7, -32035},
	CodeResumeFailed:     {0, 0, -32032},
	CodeInterrupted:      {0, 130, -32800},
	CodeKilled:           {0, 137, -32033},
	CodeTimeout:          {0, 124, -32034},
	CodeStartupRefused:   {http.StatusServiceUnavailable, 1, -32040},
	CodeInternal:         {http.StatusInternalServerError, 1, -32603},
}

// Class is what the code means to callers. An unknown code counts as internal.
func (k ErrorCode) Class() ErrorClass {
	if c, ok := errorClasses[k]; ok {
		return c
	}
	return errorClasses[CodeInternal]
}

// Error is an error for three readers: a code for the program, Message for the person,
// and the wrapped error for the operator. Its JSON form, which omits the wrapped error,
// is what turn.error carries.
type Error struct {
	Code ErrorCode `json:"kind"`
	// Message says what happened, to what, and what to do next.
	Message   string `json:"message"`
	Field     string `json:"field,omitempty"` // the invalid field of the input
	Retryable bool   `json:"retryable"`
	// ExitCode and Signal describe a failed process; Stderr holds its last lines.
	ExitCode   *int     `json:"exit_code,omitempty"`
	Signal     string   `json:"signal,omitempty"`
	Stderr     []string `json:"stderr,omitempty"`
	HTTPStatus int      `json:"http_status,omitempty"` // the status that the model's provider returned

	err error
}

// Error implements error. It returns the message, which includes what a person needs to
// know of the wrapped error.
func (e *Error) Error() string {
	if e.Message == "" {
		return string(e.Code)
	}
	return e.Message
}

// Unwrap returns the wrapped error, if any.
func (e *Error) Unwrap() error { return e.err }

// Is reports whether target is an Error with the same code and nothing else, like the
// sentinels below.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code && t.Message == ""
}

// Sentinels for errors.Is.
var (
	ErrInvalid         error = &Error{Code: CodeInvalidRequest}
	ErrSessionNotFound error = &Error{Code: CodeSessionNotFound}
	ErrNotFound        error = &Error{Code: CodeNotFound}
	ErrBusy            error = &Error{Code: CodeSessionBusy}
	ErrAlreadyDecided  error = &Error{Code: CodeAlreadyDecided}
	ErrConflict        error = &Error{Code: CodeConflict}
	ErrClosed          error = &Error{Code: CodeSessionClosed}
	ErrUnsupported     error = &Error{Code: CodeUnsupported}
	ErrInterrupted     error = &Error{Code: CodeInterrupted}
	ErrKilled          error = &Error{Code: CodeKilled}
)

// ErrFenced says that the session has another owner by now: nothing was written, and
// the caller must stop working on the session.
var ErrFenced = errors.New("the session has another owner")

// Errorf makes an Error with that code. As with fmt.Errorf, %w wraps.
func Errorf(kind ErrorCode, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	e := &Error{Code: kind, Message: err.Error()}
	switch err.(type) { //nolint:errorlint // what fmt made, not what it wraps
	case interface{ Unwrap() error }, interface{ Unwrap() []error }:
		e.err = err
	}
	return e
}

// Invalid makes an invalid_request error about one field of the input.
func Invalid(field, format string, args ...any) *Error {
	e := Errorf(CodeInvalidRequest, format, args...)
	e.Field, e.Message = field, field+": "+e.Message
	return e
}

// oneOf is a choice in words, such as "a, b or c".
func oneOf[T ~string](choices []T) string {
	var b strings.Builder
	for i, c := range choices {
		switch {
		case i == 0:
		case i == len(choices)-1:
			b.WriteString(" or ")
		default:
			b.WriteString(", ")
		}
		b.WriteString(string(c))
	}
	return b.String()
}

// AsError returns err as an *Error: the one it is or wraps, or else a new one with code
// timeout, interrupted or internal that wraps it. It returns nil for nil.
func AsError(err error) *Error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	kind := CodeInternal
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		kind = CodeTimeout
	case errors.Is(err, context.Canceled):
		kind = CodeInterrupted
	case errors.Is(err, ErrFenced):
		kind = CodeConflict
	}
	return &Error{Code: kind, Message: err.Error(), err: err}
}
