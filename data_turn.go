package terret

// Origin says where a turn came from.
type Origin string

// The origins of a turn.
const (
	OriginUser       Origin = "user"
	OriginQueue      Origin = "queue"
	OriginSteer      Origin = "steer"
	OriginBus        Origin = "bus"
	OriginBackground Origin = "background" // the agent started it
)

// QueueChange says that the prompts of the queue are no longer what the last such event
// said. A prompt that begins leaves the queue without one: its turn.start says so.
type QueueChange struct {
	Change QueueChanged `json:"change"`
	// Turn is the prompt that changed, if it was one.
	Turn string `json:"turn,omitempty"`
	// Reason says why prompts are held.
	Reason string `json:"reason,omitempty"`
	// Queue is the queue as it is now, in order: the first hundred prompts of Count.
	Queue []QueuedPrompt `json:"queue"`
	Count int            `json:"count"`
}

// QueueChanged is what happened to a queue.
type QueueChanged string

// What can happen to a queue. Held prompts wait until somebody sends them on, others
// until the session is free.
const (
	QueueAdded   QueueChanged = "queued"
	QueueEdited  QueueChanged = "edited"
	QueueMoved   QueueChanged = "moved"
	QueueDropped QueueChanged = "dropped"
	QueueHeld    QueueChanged = "held"
	QueueSent    QueueChanged = "sent"
)

// QueuedPrompt is a prompt that waits for its turn. Text is its beginning.
type QueuedPrompt struct {
	Turn string `json:"turn"`
	Text string `json:"text"`
	By   string `json:"by,omitempty"`
	Held bool   `json:"held,omitempty"`
}

// TurnStart is the first event of a turn.
type TurnStart struct {
	Prompt    []Block      `json:"prompt"`
	MessageID string       `json:"message_id,omitempty"`
	ParentID  string       `json:"parent_id,omitempty"`
	Root      bool         `json:"root,omitempty"` // the prompt follows no message
	Origin    Origin       `json:"origin"`
	Options   *TurnOptions `json:"options,omitempty"`
}

// TurnComplete ends a turn that succeeded. Usage and cost are this turn's.
type TurnComplete struct {
	Text       string   `json:"text"`
	StopReason string   `json:"stop_reason,omitempty"`
	Usage      Usage    `json:"usage"`
	CostUSD    Cost     `json:"cost_usd"`
	DurationMS int64    `json:"duration_ms"`
	APIMS      int64    `json:"api_ms,omitempty"`
	NumSteps   int      `json:"num_steps,omitempty"`
	Denials    []Denial `json:"denials,omitempty"`
	Structured JSON     `json:"structured,omitempty"`
}

// Denial is a tool use that was not allowed in a turn.
type Denial struct {
	ToolID string `json:"tool_id"`
	Tool   string `json:"tool"`
	Input  JSON   `json:"input,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// TurnError ends a turn that failed, or was interrupted or killed. Text is what the
// agent had said by then.
type TurnError struct {
	Error      Error    `json:"error"`
	Errors     []string `json:"errors,omitempty"`
	Text       string   `json:"text,omitempty"`
	Usage      Usage    `json:"usage"`
	CostUSD    Cost     `json:"cost_usd"`
	DurationMS int64    `json:"duration_ms"`
	Denials    []Denial `json:"denials,omitempty"`
}

// UserPrompt is a person's message as the agent received it.
type UserPrompt struct {
	MessageID string  `json:"message_id,omitempty"`
	ParentID  string  `json:"parent_id,omitempty"`
	Root      bool    `json:"root,omitempty"` // it follows no message
	Blocks    []Block `json:"blocks"`
}

// MessageDelta is a piece of the text of a message.
type MessageDelta struct {
	MessageID string `json:"message_id"`
	Index     int    `json:"index"`
	Text      string `json:"text"`
}

// ReasoningDelta is a piece of the model's reasoning.
type ReasoningDelta struct {
	MessageID string `json:"message_id"`
	Index     int    `json:"index"`
	Text      string `json:"text"`
}

// MessageComplete is a whole message. There is one for each message.
type MessageComplete struct {
	MessageID string  `json:"message_id"`
	ParentID  string  `json:"parent_id,omitempty"`
	Role      Role    `json:"role"`
	Blocks    []Block `json:"blocks"`
}

// ToolClass groups tools by what they do.
type ToolClass string

// The classes of tools.
const (
	ClassExecute ToolClass = "execute"
	ClassRead    ToolClass = "read"
	ClassEdit    ToolClass = "edit"
	ClassSearch  ToolClass = "search"
	ClassFetch   ToolClass = "fetch"
	ClassAgent   ToolClass = "agent"
	ClassMCP     ToolClass = "mcp"
	ClassThink   ToolClass = "think"
	ClassOther   ToolClass = "other"
)

// ToolStart says that the model has begun a tool call. Its input is not known yet.
type ToolStart struct {
	ToolID    string    `json:"tool_id"`
	Name      string    `json:"name"`
	Class     ToolClass `json:"class"`
	MessageID string    `json:"message_id,omitempty"`
	Index     int       `json:"index"`
}

// ToolDelta is a piece of a tool call's input.
type ToolDelta struct {
	ToolID       string `json:"tool_id"`
	MessageID    string `json:"message_id,omitempty"`
	Index        int    `json:"index"`
	PartialInput string `json:"partial_input"`
}

// ToolPre is a tool call with its complete input, before it runs. Diff is unified.
type ToolPre struct {
	ToolID string    `json:"tool_id"`
	Name   string    `json:"name"`
	Class  ToolClass `json:"class"`
	Input  JSON      `json:"input"`
	Title  string    `json:"title,omitempty"`
	Paths  []string  `json:"paths,omitempty"`
	Diff   string    `json:"diff,omitempty"`
}

// ToolProgress is output or news of a running tool.
type ToolProgress struct {
	ToolID    string `json:"tool_id"`
	Text      string `json:"text,omitempty"`
	ElapsedMS int64  `json:"elapsed_ms,omitempty"`
}

// ToolPost is the result of a tool call that succeeded.
type ToolPost struct {
	ToolID     string  `json:"tool_id"`
	Name       string  `json:"name"`
	Content    []Block `json:"content"`
	Structured JSON    `json:"structured,omitempty"`
	DurationMS int64   `json:"duration_ms"`
	Diff       string  `json:"diff,omitempty"`
	MessageID  string  `json:"message_id,omitempty"`
	ParentID   string  `json:"parent_id,omitempty"`
}

// ToolFailure is the result of a tool call that failed, was interrupted, or was
// denied; Error then holds the reason.
type ToolFailure struct {
	ToolID      string  `json:"tool_id"`
	Name        string  `json:"name"`
	Content     []Block `json:"content,omitempty"`
	Structured  JSON    `json:"structured,omitempty"`
	DurationMS  int64   `json:"duration_ms"`
	Diff        string  `json:"diff,omitempty"`
	MessageID   string  `json:"message_id,omitempty"`
	ParentID    string  `json:"parent_id,omitempty"`
	Error       string  `json:"error"`
	Interrupted bool    `json:"interrupted,omitempty"`
	Denied      bool    `json:"denied,omitempty"`
}

// PlanUpdate is the agent's complete to-do list.
type PlanUpdate struct {
	Entries []PlanEntry `json:"entries"`
}

// PlanEntry is one item of a to-do list.
type PlanEntry struct {
	Text   string `json:"text"`
	Status string `json:"status"` // pending, in_progress, completed
}

// SubagentStart says that the agent started a subagent.
type SubagentStart struct {
	ID          string `json:"id"`
	Type        string `json:"type,omitempty"`
	Description string `json:"description,omitempty"`
	Prompt      string `json:"prompt,omitempty"`
}

// SubagentStop says that a subagent is done.
type SubagentStop struct {
	ID     string `json:"id"`
	Type   string `json:"type,omitempty"`
	Result string `json:"result,omitempty"`
	Usage  *Usage `json:"usage,omitempty"`
}

// TaskStart says that work has started in the background.
type TaskStart struct {
	ID          string `json:"id"`
	ToolID      string `json:"tool_id,omitempty"`
	Type        string `json:"type,omitempty"`
	Description string `json:"description,omitempty"`
}

// TaskUpdate reports progress of background work.
type TaskUpdate struct {
	ID     string `json:"id"`
	Status string `json:"status"`
	Text   string `json:"text,omitempty"`
}

// TaskEnd says that background work ended.
type TaskEnd struct {
	ID         string `json:"id"`
	Status     string `json:"status"`
	OutputFile string `json:"output_file,omitempty"`
	Summary    string `json:"summary,omitempty"`
}

func (QueueChange) kind() Kind     { return KindQueueChange }
func (TurnStart) kind() Kind       { return KindTurnStart }
func (TurnComplete) kind() Kind    { return KindTurnComplete }
func (TurnError) kind() Kind       { return KindTurnError }
func (UserPrompt) kind() Kind      { return KindUserPrompt }
func (MessageDelta) kind() Kind    { return KindMessageDelta }
func (ReasoningDelta) kind() Kind  { return KindReasoningDelta }
func (MessageComplete) kind() Kind { return KindMessageComplete }
func (ToolStart) kind() Kind       { return KindToolStart }
func (ToolDelta) kind() Kind       { return KindToolDelta }
func (ToolPre) kind() Kind         { return KindToolPre }
func (ToolProgress) kind() Kind    { return KindToolProgress }
func (ToolPost) kind() Kind        { return KindToolPost }
func (ToolFailure) kind() Kind     { return KindToolFailure }
func (PlanUpdate) kind() Kind      { return KindPlanUpdate }
func (SubagentStart) kind() Kind   { return KindSubagentStart }
func (SubagentStop) kind() Kind    { return KindSubagentStop }
func (TaskStart) kind() Kind       { return KindTaskStart }
func (TaskUpdate) kind() Kind      { return KindTaskUpdate }
func (TaskEnd) kind() Kind         { return KindTaskEnd }
