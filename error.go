package terret

import (
	"context"
	"errors"
	"fmt"
	"net/http"
)

// ErrorCode is what a program branches on.
type ErrorCode string

// The kinds of errors.
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
	CodeResumeFailed     ErrorCode = "resume_failed"
	CodeInterrupted      ErrorCode = "interrupted"
	CodeKilled           ErrorCode = "killed"
	CodeTimeout          ErrorCode = "timeout"
	CodeStartupRefused   ErrorCode = "startup_refused"
	CodeInternal         ErrorCode = "internal"
)

// ErrorClass is what an error kind means to each kind of caller.
type ErrorClass struct {
	HTTP    int // status of the response; 0 where the kind only ends turns
	Exit    int // exit code of the command line; 0 where the turn goes on
	JSONRPC int // code of the error object
}

// errorClasses is the one table of error kinds.
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
	CodeNotAuthenticated: {http.StatusFailedDependency, 5, -32000}, // what editors take for "sign in first"
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
	CodeResumeFailed:     {0, 0, -32032},
	CodeInterrupted:      {0, 130, -32800},
	CodeKilled:           {0, 137, -32033},
	CodeTimeout:          {0, 124, -32034},
	CodeStartupRefused:   {http.StatusServiceUnavailable, 1, -32040},
	CodeInternal:         {http.StatusInternalServerError, 1, -32603},
}

// Class is what the kind means to callers. An unknown kind is classed as
// internal.
func (k ErrorCode) Class() ErrorClass {
	if c, ok := errorClasses[k]; ok {
		return c
	}
	return errorClasses[CodeInternal]
}

// Error is an error for three readers: Kind for the program, Message for the
// person, and the wrapped error for the operator. Its JSON form, which leaves
// the wrapped error out, is what turn.error carries.
type Error struct {
	Code ErrorCode `json:"kind"`
	// Message says what happened, to what, and what to do next.
	Message   string `json:"message"`
	Field     string `json:"field,omitempty"` // of the input that is at fault
	Retryable bool   `json:"retryable"`
	// ExitCode and Signal are those of a process that failed, and Stderr the
	// last it said.
	ExitCode   *int     `json:"exit_code,omitempty"`
	Signal     string   `json:"signal,omitempty"`
	Stderr     []string `json:"stderr,omitempty"`
	HTTPStatus int      `json:"http_status,omitempty"` // that the model's provider answered

	err error
}

// Error implements error. It is the message, which says all that a person needs
// of the wrapped error.
func (e *Error) Error() string {
	if e.Message == "" {
		return string(e.Code)
	}
	return e.Message
}

// Unwrap returns the wrapped error, if there is one.
func (e *Error) Unwrap() error { return e.err }

// Is reports whether target is an Error of the same kind that says nothing
// else, as the sentinels below are.
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

// ErrFenced says that the session belongs to another owner by now: nothing was
// written, and whoever sees it must stop working on the session.
var ErrFenced = errors.New("the session has another owner")

// Errorf makes an Error of that kind. As with fmt.Errorf, %w wraps.
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

// AsError returns err as an *Error: the one it is or wraps, or else a new one
// of kind timeout, interrupted or internal that wraps it. It returns nil for nil.
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
