package claude

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/terret-dev/terret"
)

// system takes in what the agent says of itself.
func (t *translator) system() {
	switch sub := t.head.Subtype; sub {
	case "init":
		t.init()
	case "status":
		t.status()
	case "compact_boundary":
		var m compactMessage
		decode(t.line, &m)
		t.compact.boundary = &terret.CompactPost{TokensBefore: m.Metadata.PreTokens, TokensAfter: m.Metadata.PostTokens}
		t.spent.context = m.Metadata.PostTokens
	case "task_started", "task_progress", "task_updated", "task_notification":
		t.task(sub)
	case "api_retry", "model_fallback", "model_refusal_fallback", "model_refusal_no_fallback":
		t.modelTrouble(sub)
	case "permission_denied":
		t.permissionDenied()
	case "hook_started", "hook_progress", "hook_response":
		t.commandHook(sub)
	case "informational", "notification", "local_command_output", "mirror_error":
		t.note(sub)
	case "commands_changed":
		t.commandsChanged()
	case "session_state_changed":
		var m stateMessage
		decode(t.line, &m)
		if m.State == "idle" {
			t.release()
		}
		t.others = append(t.others, stateChange{state: m.State})
	case "thinking_tokens", "background_tasks_changed":
		// Other lines tell the same.
	default:
		t.unknown()
	}
}

func (t *translator) task(sub string) {
	var m taskMessage
	decode(t.line, &m)
	switch {
	case m.TaskID == "":
		t.unknown()
	case sub == "task_started":
		t.taskStarted(m)
	case sub == "task_progress":
		t.taskProgress(m)
	case sub == "task_updated":
		t.taskUpdated(m)
	default:
		t.taskEnded(m)
	}
}

// noteSession notices that the agent has gone over to another session.
func (t *translator) noteSession() {
	id := t.head.SessionID
	if !t.session.started || id == "" || id == t.session.nativeID {
		return
	}
	old := t.session.nativeID
	t.session.nativeID = id
	t.plan, t.spent.context = nil, 0
	t.emitBy("", "", "", terret.SessionNativeID{Old: terret.NullString(old), New: id, Reason: "clear"})
}

// init takes in the opening of a turn: the first one is the process's, others only
// update.
func (t *translator) init() {
	var m initMessage
	decode(t.line, &m)
	s := &t.session
	s.cwd = cmp.Or(m.Cwd, s.cwd)
	if !s.started {
		t.firstInit(m)
		return
	}
	var changed terret.SessionUpdated
	if m.Model != "" && m.Model != s.model {
		s.model, changed.Model = m.Model, &m.Model
	}
	if m.PermissionMode != "" && m.PermissionMode != s.mode {
		s.mode, changed.PermissionMode = m.PermissionMode, &m.PermissionMode
	}
	if changed != (terret.SessionUpdated{}) {
		t.emit(changed)
	}
	if len(m.SlashCommands) > 0 && !slices.Equal(m.SlashCommands, s.commands) {
		s.commands = m.SlashCommands
		t.emit(terret.SessionCommands{Commands: commandsNamed(m.SlashCommands)})
	}
}

func (t *translator) firstInit(m initMessage) {
	s := &t.session
	old := s.nativeID
	s.started, s.nativeID = true, cmp.Or(t.head.SessionID, old)
	s.model, s.mode, s.commands = m.Model, m.PermissionMode, m.SlashCommands
	var servers []terret.MCPServer
	for _, v := range m.MCPServers {
		servers = append(servers, terret.MCPServer(v))
	}
	t.emit(terret.SessionStart{
		Source: t.opts.source, Agent: agentName, AgentVersion: m.Version, NativeID: s.nativeID, Model: m.Model, Tools: m.Tools,
		Commands: commandsNamed(m.SlashCommands), Cwd: m.Cwd, PermissionMode: m.PermissionMode, MCPServers: servers,
	})
	if want := t.opts.expect; want != "" && want != s.nativeID {
		t.emit(terret.DiagWarning{Text: fmt.Sprintf("the agent was told to use the session id %s and uses %s", want, s.nativeID)})
	}
	if s.nativeID != old {
		reason := cmp.Or(t.opts.reason, t.opts.source)
		if reason == "new" {
			reason = "start"
		}
		t.emit(terret.SessionNativeID{Old: terret.NullString(old), New: s.nativeID, Reason: reason, Error: t.opts.failed})
	}
}

func commandsNamed(names []string) []terret.Command {
	var out []terret.Command
	for _, n := range names {
		out = append(out, terret.Command{Name: n})
	}
	return out
}

func (t *translator) commandsChanged() {
	var m commandsMessage
	decode(t.line, &m)
	commands, names := []terret.Command{}, []string(nil)
	for _, raw := range m.Commands {
		var c commandInfo
		if isString(raw) {
			decode(raw, &c.Name)
		} else {
			decode(raw, &c)
		}
		commands, names = append(commands, c.command()), append(names, c.Name)
	}
	t.session.commands = names
	t.emit(terret.SessionCommands{Commands: commands})
}

func (c commandInfo) command() terret.Command {
	return terret.Command{Name: c.Name, Description: c.Description, Hint: c.ArgumentHint}
}

// compaction is the compression of the context that is going on.
type compaction struct {
	running  bool
	boundary *terret.CompactPost // it is done; the summary comes next
}

func (t *translator) status() {
	var m statusMessage
	decode(t.line, &m)
	if m.Status == "compacting" && !t.compact.running {
		t.compact.running = true
		pre := terret.CompactPre{Trigger: "auto"}
		if rest, ok := strings.CutPrefix(t.turn.text(), "/compact"); ok {
			pre = terret.CompactPre{Trigger: "manual", Instructions: strings.TrimSpace(rest)}
		}
		t.emit(pre)
	}
	if m.CompactResult == "failed" {
		t.endCompaction(cmp.Or(m.CompactError, "unknown"))
	}
	if m.PermissionMode != "" && m.PermissionMode != t.session.mode {
		t.session.mode = m.PermissionMode
		t.emit(terret.SessionUpdated{PermissionMode: &m.PermissionMode})
	}
}

// noteSummary tells that the context is compressed, with the summary if that is
// what the line at hand holds.
func (t *translator) noteSummary() {
	if t.compact.boundary == nil {
		return
	}
	if t.head.Type == "user" {
		var m userMessage
		decode(t.line, &m)
		if m.IsSynthetic {
			t.compact.boundary.Summary = m.Message.Content.text()
		}
	}
	t.endCompaction("")
}

// endCompaction tells the end of a compression that is going on, if one is.
func (t *translator) endCompaction(failure string) {
	post := terret.CompactPost{}
	if t.compact.boundary != nil {
		post = *t.compact.boundary
	} else if !t.compact.running {
		return
	}
	t.compact = compaction{}
	t.emitBy("", "", "", post)
	if failure != "" {
		t.emitBy("", "", "", terret.Notification{Text: "the context could not be compressed: " + failure, Level: "warning", Type: "compact_failed"})
	}
}

func (t *translator) modelTrouble(sub string) {
	if sub == "api_retry" {
		var m retryMessage
		decode(t.line, &m)
		t.emit(terret.Retry{Attempt: m.Attempt, Max: m.MaxRetries, DelayMS: int64(math.Round(m.RetryDelayMS)), HTTPStatus: m.ErrorStatus, Error: m.Error})
		return
	}
	var m modelMessage
	decode(t.line, &m)
	why := cmp.Or(m.Explanation, m.Content, m.Category)
	if sub != "model_refusal_no_fallback" {
		trigger := m.Trigger
		if sub == "model_refusal_fallback" {
			trigger = cmp.Or(trigger, "refusal")
		}
		t.emit(terret.ModelFallback{From: m.OriginalModel, To: m.FallbackModel, Why: cmp.Or(trigger, why)})
		return
	}
	t.turn.refusal = cmp.Or(m.Explanation, m.Content)
	t.emit(terret.Notification{Text: cmp.Or(why, "the model refused to answer"), Level: "warning", Type: "refusal"})
}

func (t *translator) permissionDenied() {
	var m deniedMessage
	decode(t.line, &m)
	if c := t.tools[m.ToolUseID]; c != nil {
		c.denied, c.refused = true, true
		t.tell(c)
	}
	t.turn.reasons[m.ToolUseID] = m.Message
	t.emit(terret.PermissionDenied{ToolID: m.ToolUseID, Tool: m.ToolName, Reason: m.Message})
}

func (t *translator) commandHook(sub string) {
	var m hookMessage
	decode(t.line, &m)
	if sub == "hook_response" {
		t.emit(terret.HookResponse{Hook: m.HookName, Outcome: m.Outcome})
		return
	}
	t.emit(terret.HookEvent{Hook: m.HookName, Data: terret.JSON(slices.Clone(t.line))})
}

func (t *translator) note(sub string) {
	var m noteMessage
	decode(t.line, &m)
	n := terret.Notification{Text: cmp.Or(m.Content, m.Text, m.Error), Level: m.Level, Type: cmp.Or(m.Tag, m.Key, sub)}
	switch {
	case sub == "mirror_error":
		n.Level = "warning"
	case n.Level != "warning" && n.Level != "error":
		n.Level = "info"
	}
	if m.Key == "stop-hook-error" { // it was told to go on, by one of ours
		t.emitAs(terret.VisibleInternal, n)
		return
	}
	t.emit(n)
}

func (t *translator) rateLimit() {
	var m rateLimitMessage
	decode(t.line, &m)
	if m.Info.Status == "allowed" {
		return // there is room
	}
	out := terret.RateLimit{Kind: m.Info.RateLimitType}
	if at := m.Info.ResetsAt; at > 0 && at < 1e11 {
		moment := terret.TimeOf(time.Unix(int64(at), 0))
		out.ResetsAt = &moment
	}
	t.emit(out)
}

func (t *translator) authStatus() {
	var m authMessage
	decode(t.line, &m)
	out := terret.SessionAuth{Status: "ok", Message: m.Error, Output: m.Output}
	switch {
	case m.IsAuthenticating:
		out.Status = "pending"
	case m.Error != "":
		out.Status = "failed"
	}
	t.emit(out)
}

// isCommandOutput reports whether a message is what a local command printed.
func isCommandOutput(text string) bool { return strings.HasPrefix(text, "<local-command-") }
