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

// system handles what the agent reports about itself.
func (t *translator) system(m message) {
	switch m := m.(type) {
	case *initMessage:
		t.init(m)
	case *statusMessage:
		t.status(m)
	case *compactMessage:
		t.compact.boundary = &terret.CompactPost{TokensBefore: m.Metadata.PreTokens, TokensAfter: m.Metadata.PostTokens}
		t.spent.context = m.Metadata.PostTokens
	case *taskMessage:
		t.task(m)
	case *retryMessage:
		t.emit(terret.Retry{Attempt: m.Attempt, Max: m.MaxRetries, DelayMS: int64(math.Round(m.RetryDelayMS)), HTTPStatus: m.ErrorStatus, Error: m.Error})
	case *modelMessage:
		t.modelTrouble(m)
	case *deniedMessage:
		t.permissionDenied(m)
	case *hookMessage:
		t.commandHook(m)
	case *noteMessage:
		t.note(m)
	case *commandsMessage:
		t.commandsChanged(m)
	case *stateMessage:
		if m.State == "idle" {
			t.release()
		}
		t.others = append(t.others, stateChange{state: m.State})
	default:
		if s := t.head.Subtype; s != "thinking_tokens" && s != "background_tasks_changed" { // other lines report the same
			t.unknown()
		}
	}
}

func (t *translator) task(m *taskMessage) {
	switch sub := m.Subtype; {
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

// noteSession notices that the agent has switched to another session.
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

// init handles the opening of a turn: the first one is the process's, others only
// update.
func (t *translator) init(m *initMessage) {
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

func (t *translator) firstInit(m *initMessage) {
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
	if text := untested(m.Version); text != "" {
		t.emit(terret.DiagWarning{Text: text})
	}
	if want := t.opts.expect; want != "" && want != s.nativeID {
		t.emit(terret.DiagWarning{Text: fmt.Sprintf("the agent was told to use the session id %s, but uses %s", want, s.nativeID)})
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

func (t *translator) commandsChanged(m *commandsMessage) {
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

// compaction is a compression of the context in progress.
type compaction struct {
	running  bool
	boundary *terret.CompactPost // it is done; the summary comes next
}

func (t *translator) status(m *statusMessage) {
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

// noteSummary reports that the context is compressed, with the summary if the current
// line holds it.
func (t *translator) noteSummary(m message) {
	if t.compact.boundary == nil {
		return
	}
	if said, ok := m.(*userMessage); ok && said.IsSynthetic {
		t.compact.boundary.Summary = said.Message.Content.text()
	}
	t.endCompaction("")
}

// endCompaction reports the end of a compression in progress, if any.
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

func (t *translator) modelTrouble(m *modelMessage) {
	why := cmp.Or(m.Explanation, m.Content, m.Category)
	if m.Subtype != "model_refusal_no_fallback" {
		trigger := m.Trigger
		if m.Subtype == "model_refusal_fallback" {
			trigger = cmp.Or(trigger, "refusal")
		}
		t.emit(terret.ModelFallback{From: m.OriginalModel, To: m.FallbackModel, Why: cmp.Or(trigger, why)})
		return
	}
	t.turn.refusal = cmp.Or(m.Explanation, m.Content)
	t.emit(terret.Notification{Text: cmp.Or(why, "the model refused to answer"), Level: "warning", Type: "refusal"})
}

func (t *translator) permissionDenied(m *deniedMessage) {
	if c := t.tools[m.ToolUseID]; c != nil {
		c.denied, c.refused = true, true
		t.tell(c)
	}
	t.turn.reasons[m.ToolUseID] = m.Message
	t.emit(terret.PermissionDenied{ToolID: m.ToolUseID, Tool: m.ToolName, Reason: m.Message})
}

func (t *translator) commandHook(m *hookMessage) {
	if m.Subtype == "hook_response" {
		t.emit(terret.HookResponse{Hook: m.HookName, Outcome: m.Outcome})
		return
	}
	t.emit(terret.HookEvent{Hook: m.HookName, Data: terret.JSON(slices.Clone(t.line))})
}

func (t *translator) note(m *noteMessage) {
	n := terret.Notification{Text: cmp.Or(m.Content, m.Text, m.Error), Level: m.Level, Type: cmp.Or(m.Tag, m.Key, m.Subtype)}
	switch {
	case m.Subtype == "mirror_error":
		n.Level = "warning"
	case n.Level != "warning" && n.Level != "error":
		n.Level = "info"
	}
	if m.Key == "stop-hook-error" { // one of our hooks told it to continue
		t.emitAs(terret.VisibleInternal, n)
		return
	}
	t.emit(n)
}

func (t *translator) rateLimit(m *rateLimitMessage) {
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

func (t *translator) authStatus(m *authMessage) {
	out := terret.SessionAuth{Status: "ok", Message: m.Error, Output: m.Output}
	switch {
	case m.IsAuthenticating:
		out.Status = "pending"
	case m.Error != "":
		out.Status = "failed"
	}
	t.emit(out)
}

// isCommandOutput reports whether a message is the output of a local command.
func isCommandOutput(text string) bool { return strings.HasPrefix(text, "<local-command-") }
