package httpapi

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/internal/brief"
	"github.com/terret-dev/terret/internal/lazyregexp"
	"github.com/terret-dev/terret/internal/server/access"
)

// Problem is an error in a response: RFC 9457, with the error's code as its type.
type Problem struct {
	Type   string           `json:"type" doc:"The error's code, for programs to branch on."`
	Title  string           `json:"title" doc:"The status in words."`
	Status int              `json:"status"`
	Detail string           `json:"detail" doc:"What happened, to what, and what to do next."`
	Kind   terret.ErrorCode `json:"kind" doc:"The same as type."`
	Field  string           `json:"field,omitempty" doc:"The invalid field or parameter."`
	// Errors lists everything that is wrong with the input, if it is more than one
	// thing.
	Errors    []ProblemDetail `json:"errors,omitempty" doc:"Everything that is wrong with the input, if it is more than one thing."`
	Retryable bool            `json:"retryable,omitempty" doc:"The same request may succeed later."`
	ExitCode  *int            `json:"exit_code,omitempty" doc:"Exit code of the failed process."`
	Signal    string          `json:"signal,omitempty" doc:"Signal that ended the process."`
	Stderr    []string        `json:"stderr,omitempty" doc:"Last stderr lines of the failed process."`
}

// ProblemDetail is one thing that is wrong with the input.
type ProblemDetail struct {
	Field   string `json:"field,omitempty"`
	Message string `json:"message"`
}

// Error implements error.
func (p *Problem) Error() string { return p.Detail }

// GetStatus implements huma.StatusError.
func (p *Problem) GetStatus() int { return p.Status }

// ContentType implements huma.ContentTypeFilter.
func (p *Problem) ContentType(string) string { return problemType }

const problemType = "application/problem+json"

// limitError is an error whose code has another status than the one needed here.
type limitError struct {
	err    *terret.Error
	status int
}

func (e *limitError) Error() string { return e.err.Error() }
func (e *limitError) Unwrap() error { return e.err }

// tooLarge reports that something in the request is too large.
func tooLarge(field, format string, args ...any) error {
	return &limitError{terret.Invalid(field, format, args...), http.StatusRequestEntityTooLarge}
}

// tooMany reports that there is no room for more at the moment.
func tooMany(format string, args ...any) error {
	e := terret.Errorf(terret.CodeRateLimited, format, args...)
	e.Retryable = true
	return e
}

// problemOf is the only way from an error to a response.
func problemOf(err error) *Problem {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p
	}
	e := terret.AsError(err)
	status := statusOf(e.Code)
	if l, ok := errors.AsType[*limitError](err); ok {
		status = l.status
	}
	detail := inPlainWords(e.Error(), err)
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		status = http.StatusRequestEntityTooLarge
	}
	if engine.IsClosed(err) {
		status, detail = http.StatusServiceUnavailable, "the server is stopping"
	}
	return &Problem{
		Type: string(e.Code), Title: http.StatusText(status), Status: status, Detail: short(detail), Kind: e.Code, Field: e.Field,
		Retryable: e.Retryable, ExitCode: e.ExitCode, Signal: e.Signal, Stderr: e.Stderr,
	}
}

// maxDetail bounds what an error says, in characters: it may repeat what the caller sent.
const maxDetail = 4000

func short(text string) string { return brief.Cut(text, maxDetail) }

// inPlainWords is an error's text without the words of package json.
func inPlainWords(text string, err error) string {
	fault, cause := jsonFault(err)
	if cause == nil {
		return text
	}
	return strings.Replace(text, cause.Error(), fault, 1)
}

// kindOfStatus is the error code for a status from code that does not know ours.
func kindOfStatus(status int) terret.ErrorCode {
	switch status {
	case http.StatusUnauthorized:
		return terret.CodeUnauthorized
	case http.StatusForbidden:
		return terret.CodeForbidden
	case http.StatusNotFound:
		return terret.CodeNotFound
	case http.StatusConflict:
		return terret.CodeConflict
	case http.StatusTooManyRequests:
		return terret.CodeRateLimited
	}
	if status >= 500 {
		return terret.CodeInternal
	}
	return terret.CodeInvalidRequest
}

// plainProblem is a problem without an error of ours.
func plainProblem(status int, detail string) *Problem {
	kind := kindOfStatus(status)
	return &Problem{Type: string(kind), Title: http.StatusText(status), Status: status, Detail: detail, Kind: kind}
}

// maxErrors bounds how many things a problem names that are wrong with the input.
const maxErrors = 100

var missingProperty = lazyregexp.New(`^expected required property (\S+) to be present$`)

// transformProblem turns huma's validation errors into our problems.
func transformProblem(c huma.Context, _ string, v any) (any, error) {
	m, ok := v.(*huma.ErrorModel)
	if !ok {
		return v, nil
	}
	if r, ok := c.(*receiving); ok && r.err != nil && m.Status == http.StatusInternalServerError {
		return r.problem(), nil
	}
	p := plainProblem(m.Status, m.Detail)
	for _, d := range m.Errors[:min(len(m.Errors), maxErrors)] {
		if d == nil {
			continue
		}
		_, field, _ := strings.Cut(d.Location, ".") // without "body", "query", ...
		message := d.Message
		if found := missingProperty.FindStringSubmatch(message); found != nil {
			field, message = strings.TrimPrefix(field+"."+found[1], "."), "it is missing"
		} else if message == "unexpected property" {
			message = "unknown field"
		}
		p.Errors = append(p.Errors, ProblemDetail{Field: short(field), Message: short(message)})
	}
	if p.Detail == "request body is required" {
		p.Detail = "the body is missing; send JSON"
	}
	if len(p.Errors) > 0 {
		first := p.Errors[0]
		p.Field, p.Detail = first.Field, first.Message
		if first.Field != "" {
			p.Detail = short(first.Field + ": " + first.Message)
		}
	}
	if len(p.Errors) == 1 {
		p.Errors = nil
	}
	return p, nil
}

// writeProblem responds with an error where huma does not.
func writeProblem(w http.ResponseWriter, err error) {
	p := problemOf(err)
	h := w.Header()
	h.Set("Content-Type", problemType)
	h.Set("Cache-Control", "no-store")
	if seconds, ok := access.RetryAfter(err); ok {
		h.Set("Retry-After", strconv.Itoa(seconds))
	}
	if p.Status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", `Bearer realm="terret"`)
	}
	w.WriteHeader(p.Status)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(p) // the caller is gone
}
