package terret

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
)

// Version is the version of the vocabulary that this package writes. Fields are only
// ever added; renaming one means a new kind.
const Version = 1

// Event is one fact in the life of a session.
//
// A driver fills Data, and Actor, ParentTool, Source, Raw and Visibility where they
// apply. The engine fills the rest before it passes the event to the store. Only the
// store assigns Seq.
type Event struct {
	// Seq counts the events of the session from 1. It is zero until the event is
	// committed. Readers see gaps only where old deltas were dropped, and after a power
	// cut.
	Seq int64
	// V is the version of the vocabulary in which the event was written.
	V int
	// Session and Turn are ids. Turn is empty outside a turn.
	Session, Turn string
	// By names who caused it: a token's name or a system user. It is set on prompts,
	// decisions and controls.
	By string
	// Time is when the harness received it.
	Time Time
	// Actor is ActorRoot, or SubActor(id) for a subagent; ParentTool is then the
	// tool call that started it. Empty means ActorRoot.
	Actor, ParentTool string
	// Expects is set when the event waits for a decision.
	Expects *Expects
	// Visibility says who it is for. Empty means the default of its kind.
	Visibility Visibility
	// Source is the agent's own name for it, such as "PreToolUse".
	Source string
	// Data says what happened. It is never nil in a committed event.
	Data Data
	// Raw is the agent's own message, byte for byte. It need not be JSON. It is stored
	// separately, and only if the session asks for it.
	Raw []byte
}

// Kind is the name of what happened, such as "turn.start". A zero Event has an
// empty kind.
func (e Event) Kind() Kind {
	if e.Data == nil {
		return ""
	}
	return e.Data.kind()
}

// ActorRoot is the agent itself, as opposed to one of its subagents.
const ActorRoot = "root"

// SubActor is the actor of the subagent with that id.
func SubActor(id string) string { return "sub:" + id }

// Visibility says who an event is for.
type Visibility string

// The visibilities.
const (
	VisibleUI       Visibility = "ui"       // shown to people
	VisibleInternal Visibility = "internal" // changes state, not shown
	VisibleLog      Visibility = "log"      // diagnostics
)

// Hidden reports whether an event is hidden from people although its kind is for them,
// such as a summary that only the model should read, or the agent's own words for an
// error that the end of the turn reports.
func (e Event) Hidden() bool {
	return e.Kind().Visibility() == VisibleUI && e.Visibility != "" && e.Visibility != VisibleUI
}

// Gate is the place where something waits for a decision.
type Gate string

// The gates, each with the data of a request there.
const (
	GatePermission   Gate = "permission"    // PermissionRequest
	GatePreTool      Gate = "pre_tool"      // ToolPre
	GatePrompt       Gate = "prompt"        // HookEvent
	GateQuestion     Gate = "question"      // QuestionRequest
	GatePlan         Gate = "plan"          // PlanRequest
	GateStop         Gate = "stop"          // StopRequest
	GateSubagentStop Gate = "subagent_stop" // HookEvent
	GateCompact      Gate = "compact"       // HookEvent
	GateTrust        Gate = "trust"         // up to the driver
)

// Expects says that an event waits for a decision.
type Expects struct {
	RequestID string   `json:"request_id"`
	Gate      Gate     `json:"gate"`
	Fallback  Behavior `json:"fallback"` // the decision if nobody answers in time
	ExpiresAt *Time    `json:"expires_at,omitempty"`
	// Decided means that a rule or the policy decided it at once: nobody waits, and the
	// decision is the next event about it.
	Decided bool `json:"decided,omitempty"`
}

// envelope is the JSON form of an Event. Its field order is the order on the wire.
type envelope struct {
	Seq        int64      `json:"seq,omitempty"`
	V          int        `json:"v"`
	Session    string     `json:"session"`
	Turn       string     `json:"turn,omitempty"`
	By         string     `json:"by,omitempty"`
	Time       Time       `json:"time"`
	Kind       Kind       `json:"kind"`
	Actor      string     `json:"actor"`
	ParentTool string     `json:"parent_tool,omitempty"`
	Expects    *Expects   `json:"expects,omitempty"`
	Visibility Visibility `json:"visibility"`
	Source     string     `json:"source,omitempty"`
	Data       any        `json:"data"`
	Raw        JSON       `json:"raw,omitempty"`
}

// MarshalJSON writes the event with its sequence number and its raw message, if it has
// them. Bytes that are not UTF-8 become U+FFFD; a raw message that is not JSON becomes
// a JSON string. Encode and Entry.AppendJSON return the same without HTML escapes.
func (e Event) MarshalJSON() ([]byte, error) {
	body, err := e.Encode()
	if err != nil {
		return nil, err
	}
	return Entry{Seq: e.Seq, Body: body, Raw: e.Raw}.AppendJSON(nil), nil
}

// UnmarshalJSON reads what MarshalJSON writes. A kind that this version does not know
// becomes [Opaque], and so does a known kind whose data has another shape: readers must
// never lose an event.
func (e *Event) UnmarshalJSON(b []byte) error {
	var data JSON
	w := envelope{Data: &data}
	if err := json.Unmarshal(b, &w); err != nil {
		return fmt.Errorf("decode event: %w", err)
	}
	if w.Kind == "" {
		return fmt.Errorf("decode event: no kind")
	}
	*e = Event{
		Seq: w.Seq, V: w.V, Session: w.Session, Turn: w.Turn, By: w.By, Time: w.Time,
		Actor: w.Actor, ParentTool: w.ParentTool, Expects: w.Expects,
		Visibility: w.Visibility, Source: w.Source, Data: decodeData(w.Kind, data),
	}
	if len(w.Raw) > 0 {
		e.Raw = w.Raw
	}
	return nil
}

func decodeData(k Kind, data JSON) Data {
	if len(data) == 0 {
		data = JSON("null")
	}
	if d, ok := kinds[k]; ok {
		if v, err := d.decode(data); err == nil {
			return v
		}
	}
	return Opaque{Name: k, JSON: data}
}

// DecodeData reads the data of an event of that kind. Unlike decoding a whole event, it
// rejects kinds that this version does not know.
func DecodeData(k Kind, data JSON) (Data, error) {
	d, ok := kinds[k]
	if !ok {
		return nil, Invalid("kind", "there is no kind %q", k)
	}
	return d.decode(data)
}

// Entry is an event as the log holds it.
type Entry struct {
	Session string
	Seq     int64
	// Pos orders the events of all sessions. It is opaque: only compare it, and pass it
	// back to the store it came from. It is zero when a single session is read.
	Pos  int64
	Kind Kind
	// Body is the event's JSON as Encode first wrote it, without seq and raw: an object
	// with at least one field and no space around it. Readers share it: do not change
	// it.
	Body []byte
	// Raw is the agent's own message, if it was kept and asked for.
	Raw []byte
}

// AppendJSON appends the JSON form of the event, with its sequence number and its
// raw message if it has one, and returns the extended slice. The bytes of Body
// are copied, never parsed. Body must not be empty.
func (e Entry) AppendJSON(b []byte) []byte {
	b = append(b, '{')
	if e.Seq != 0 {
		b = append(b, `"seq":`...)
		b = strconv.AppendInt(b, e.Seq, 10)
		b = append(b, ',')
	}
	b = append(b, e.Body[1:]...)
	if len(e.Raw) > 0 {
		b = append(b[:len(b)-1], `,"raw":`...)
		b = append(b, rawJSON(e.Raw)...)
		b = append(b, '}')
	}
	return b
}

// Decode returns the typed form.
func (e Entry) Decode() (Event, error) {
	var ev Event
	if err := ev.UnmarshalJSON(e.Body); err != nil {
		return Event{}, fmt.Errorf("session %s event %d: %w", e.Session, e.Seq, err)
	}
	ev.Seq, ev.Raw = e.Seq, e.Raw
	return ev, nil
}

func rawJSON(raw []byte) []byte {
	raw = bytes.ToValidUTF8(raw, []byte("\uFFFD"))
	if json.Valid(raw) {
		return raw
	}
	text, _ := marshal(string(raw)) // a string always encodes
	return text
}

// Merge joins b to a if they are consecutive pieces of the same text: same kind,
// session, turn, actor, message and index. The merged event keeps a's time. Requests
// and events with a raw message are never merged.
func Merge(a, b Event) (Event, bool) {
	if a.Expects != nil || b.Expects != nil || len(a.Raw)+len(b.Raw) > 0 ||
		a.Session != b.Session || a.Turn != b.Turn || a.Actor != b.Actor || a.By != b.By || a.V != b.V ||
		a.ParentTool != b.ParentTool || a.Source != b.Source || a.Visibility != b.Visibility {
		return a, false
	}
	switch x := a.Data.(type) {
	case MessageDelta:
		y, ok := b.Data.(MessageDelta)
		if !ok || x.MessageID != y.MessageID || x.Index != y.Index {
			return a, false
		}
		x.Text += y.Text
		a.Data = x
	case ReasoningDelta:
		y, ok := b.Data.(ReasoningDelta)
		if !ok || x.MessageID != y.MessageID || x.Index != y.Index {
			return a, false
		}
		x.Text += y.Text
		a.Data = x
	case ToolDelta:
		y, ok := b.Data.(ToolDelta)
		if !ok || x.ToolID != y.ToolID || x.MessageID != y.MessageID || x.Index != y.Index {
			return a, false
		}
		x.PartialInput += y.PartialInput
		a.Data = x
	default:
		return a, false
	}
	return a, true
}
