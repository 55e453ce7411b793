package terret

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// PermissionRequest asks whether a tool may run.
type PermissionRequest struct {
	RequestID   string    `json:"request_id"`
	ToolID      string    `json:"tool_id,omitempty"`
	Tool        string    `json:"tool"`
	Class       ToolClass `json:"class"`
	Input       JSON      `json:"input"`
	InputHash   string    `json:"input_hash"`
	Title       string    `json:"title"`
	Reason      string    `json:"reason,omitempty"`
	Suggestions []string  `json:"suggestions,omitempty"` // rules that would allow it
	Diff        string    `json:"diff,omitempty"`
}

// PermissionDenied says that the agent denied a tool use without asking.
type PermissionDenied struct {
	ToolID string `json:"tool_id,omitempty"`
	Tool   string `json:"tool"`
	Reason string `json:"reason,omitempty"`
}

// QuestionRequest asks a person questions. ToolID is the call that waits for the answers,
// if the agent says which.
type QuestionRequest struct {
	RequestID string     `json:"request_id"`
	ToolID    string     `json:"tool_id,omitempty"`
	Questions []Question `json:"questions"`
	Schema    JSON       `json:"schema,omitempty"`
	URL       string     `json:"url,omitempty"`
}

// Question is one question. Multi allows several answers; free text is always allowed.
type Question struct {
	ID      string   `json:"id"`
	Header  string   `json:"header,omitempty"`
	Text    string   `json:"text"`
	Options []Option `json:"options,omitempty"`
	Multi   bool     `json:"multi,omitempty"`
}

// Option is an answer that a question offers.
type Option struct {
	Label       string `json:"label"`
	Description string `json:"description,omitempty"`
}

// PlanRequest presents a plan for approval. ToolID is the call that waits for it, if the
// agent says which.
type PlanRequest struct {
	RequestID string `json:"request_id"`
	ToolID    string `json:"tool_id,omitempty"`
	Plan      string `json:"plan"`
	File      string `json:"file,omitempty"`
}

// StopRequest asks whether the agent may stop.
type StopRequest struct {
	RequestID   string `json:"request_id"`
	LastMessage string `json:"last_message,omitempty"`
	Again       bool   `json:"again,omitempty"` // it was told to continue before
	Background  bool   `json:"background,omitempty"`
}

// PermissionDecision answers a PermissionRequest.
type PermissionDecision struct{ Decision }

// QuestionDecision answers a QuestionRequest.
type QuestionDecision struct{ Decision }

// PlanDecision answers a PlanRequest.
type PlanDecision struct{ Decision }

// StopDecision answers a StopRequest.
type StopDecision struct{ Decision }

// HookDecision answers a request at a gate that has no decision kind of its own.
type HookDecision struct{ Decision }

func (PermissionRequest) kind() Kind  { return KindPermissionRequest }
func (PermissionDenied) kind() Kind   { return KindPermissionDenied }
func (QuestionRequest) kind() Kind    { return KindQuestionRequest }
func (PlanRequest) kind() Kind        { return KindPlanRequest }
func (StopRequest) kind() Kind        { return KindStopRequest }
func (PermissionDecision) kind() Kind { return KindPermissionDecision }
func (QuestionDecision) kind() Kind   { return KindQuestionDecision }
func (PlanDecision) kind() Kind       { return KindPlanDecision }
func (StopDecision) kind() Kind       { return KindStopDecision }
func (HookDecision) kind() Kind       { return KindHookDecision }

// InputHash is the hash that binds a decision to the exact input it was made for. It
// hashes the form that the log keeps, without white space between values.
func InputHash(input JSON) string {
	whole, _ := input.MarshalJSON() // never fails
	var kept bytes.Buffer
	if err := json.Compact(&kept, whole); err != nil {
		panic(err) // MarshalJSON gives valid JSON
	}
	sum := sha256.Sum256(kept.Bytes())
	return "sha256:" + hex.EncodeToString(sum[:])
}
