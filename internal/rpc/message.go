package rpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/terret-dev/terret/internal/ndjson"
)

// Message is a request or a notification of the other side. The handler may keep it.
type Message struct {
	// ID is the request's id as JSON, such as 0 or "a". It is empty for a
	// notification.
	ID     string
	Method string
	Params json.RawMessage // nil if there are none
	Raw    []byte          // the whole line, as it came
}

// Decode reads the parameters into v. Its error is an *Error that tells the other
// side that they are wrong.
func (m Message) Decode(v any) error {
	params := m.Params
	if params == nil {
		params = json.RawMessage("null")
	}
	if err := json.Unmarshal(params, v); err != nil {
		return &Error{Code: CodeInvalidParams, Message: fmt.Sprintf("parameters of %s: %v", m.Method, err)}
	}
	return nil
}

// Codes of errors. Do not branch on those that agents send: they differ.
const (
	CodeInvalidRequest = -32600
	CodeMethodNotFound = -32601
	CodeInvalidParams  = -32602
	CodeInternal       = -32603
	CodeCancelled      = -32800
)

// Error is an error as it is on the wire: what the other side answered, or what a
// Request handler wants to answer.
type Error struct {
	Code    int64           `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// Error implements error. It leaves Data out, which may be long and may hold secrets.
func (e *Error) Error() string { return fmt.Sprintf("%s (%d)", e.Message, e.Code) }

// incoming is a line of the other side, decoded. Exactly one of its parts is set.
type incoming struct {
	message Message // a request or a notification, if it has a method
	reply   *reply  // an answer to one of our calls
	stray   error   // why the line is none of these
	size    int     // of the line
}

// reply is the answer to a call.
type reply struct {
	id     int64
	result json.RawMessage
	err    error
	raw    []byte
}

// Reasons for which lines are strays.
var (
	errNotMessage  = errors.New("rpc: the line is not a JSON-RPC message")
	errNotExpected = errors.New("rpc: nobody waits for this answer")
	errIDInUse     = errors.New("rpc: the id of the request is in use by another one")
)

// wire is a message as it arrives. The "jsonrpc" field does not matter.
type wire struct {
	ID     json.RawMessage `json:"id"`
	Method *string         `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// decode reads a line. It keeps no reference to it.
func decode(line []byte) incoming {
	in := incoming{size: len(line)}
	raw := bytes.Clone(line)
	var w wire
	if err := json.Unmarshal(line, &w); err != nil {
		in.message.Raw, in.stray = raw, fmt.Errorf("%w: %w", errNotMessage, err)
		return in
	}
	id, err := idOf(w.ID)
	switch {
	case err != nil:
		in.message.Raw, in.stray = raw, err
	case w.Method != nil:
		in.message = Message{ID: id, Method: *w.Method, Params: present(w.Params), Raw: raw}
	case present(w.Error) != nil || w.Result != nil:
		in.reply = &reply{result: w.Result, raw: raw}
		if e := present(w.Error); e != nil {
			in.reply.err = errorOf(e)
		}
		// An id that is not one of ours, null for one, belongs to no call.
		in.reply.id, _ = strconv.ParseInt(id, 10, 64)
	default:
		in.message.Raw, in.stray = raw, fmt.Errorf("%w: it has neither a method nor a result", errNotMessage)
	}
	return in
}

// tooLong stands for a line that was skipped.
func tooLong(err *ndjson.LineTooLongError) incoming {
	return incoming{message: Message{Raw: err.Prefix}, stray: err, size: len(err.Prefix)}
}

// present is nil for null.
func present(value json.RawMessage) json.RawMessage {
	if string(value) == "null" {
		return nil
	}
	return value
}

// idOf is the id in one way of writing it, empty if there is none.
func idOf(value json.RawMessage) (string, error) {
	value = present(value)
	if len(value) == 0 {
		return "", nil
	}
	switch c := value[0]; {
	case c == '"', c == '-', c >= '0' && c <= '9':
		return string(value), nil
	default:
		return "", fmt.Errorf("%w: its id is neither a number nor a string", errNotMessage)
	}
}

// errorOf reads an error, and takes what has another shape for its text.
func errorOf(value json.RawMessage) *Error {
	var e Error
	if json.Unmarshal(value, &e) != nil {
		return &Error{Code: CodeInternal, Message: string(value)}
	}
	return &e
}

// version is the value of the "jsonrpc" field; omitted if it is empty.
type version string

const version2 version = "2.0"

func encodeCall(v version, id int64, method string, params any) ([]byte, error) {
	return encode(struct {
		Version version `json:"jsonrpc,omitempty"`
		ID      int64   `json:"id"`
		Method  string  `json:"method"`
		Params  any     `json:"params,omitempty"`
	}{v, id, method, params})
}

func encodeNotification(v version, method string, params any) ([]byte, error) {
	return encode(struct {
		Version version `json:"jsonrpc,omitempty"`
		Method  string  `json:"method"`
		Params  any     `json:"params,omitempty"`
	}{v, method, params})
}

// encodeAnswer never fails: a result that cannot be encoded is an internal error.
func encodeAnswer(v version, id string, result any, failure *Error) []byte {
	if failure == nil {
		line, err := encode(struct {
			Version version         `json:"jsonrpc,omitempty"`
			ID      json.RawMessage `json:"id"`
			Result  any             `json:"result"`
		}{v, json.RawMessage(id), result})
		if err == nil {
			return line
		}
		failure = &Error{Code: CodeInternal, Message: "the answer cannot be encoded: " + err.Error()}
	}
	if len(failure.Data) > 0 && !json.Valid(failure.Data) {
		failure = &Error{Code: failure.Code, Message: failure.Message}
	}
	line, err := encode(struct {
		Version version         `json:"jsonrpc,omitempty"`
		ID      json.RawMessage `json:"id"`
		Error   *Error          `json:"error"`
	}{v, json.RawMessage(id), failure})
	if err != nil {
		panic(err) // an id that was read, numbers and strings
	}
	return line
}

// encode is JSON on one line, without escapes for HTML.
func encode(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}
