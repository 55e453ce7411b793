package terret_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/terret-dev/terret"
)

// errorTable is the table of the vocabulary: kinds, HTTP status, exit code. A zero
// is a dash there. invalid_request answers 422: the 400 there is for what cannot
// be read at all.
const errorTable = `
invalid_request                               422  2
unauthorized                                  401  4
forbidden                                     403  4
session_not_found not_found                   404  3
session_busy already_decided conflict         409  3
session_closed                                410  3
unsupported                                   501  3
agent_not_found                               503  5
not_authenticated                             424  5
connection_failed process_failed              502  6
malformed_output                              502  6
execution_error model_error                   502  6
rate_limited                                  429  6
overloaded                                    503  6
billing                                       402  6
model_not_found                               404  6
max_turns max_budget max_structured_retries   0    7
resume_failed                                 0    0
interrupted                                   0    130
killed                                        0    137
timeout                                       0    124
startup_refused                               503  1
internal                                      500  1
`

func TestErrorClasses(t *testing.T) {
	table := map[string]terret.ErrorClass{}
	for line := range strings.Lines(strings.TrimSpace(errorTable)) {
		words := strings.Fields(line)
		kinds, numbers := words[:len(words)-2], words[len(words)-2:]
		var class terret.ErrorClass
		if _, err := fmt.Sscan(strings.Join(numbers, " "), &class.HTTP, &class.Exit); err != nil {
			t.Fatal(err)
		}
		for _, kind := range kinds {
			table[kind] = class
		}
	}
	declared := declaredConstants(t, "ErrorCode")
	if len(declared) != len(table) {
		t.Errorf("%d kinds are declared, %d in the vocabulary", len(declared), len(table))
	}
	codes := map[int]string{}
	for name, kind := range declared {
		got := terret.ErrorCode(kind).Class()
		want, ok := table[kind]
		if !ok {
			t.Errorf("%s %q is not in the vocabulary", name, kind)
		}
		if got.HTTP != want.HTTP || got.Exit != want.Exit {
			t.Errorf("%s: HTTP %d, exit %d; want %d, %d", kind, got.HTTP, got.Exit, want.HTTP, want.Exit)
		}
		// A kind that is missing in the table of the package is classed as internal,
		// and so its code is there twice.
		if other := codes[got.JSONRPC]; other != "" {
			t.Errorf("%s and %s have the same JSON-RPC code %d", kind, other, got.JSONRPC)
		}
		if got.JSONRPC >= 0 {
			t.Errorf("%s has JSON-RPC code %d", kind, got.JSONRPC)
		}
		codes[got.JSONRPC] = kind
	}
	if got, want := terret.ErrorCode("from_the_future").Class(), terret.CodeInternal.Class(); got != want {
		t.Errorf("an unknown kind has class %+v", got)
	}
}

func TestErrorSentinels(t *testing.T) {
	sentinels := map[terret.ErrorCode]error{
		terret.CodeInvalidRequest:  terret.ErrInvalid,
		terret.CodeSessionNotFound: terret.ErrSessionNotFound,
		terret.CodeNotFound:        terret.ErrNotFound,
		terret.CodeSessionBusy:     terret.ErrBusy,
		terret.CodeAlreadyDecided:  terret.ErrAlreadyDecided,
		terret.CodeConflict:        terret.ErrConflict,
		terret.CodeSessionClosed:   terret.ErrClosed,
		terret.CodeUnsupported:     terret.ErrUnsupported,
		terret.CodeInterrupted:     terret.ErrInterrupted,
		terret.CodeKilled:          terret.ErrKilled,
	}
	for _, kind := range declaredConstants(t, "ErrorCode") {
		err := terret.Errorf(terret.ErrorCode(kind), "session %d", 7)
		for _, wrapped := range []error{
			err, fmt.Errorf("open: %w", err), errors.Join(io.EOF, err), terret.Errorf(terret.CodeInternal, "open: %w", err),
		} {
			for of, sentinel := range sentinels {
				if got, want := errors.Is(wrapped, sentinel), of == terret.ErrorCode(kind); got != want {
					t.Errorf("errors.Is(%q of kind %s, sentinel of kind %s) is %t", wrapped, kind, of, got)
				}
			}
		}
	}
	one, other := terret.Errorf(terret.CodeConflict, "one"), terret.Errorf(terret.CodeConflict, "other")
	if errors.Is(one, other) || !errors.Is(one, one) {
		t.Error("an error that says something is more than its kind")
	}
	if errors.Is(io.EOF, terret.ErrConflict) || errors.Is(one, io.EOF) {
		t.Error("errors of others are taken for ours")
	}
}

func TestErrorf(t *testing.T) {
	err := terret.Errorf(terret.CodeConnectionFailed, "dial %s: %w", "agent", io.ErrUnexpectedEOF)
	if err.Code != terret.CodeConnectionFailed || err.Error() != "dial agent: unexpected EOF" {
		t.Errorf("%s: %s", err.Code, err)
	}
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error("the w verb does not wrap")
	}
	if errors.Unwrap(terret.Errorf(terret.CodeInternal, "dial: %v", io.EOF)) != nil {
		t.Error("the v verb wraps")
	}
	if got := (&terret.Error{Code: terret.CodeBilling}).Error(); got != "billing" {
		t.Errorf("an error without a message says %q", got)
	}
}

func TestInvalidNamesTheField(t *testing.T) {
	err := terret.Invalid("options.max_turns", "%d is negative: %w", -1, io.EOF)
	if err.Code != terret.CodeInvalidRequest || err.Field != "options.max_turns" || err.Error() != "options.max_turns: -1 is negative: EOF" {
		t.Errorf("%s, field %s: %s", err.Code, err.Field, err)
	}
	if !errors.Is(err, terret.ErrInvalid) || !errors.Is(err, io.EOF) {
		t.Error("it is not ErrInvalid, or does not wrap")
	}
}

func TestAsError(t *testing.T) {
	if got := terret.AsError(nil); got != nil {
		t.Errorf("of nil: %v", got)
	}
	ours := terret.Errorf(terret.CodeSessionBusy, "it is busy")
	deadline, stop := context.WithTimeout(t.Context(), 0)
	defer stop()
	<-deadline.Done()
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for name, test := range map[string]struct {
		err  error
		kind terret.ErrorCode
	}{
		"ours":                {ours, terret.CodeSessionBusy},
		"ours, wrapped":       {fmt.Errorf("prompt: %w", ours), terret.CodeSessionBusy},
		"ours, joined":        {errors.Join(io.EOF, ours), terret.CodeSessionBusy},
		"ours about a cancel": {terret.Errorf(terret.CodeProcessFailed, "x: %w", context.Canceled), terret.CodeProcessFailed},
		"sentinel":            {terret.ErrKilled, terret.CodeKilled},
		"deadline":            {deadline.Err(), terret.CodeTimeout},
		"deadline, wrapped":   {fmt.Errorf("open: %w", deadline.Err()), terret.CodeTimeout},
		"canceled":            {canceled.Err(), terret.CodeInterrupted},
		"canceled, wrapped":   {fmt.Errorf("open: %w", canceled.Err()), terret.CodeInterrupted},
		"fenced":              {fmt.Errorf("commit: %w", terret.ErrFenced), terret.CodeConflict},
		"another":             {io.EOF, terret.CodeInternal},
	} {
		t.Run(name, func(t *testing.T) {
			got := terret.AsError(test.err)
			if got.Code != test.kind {
				t.Errorf("kind %s, want %s", got.Code, test.kind)
			}
			if got != ours && got.Error() != test.err.Error() {
				t.Errorf("it says %q, want %q", got, test.err)
			}
			if !errors.Is(test.err, got) && !errors.Is(got, test.err) {
				t.Error("neither wraps the other")
			}
		})
	}
	if got := terret.AsError(fmt.Errorf("prompt: %w", ours)); got != ours {
		t.Errorf("got %v, want the very error that is wrapped", got)
	}
}

// TestErrorJSON shows that the operator's part stays with the operator.
func TestErrorJSON(t *testing.T) {
	err := terret.Errorf(terret.CodeProcessFailed, "claude ended with code 1. See the log.")
	err.ExitCode = new(1)
	b, jsonErr := json.Marshal(err)
	want := `{"kind":"process_failed","message":"claude ended with code 1. See the log.","retryable":false,"exit_code":1}`
	if string(b) != want || jsonErr != nil {
		t.Errorf("got %s, %v\nwant %s", b, jsonErr, want)
	}
}
