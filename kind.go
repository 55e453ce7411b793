package terret

import (
	"encoding/json"
	"slices"
)

// Kind names what an event reports. Readers ignore kinds they do not know.
type Kind string

// The kinds of events. Each has a struct of the same name for its data.
const (
	KindSessionStart       Kind = "session.start"
	KindSessionNativeID    Kind = "session.native_id"
	KindSessionResumed     Kind = "session.resumed"
	KindSessionStateChange Kind = "session.state"
	KindSessionUpdated     Kind = "session.updated"
	KindSessionCommands    Kind = "session.commands"
	KindSessionAuth        Kind = "session.auth"
	KindSessionEnd         Kind = "session.end"
	KindQueueChange        Kind = "queue.change"
	KindTurnStart          Kind = "turn.start"
	KindTurnComplete       Kind = "turn.complete"
	KindTurnError          Kind = "turn.error"
	KindProcessSpawn       Kind = "process.spawn"
	KindProcessExit        Kind = "process.exit"
	KindUserPrompt         Kind = "user.prompt"
	KindMessageDelta       Kind = "message.delta"
	KindReasoningDelta     Kind = "reasoning.delta"
	KindMessageComplete    Kind = "message.complete"
	KindToolStart          Kind = "tool.start"
	KindToolDelta          Kind = "tool.delta"
	KindToolPre            Kind = "tool.pre"
	KindToolProgress       Kind = "tool.progress"
	KindToolPost           Kind = "tool.post"
	KindToolFailure        Kind = "tool.failure"
	KindPermissionRequest  Kind = "permission.request"
	KindPermissionDenied   Kind = "permission.denied"
	KindQuestionRequest    Kind = "question.request"
	KindPlanRequest        Kind = "plan.request"
	KindStopRequest        Kind = "stop.request"
	KindPermissionDecision Kind = "permission.decision"
	KindQuestionDecision   Kind = "question.decision"
	KindPlanDecision       Kind = "plan.decision"
	KindStopDecision       Kind = "stop.decision"
	KindHookDecision       Kind = "hook.decision"
	KindPlanUpdate         Kind = "plan.update"
	KindSubagentStart      Kind = "subagent.start"
	KindSubagentStop       Kind = "subagent.stop"
	KindTaskStart          Kind = "task.start"
	KindTaskUpdate         Kind = "task.update"
	KindTaskEnd            Kind = "task.end"
	KindCompactPre         Kind = "compact.pre"
	KindCompactPost        Kind = "compact.post"
	KindHookEvent          Kind = "hook.event"
	KindHookResponse       Kind = "hook.response"
	KindNotification       Kind = "notification"
	KindUsageUpdate        Kind = "usage.update"
	KindRateLimit          Kind = "rate_limit"
	KindRetry              Kind = "retry"
	KindModelFallback      Kind = "model.fallback"
	KindCheckpointCreated  Kind = "checkpoint.created"
	KindCheckpointRewound  Kind = "checkpoint.rewound"
	KindFileChanged        Kind = "file.changed"
	KindBusMessage         Kind = "bus.message"
	KindBusReceipt         Kind = "bus.receipt"
	KindAgentStateChange   Kind = "agent.state"
	KindDiagStderr         Kind = "diag.stderr"
	KindDiagParseError     Kind = "diag.parse_error"
	KindDiagWarning        Kind = "diag.warning"
	KindUnknown            Kind = "unknown"
)

// Data is the content of an event: one struct for each kind, and [Opaque] for kinds
// from other versions. The set is sealed. Data is held by value: switch on the struct
// type, not on a pointer to it.
type Data interface{ kind() Kind }

// Opaque is the data of an event whose kind, or whose data's shape, this version does
// not know. It is kept unchanged.
type Opaque struct {
	Name Kind
	JSON JSON
}

func (o Opaque) kind() Kind { return o.Name }

// descriptor is what the vocabulary knows about a kind.
type descriptor struct {
	visibility Visibility
	outside    bool // may happen outside a turn without opening one
	delta      bool
	decode     func(JSON) (Data, error)
}

// Visibility is the default visibility of events of that kind.
func (k Kind) Visibility() Visibility {
	if d, ok := kinds[k]; ok {
		return d.visibility
	}
	return VisibleInternal
}

// Known reports whether this version has a struct for the kind.
func (k Kind) Known() bool { _, ok := kinds[k]; return ok }

// InTurn reports whether an event of that kind is part of a turn. If an agent sends one
// while no turn runs, the agent has started to work by itself.
func (k Kind) InTurn() bool { d, ok := kinds[k]; return ok && !d.outside }

// Delta reports whether events of that kind are pieces of something that a later event
// holds in full, so that old ones may be dropped.
func (k Kind) Delta() bool { return kinds[k].delta }

// EndsTurn reports whether an event of that kind is the last of its turn.
func (k Kind) EndsTurn() bool { return k == KindTurnComplete || k == KindTurnError }

// Kinds lists all kinds that this version knows, sorted.
func Kinds() []Kind {
	out := make([]Kind, 0, len(kinds))
	for k := range kinds {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

type kindOption func(*descriptor)

func internal(d *descriptor) { d.visibility = VisibleInternal }
func logOnly(d *descriptor)  { d.visibility = VisibleLog }
func outside(d *descriptor)  { d.outside = true }
func delta(d *descriptor)    { d.delta = true }

type catalogued struct {
	kind Kind
	descriptor
}

// of describes the kind whose data is T.
func of[T Data](options ...kindOption) catalogued {
	var zero T
	c := catalogued{kind: zero.kind()}
	c.visibility = VisibleUI
	c.decode = func(b JSON) (Data, error) {
		var v T
		err := json.Unmarshal(b, &v)
		return v, err
	}
	for _, o := range options {
		o(&c.descriptor)
	}
	return c
}

func catalogue(all ...catalogued) map[Kind]descriptor {
	m := make(map[Kind]descriptor, len(all))
	for _, c := range all {
		m[c.kind] = c.descriptor
	}
	return m
}

// kinds holds every kind. It is never changed.
var kinds = catalogue(
	of[SessionStart](outside),
	of[SessionNativeID](outside, internal),
	of[SessionResumed](outside, internal),
	of[SessionStateChange](outside),
	of[SessionUpdated](outside),
	of[SessionCommands](outside, internal),
	of[SessionAuth](outside),
	of[SessionEnd](outside),
	of[QueueChange](outside),
	of[TurnStart](),
	of[TurnComplete](),
	of[TurnError](),
	of[ProcessSpawn](outside, internal),
	of[ProcessExit](outside, internal),
	of[UserPrompt](),
	of[MessageDelta](delta),
	of[ReasoningDelta](delta),
	of[MessageComplete](),
	of[ToolStart](),
	of[ToolDelta](delta),
	of[ToolPre](),
	of[ToolProgress](),
	of[ToolPost](),
	of[ToolFailure](),
	of[PermissionRequest](),
	of[PermissionDenied](),
	of[QuestionRequest](),
	of[PlanRequest](),
	of[StopRequest](internal),
	of[PermissionDecision](outside),
	of[QuestionDecision](outside),
	of[PlanDecision](outside),
	of[StopDecision](outside, internal),
	of[HookDecision](outside, internal),
	of[PlanUpdate](),
	of[SubagentStart](),
	of[SubagentStop](),
	of[TaskStart](outside),
	of[TaskUpdate](outside),
	of[TaskEnd](outside),
	of[CompactPre](outside, internal),
	of[CompactPost](outside, internal),
	of[HookEvent](outside, internal),
	of[HookResponse](outside, internal),
	of[Notification](outside),
	of[UsageUpdate](outside),
	of[RateLimit](outside),
	of[Retry](outside),
	of[ModelFallback](outside),
	of[CheckpointCreated](outside, internal),
	of[CheckpointRewound](outside),
	of[FileChanged](outside),
	of[BusMessage](outside),
	of[BusReceipt](outside, internal),
	of[AgentStateChange](outside),
	of[DiagStderr](outside, logOnly),
	of[DiagParseError](outside, logOnly),
	of[DiagWarning](outside, logOnly),
	of[Unknown](outside, internal),
)
