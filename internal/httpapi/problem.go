package httpapi

import (
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/internal/access"
)

// Problem is an error as callers get it: RFC 9457, whose type is the error's kind.
type Problem struct {
	Type   string           `json:"type" doc:"The error's kind: what programs branch on."`
	Title  string           `json:"title" doc:"The status in words."`
	Status int              `json:"status"`
	Detail string           `json:"detail" doc:"What happened, to what, and what to do next."`
	Kind   terret.ErrorCode `json:"kind" doc:"The same as type."`
	Field  string           `json:"field,omitempty" doc:"The field or parameter that is at fault."`
	// Errors are all that is wrong with the input, where that is more than one thing.
	Errors    []ProblemDetail `json:"errors,omitempty" doc:"All that is wrong with the input, if that is more than one thing."`
	Retryable bool            `json:"retryable,omitempty" doc:"The same request may succeed later."`
	ExitCode  *int            `json:"exit_code,omitempty" doc:"Of a process that failed."`
	Signal    string          `json:"signal,omitempty" doc:"Of a process that failed."`
	Stderr    []string        `json:"stderr,omitempty" doc:"The last that a process said which failed."`
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

// limitError is an error of a kind whose usual status is not the fitting one.
type limitError struct {
	err    *terret.Error
	status int
}

func (e *limitError) Error() string { return e.err.Error() }
func (e *limitError) Unwrap() error { return e.err }

// tooLarge says that something in the request is larger than we take.
func tooLarge(field, format string, args ...any) error {
	return &limitError{terret.Invalid(field, format, args...), http.StatusRequestEntityTooLarge}
}

// tooMany says that there is no room for more at the moment.
func tooMany(format string, args ...any) error {
	e := terret.Errorf(terret.CodeRateLimited, format, args...)
	e.Retryable = true
	return e
}

// problemOf is the one way from an error to an answer.
func problemOf(err error) *Problem {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p
	}
	e := terret.AsError(err)
	status := statusOf(e.Code)
	if l, ok := errors.AsType[*limitError](err); ok {
		status = l.status
	}
	detail := e.Error()
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		status = http.StatusRequestEntityTooLarge
	}
	if engine.IsClosed(err) {
		status, detail = http.StatusServiceUnavailable, "the server is stopping"
	}
	return &Problem{
		Type: string(e.Code), Title: http.StatusText(status), Status: status, Detail: detail, Kind: e.Code, Field: e.Field,
		Retryable: e.Retryable, ExitCode: e.ExitCode, Signal: e.Signal, Stderr: e.Stderr,
	}
}

// kindOfStatus is what the parts that know nothing of our kinds mean.
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

// plainProblem is a problem that has no error of ours behind it.
func plainProblem(status int, detail string) *Problem {
	kind := kindOfStatus(status)
	return &Problem{Type: string(kind), Title: http.StatusText(status), Status: status, Detail: detail, Kind: kind}
}

var missingProperty = regexp.MustCompile(`^expected required property (\S+) to be present$`)

// transformProblem makes what huma says about bad input a problem of ours.
func transformProblem(_ huma.Context, _ string, v any) (any, error) {
	m, ok := v.(*huma.ErrorModel)
	if !ok {
		return v, nil
	}
	p := plainProblem(m.Status, m.Detail)
	for _, d := range m.Errors {
		if d == nil {
			continue
		}
		_, field, _ := strings.Cut(d.Location, ".") // less "body", "query", ...
		message := d.Message
		if found := missingProperty.FindStringSubmatch(message); found != nil {
			field, message = strings.TrimPrefix(field+"."+found[1], "."), "it is missing"
		} else if message == "unexpected property" {
			message = "there is no such field"
		}
		p.Errors = append(p.Errors, ProblemDetail{Field: field, Message: message})
	}
	if len(p.Errors) > 0 {
		first := p.Errors[0]
		p.Field, p.Detail = first.Field, first.Message
		if first.Field != "" {
			p.Detail = first.Field + ": " + first.Message
		}
	}
	if len(p.Errors) == 1 {
		p.Errors = nil
	}
	return p, nil
}

// writeProblem answers with an error, where huma does not do it.
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
	_ = enc.Encode(p) // whoever asked has gone
}
