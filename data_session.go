package terret

// MCPServer is an MCP server as the agent reports it.
type MCPServer struct {
	Name   string `json:"name"`
	Status string `json:"status,omitempty"`
	Error  string `json:"error,omitempty"`
}

// Command is something that can be typed as /name.
type Command struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Hint        string `json:"hint,omitempty"` // of its arguments
}

// SessionStart says that an agent process is ready to work. It comes once for
// each process. Its NativeID, Model and PermissionMode, if set, become those of the
// session: the mode is the one that turns will have, not the one the agent began in.
type SessionStart struct {
	Source         string      `json:"source"` // new, resume, fork, clear, compact
	Agent          string      `json:"agent"`
	AgentVersion   string      `json:"agent_version,omitempty"`
	NativeID       string      `json:"native_id,omitempty"`
	Model          string      `json:"model,omitempty"`
	Tools          []string    `json:"tools,omitempty"`
	Commands       []Command   `json:"commands,omitempty"`
	Cwd            string      `json:"cwd"`
	PermissionMode string      `json:"permission_mode,omitempty"`
	MCPServers     []MCPServer `json:"mcp_servers,omitempty"`
}

// SessionNativeID says that the agent's own id of the session has changed.
type SessionNativeID struct {
	Old    NullString `json:"old"`
	New    string     `json:"new"`
	Reason string     `json:"reason"` // start, resume, fork, clear, stale, rewind, forward
	Error  string     `json:"error,omitempty"`
}

// SessionResumed is the first event that a new owner writes.
type SessionResumed struct {
	Epoch int64 `json:"epoch"`
}

// SessionStateChange says that the session is now in another state. Only the engine
// writes it.
type SessionStateChange struct {
	State  SessionState `json:"state"`
	Detail string       `json:"detail,omitempty"`
}

// SessionUpdated holds the fields that changed; the others are absent.
type SessionUpdated struct {
	Title          *string `json:"title,omitempty"`
	Model          *string `json:"model,omitempty"`
	Policy         *Policy `json:"policy,omitempty"`
	PermissionMode *string `json:"permission_mode,omitempty"`
	Mode           *Mode   `json:"mode,omitempty"`
	Persona        *string `json:"persona,omitempty"`
	HandedTo       *string `json:"handed_to,omitempty"` // the session that continues this one
}

// SessionCommands lists the commands that the agent offers now.
type SessionCommands struct {
	Commands []Command `json:"commands"`
}

// SessionAuth reports progress in signing in.
type SessionAuth struct {
	Status  string   `json:"status"`
	Method  string   `json:"method,omitempty"`
	Message string   `json:"message,omitempty"`
	Output  []string `json:"output,omitempty"`
}

// SessionEnd says that the agent process, or the session, is gone.
type SessionEnd struct {
	Reason       string `json:"reason"` // closed, deleted, agent_exit, idle_reaped
	NativeReason string `json:"native_reason,omitempty"`
}

// ProcessSpawn says that a process was started for the session. Secrets in Argv
// are redacted.
type ProcessSpawn struct {
	Argv []string `json:"argv"`
	PID  int      `json:"pid"`
}

// ProcessExit says that it ended. At most one of Code and Signal is set.
type ProcessExit struct {
	Code       *int       `json:"code"`
	Signal     NullString `json:"signal"`
	DurationMS int64      `json:"duration_ms"`
}

// UsageUpdate says what was used so far, and how full the context is. Drivers tell what the
// turn has used; the engine adds what the session used before, so the log has the session's
// totals.
type UsageUpdate struct {
	Usage
	CostUSD     Cost  `json:"cost_usd"`
	ContextUsed int64 `json:"context_used,omitempty"`
	ContextMax  int64 `json:"context_max,omitempty"`
}

// RateLimit says that a provider's limit was reached, or nearly so.
type RateLimit struct {
	ResetsAt *Time  `json:"resets_at,omitempty"`
	Kind     string `json:"kind,omitempty"`
}

// Retry says that a call to the model failed and will be tried again.
type Retry struct {
	Attempt    int    `json:"attempt"`
	Max        int    `json:"max,omitempty"`
	DelayMS    int64  `json:"delay_ms"`
	HTTPStatus int    `json:"http_status,omitempty"`
	Error      string `json:"error,omitempty"`
}

// ModelFallback says that another model answers than the one asked for.
type ModelFallback struct {
	From string `json:"from"`
	To   string `json:"to"`
	Why  string `json:"why,omitempty"`
}

// CheckpointCreated says that the folder's state was recorded.
type CheckpointCreated struct {
	CheckpointID string `json:"checkpoint_id"`
	MessageID    string `json:"message_id,omitempty"`
	// OfTurn is the turn that the snapshot brackets, and Phase says whether it was
	// taken before or after it. Changed says that the turn changed the folder.
	OfTurn  string `json:"of_turn,omitempty"`
	Phase   string `json:"phase,omitempty"` // before, after
	Changed bool   `json:"changed,omitempty"`
	// Snapshot names the recorded state of the folder.
	Snapshot string `json:"snapshot,omitempty"`
}

// CheckpointRewound says that the folder went back to, or forward from, a recorded
// state, and whether the agent's conversation did too; or that files came back from a
// copy that a forced undo had made.
type CheckpointRewound struct {
	CheckpointID string   `json:"checkpoint_id"`
	MessageID    string   `json:"message_id,omitempty"`
	Files        []string `json:"files"`
	Insertions   int      `json:"insertions"`
	Deletions    int      `json:"deletions"`
	Direction    string   `json:"direction"` // undo, redo, restore
	Turns        []string `json:"turns,omitempty"`
	// Copy names the copy of files that was made because they were overwritten by force,
	// or, if the direction is restore, from which they came back.
	Copy string `json:"copy,omitempty"`
	// Conversation says that the agent's conversation went back to before the message,
	// or forward again. Note says what was left unchanged, and why.
	Conversation bool   `json:"conversation,omitempty"`
	Note         string `json:"note,omitempty"`
}

// FileChanged says that a file in the session's folder changed.
type FileChanged struct {
	Path   string `json:"path"`
	Change string `json:"change"` // created, modified, deleted
	ToolID string `json:"tool_id,omitempty"`
}

// CompactPre says that the agent is about to compress its context.
type CompactPre struct {
	Trigger      string `json:"trigger"` // manual, auto
	Instructions string `json:"instructions,omitempty"`
}

// CompactPost says that it did.
type CompactPost struct {
	TokensBefore int64  `json:"tokens_before,omitempty"`
	TokensAfter  int64  `json:"tokens_after,omitempty"`
	Summary      string `json:"summary,omitempty"`
}

// HookEvent reports an agent's hook that has no kind of its own.
type HookEvent struct {
	Hook string `json:"hook"`
	Data JSON   `json:"data,omitempty"`
}

// HookResponse is what a hook answered.
type HookResponse struct {
	Hook    string `json:"hook"`
	Outcome string `json:"outcome"`
}

// Notification is something the agent tells a person.
type Notification struct {
	Text  string `json:"text"`
	Level string `json:"level"` // info, warning, error
	Type  string `json:"type,omitempty"`
	Title string `json:"title,omitempty"`
}

// BusMessage is a message between named agents.
type BusMessage struct {
	MessageID string            `json:"message_id"`
	From      string            `json:"from"`
	To        []string          `json:"to"`
	Type      string            `json:"type"` // chat, system, command
	Text      string            `json:"text"`
	InReplyTo string            `json:"in_reply_to,omitempty"`
	Metadata  map[string]string `json:"metadata,omitempty"`
}

// BusReceipt says what happened to a message.
type BusReceipt struct {
	MessageID string `json:"message_id"`
	By        string `json:"by"`
	Status    string `json:"status"` // delivered, read, answered, failed, stopped
	Detail    string `json:"detail,omitempty"`
	CostUSD   Cost   `json:"cost_usd,omitempty"` // of the turn that handled it
}

// AgentStateChange says that a named agent is now in another state.
type AgentStateChange struct {
	Name   string     `json:"name"`
	State  AgentState `json:"state"`
	Detail string     `json:"detail,omitempty"`
	Config JSON       `json:"config,omitempty"` // how it was made, when it joins the team
}

// DiagStderr is a line that the agent wrote to its standard error.
type DiagStderr struct {
	Text string `json:"text"`
}

// DiagParseError is a line of the agent's output that could not be read.
type DiagParseError struct {
	Text string `json:"text"`
}

// DiagWarning is something that the operator should know.
type DiagWarning struct {
	Text string `json:"text"`
}

// Unknown is a message that the driver does not know. The event's raw message holds it.
type Unknown struct {
	NativeType string `json:"native_type"`
}

func (SessionStart) kind() Kind       { return KindSessionStart }
func (SessionNativeID) kind() Kind    { return KindSessionNativeID }
func (SessionResumed) kind() Kind     { return KindSessionResumed }
func (SessionStateChange) kind() Kind { return KindSessionStateChange }
func (SessionUpdated) kind() Kind     { return KindSessionUpdated }
func (SessionCommands) kind() Kind    { return KindSessionCommands }
func (SessionAuth) kind() Kind        { return KindSessionAuth }
func (SessionEnd) kind() Kind         { return KindSessionEnd }
func (ProcessSpawn) kind() Kind       { return KindProcessSpawn }
func (ProcessExit) kind() Kind        { return KindProcessExit }
func (UsageUpdate) kind() Kind        { return KindUsageUpdate }
func (RateLimit) kind() Kind          { return KindRateLimit }
func (Retry) kind() Kind              { return KindRetry }
func (ModelFallback) kind() Kind      { return KindModelFallback }
func (CheckpointCreated) kind() Kind  { return KindCheckpointCreated }
func (CheckpointRewound) kind() Kind  { return KindCheckpointRewound }
func (FileChanged) kind() Kind        { return KindFileChanged }
func (CompactPre) kind() Kind         { return KindCompactPre }
func (CompactPost) kind() Kind        { return KindCompactPost }
func (HookEvent) kind() Kind          { return KindHookEvent }
func (HookResponse) kind() Kind       { return KindHookResponse }
func (Notification) kind() Kind       { return KindNotification }
func (BusMessage) kind() Kind         { return KindBusMessage }
func (BusReceipt) kind() Kind         { return KindBusReceipt }
func (AgentStateChange) kind() Kind   { return KindAgentStateChange }
func (DiagStderr) kind() Kind         { return KindDiagStderr }
func (DiagParseError) kind() Kind     { return KindDiagParseError }
func (DiagWarning) kind() Kind        { return KindDiagWarning }
func (Unknown) kind() Kind            { return KindUnknown }
