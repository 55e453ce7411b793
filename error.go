package terret

import (
	"context"
	"errors"
	"fmt"
	"net/http"
)

// ErrorKind is what a program branches on.
type ErrorKind string

// The kinds of errors.
const (
	KindInvalidRequest   ErrorKind = "invalid_request"
	KindUnauthorized     ErrorKind = "unauthorized"
	KindForbidden        ErrorKind = "forbidden"
	KindSessionNotFound  ErrorKind = "session_not_found"
	KindNotFound         ErrorKind = "not_found"
	KindSessionBusy      ErrorKind = "session_busy"
	KindAlreadyDecided   ErrorKind = "already_decided"
	KindConflict         ErrorKind = "conflict"
	KindSessionClosed    ErrorKind = "session_closed"
	KindUnsupported      ErrorKind = "unsupported"
	KindAgentNotFound    ErrorKind = "agent_not_found"
	KindNotAuthenticated ErrorKind = "not_authenticated"
	KindConnectionFailed ErrorKind = "connection_failed"
	KindProcessFailed    ErrorKind = "process_failed"
	KindMalformedOutput  ErrorKind = "malformed_output"
	KindExecutionError   ErrorKind = "execution_error"
	KindModelError       ErrorKind = "model_error"
	KindRateLimited      ErrorKind = "rate_limited"
	KindOverloaded       ErrorKind = "overloaded"
	KindBilling          ErrorKind = "billing"
	KindModelNotFound    ErrorKind = "model_not_found"
	KindMaxTurns         ErrorKind = "max_turns"
	KindMaxBudget        ErrorKind = "max_budget"
	KindResumeFailed     ErrorKind = "resume_failed"
	KindInterrupted      ErrorKind = "interrupted"
	KindKilled           ErrorKind = "killed"
	KindTimeout          ErrorKind = "timeout"
	KindStartupRefused   ErrorKind = "startup_refused"
	KindInternal         ErrorKind = "internal"
)

// ErrorClass is what an error kind means to each kind of caller.
type ErrorClass struct {
	HTTP    int // status of the response; 0 where the kind only ends turns
	Exit    int // exit code of the command line; 0 where the turn goes on
	JSONRPC int // code of the error object
}

// errorClasses is the one table of error kinds.
var errorClasses = map[ErrorKind]ErrorClass{
	KindInvalidRequest:   {http.StatusUnprocessableEntity, 2, -32602},
	KindUnauthorized:     {http.StatusUnauthorized, 4, -32001},
	KindForbidden:        {http.StatusForbidden, 4, -32003},
	KindSessionNotFound:  {http.StatusNotFound, 3, -32004},
	KindNotFound:         {http.StatusNotFound, 3, -32005},
	KindSessionBusy:      {http.StatusConflict, 3, -32009},
	KindAlreadyDecided:   {http.StatusConflict, 3, -32010},
	KindConflict:         {http.StatusConflict, 3, -32011},
	KindSessionClosed:    {http.StatusGone, 3, -32012},
	KindUnsupported:      {http.StatusNotImplemented, 3, -32601},
	KindAgentNotFound:    {http.StatusServiceUnavailable, 5, -32020},
	KindNotAuthenticated: {http.StatusFailedDependency, 5, -32000}, // what editors take for "sign in first"
	KindConnectionFailed: {http.StatusBadGateway, 6, -32021},
	KindProcessFailed:    {http.StatusBadGateway, 6, -32022},
	KindMalformedOutput:  {http.StatusBadGateway, 6, -32023},
	KindExecutionError:   {http.StatusBadGateway, 6, -32024},
	KindModelError:       {http.StatusBadGateway, 6, -32025},
	KindRateLimited:      {http.StatusTooManyRequests, 6, -32026},
	KindOverloaded:       {http.StatusServiceUnavailable, 6, -32027},
	KindBilling:          {http.StatusPaymentRequired, 6, -32028},
	KindModelNotFound:    {http.StatusNotFound, 6, -32029},
	KindMaxTurns:         {0, 7, -32030},
	KindMaxBudget:        {0, 7, -32031},
	KindResumeFailed:     {0, 0, -32032},
	KindInterrupted:      {0, 130, -32800},
	KindKilled:           {0, 137, -32033},
	KindTimeout:          {0, 124, -32034},
	KindStartupRefused:   {http.StatusServiceUnavailable, 1, -32040},
	KindInternal:         {http.StatusInternalServerError, 1, -32603},
}

// Class is what the kind means to callers. An unknown kind is classed as
// internal.
func (k ErrorKind) Class() ErrorClass {
	if c, ok := errorClasses[k]; ok {
		return c
	}
	return errorClasses[KindInternal]
}

// Error is an error for three readers: Kind for the program, Message for the
// person, and the wrapped error for the operator. Its JSON form, which leaves
// the wrapped error out, is what turn.error carries.
type Error struct {
	Kind ErrorKind `json:"kind"`
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
		return string(e.Kind)
	}
	return e.Message
}

// Unwrap returns the wrapped error, if there is one.
func (e *Error) Unwrap() error { return e.err }

// Is reports whether target is an Error of the same kind that says nothing
// else, as the sentinels below are.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Kind == e.Kind && t.Message == ""
}

// Sentinels for errors.Is.
var (
	ErrInvalid         error = &Error{Kind: KindInvalidRequest}
	ErrSessionNotFound error = &Error{Kind: KindSessionNotFound}
	ErrNotFound        error = &Error{Kind: KindNotFound}
	ErrBusy            error = &Error{Kind: KindSessionBusy}
	ErrAlreadyDecided  error = &Error{Kind: KindAlreadyDecided}
	ErrConflict        error = &Error{Kind: KindConflict}
	ErrClosed          error = &Error{Kind: KindSessionClosed}
	ErrUnsupported     error = &Error{Kind: KindUnsupported}
	ErrInterrupted     error = &Error{Kind: KindInterrupted}
	ErrKilled          error = &Error{Kind: KindKilled}
)

// ErrFenced says that the session belongs to another owner by now: nothing was
// written, and whoever sees it must stop working on the session.
var ErrFenced = errors.New("the session has another owner")

// Errorf makes an Error of that kind. As with fmt.Errorf, %w wraps.
func Errorf(kind ErrorKind, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	e := &Error{Kind: kind, Message: err.Error()}
	switch err.(type) { //nolint:errorlint // what fmt made, not what it wraps
	case interface{ Unwrap() error }, interface{ Unwrap() []error }:
		e.err = err
	}
	return e
}

// Invalid makes an invalid_request error about one field of the input.
func Invalid(field, format string, args ...any) *Error {
	e := Errorf(KindInvalidRequest, format, args...)
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
	kind := KindInternal
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		kind = KindTimeout
	case errors.Is(err, context.Canceled):
		kind = KindInterrupted
	case errors.Is(err, ErrFenced):
		kind = KindConflict
	}
	return &Error{Kind: kind, Message: err.Error(), err: err}
}
