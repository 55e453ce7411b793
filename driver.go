package terret

import (
	"context"
	"iter"
	"log/slog"
	"time"
)

// Driver speaks the protocol of one kind of agent. It holds no policy and no
// storage. A Driver is safe for concurrent use.
//
// It may also implement [Prober], [Shutdowner], [Prewarmer], [ModelLister] and
// [CommandLister].
type Driver interface {
	// Name is the agent's name as users type it, such as "claude".
	Name() string
	// Open makes an agent ready for the session, and resumes the agent's own session if
	// the request names one. The context bounds the call, not the agent's life: that
	// ends with Close. Open may return before the agent's process is up.
	Open(ctx context.Context, r OpenRequest) (Agent, error)
}

// OpenRequest is everything a driver is told.
type OpenRequest struct {
	// Session has the folder, model, permission mode and so on. NativeID, if set, is
	// the agent's own session to resume. Its Options are empty: use Settings.
	Session Session
	// Settings is in force for the turn that the agent is opened for, so that it need
	// not be started twice. Prompt gets it again.
	Settings Settings
	// Cursor is what the driver last passed to Emit, nil for a new session.
	Cursor []byte
	// History reads the session's log from its beginning, for agents that have no
	// memory of their own. The logs of the sessions that it was forked from come first,
	// as a whole, the oldest one first; it is an error if one of them is gone.
	History func(ctx context.Context) iter.Seq2[Entry, error]
	// Host receives what the agent says. It may be used until Close returns.
	Host Host
	// Trusted says that a person trusts the folder, so that its contents (settings,
	// hooks, servers) may take effect.
	Trusted bool
	// Warm, if set, is an agent that was started earlier for the same key. Open takes
	// it over, or closes it and starts another: the caller need not know.
	Warm Warm
	// Env is the most that the agent's process may see of the environment.
	Env []string
	// Owner marks the processes that the driver starts, so that none outlives us.
	Owner string
	// Log is for the operator. It is never nil.
	Log *slog.Logger
}

// Host is what a driver sees of the engine. It is safe for concurrent use.
type Host interface {
	// Emit appends events to the session's log, in order, together with the cursor from
	// which the driver can resume after a restart (nil leaves it unchanged). It blocks
	// only while the store does. An error means that the log accepts nothing more from
	// this agent: stop it. What belongs to a turn (see Kind.InTurn) while none runs
	// begins one, which must end like any other.
	Emit(ctx context.Context, events []Event, cursor []byte) error
	// Ask logs a request and waits for its decision. It blocks for as long as that
	// takes, so never call it on the goroutine that reads the agent's output. Asking
	// again with the same key returns the same decision. The error is that of the
	// context, or says that the agent must stop. If the context has already ended,
	// nothing is logged.
	Ask(ctx context.Context, q Ask) (Decision, error)
	// Delivered records that the agent was told the decision.
	Delivered(ctx context.Context, requestID string) error
}

// Ask is an agent's request for a decision.
type Ask struct {
	// Key is the agent's own id of the request, unique within the session. Asking for
	// something else with the same key is another request.
	Key  string
	Gate Gate
	// Event is what to log, with the data that belongs to the gate. The host fills in its
	// Expects, and the request id where the data has one.
	Event Event
	// Fallback is the decision if nobody decides; empty means the safe answer at the
	// gate. A permission is always denied then.
	Fallback Behavior
	// Timeout bounds the wait; zero means the default of the gate.
	Timeout time.Duration
}

// Agent is one agent at work on one session. Its methods may be called
// concurrently.
//
// It may also implement the optional interfaces below; [Agent.Capabilities] says which
// of them currently work.
type Agent interface {
	// Prompt starts a turn and returns when the agent has accepted it. The host gets
	// everything that follows, ending with TurnComplete or TurnError. The engine never
	// prompts a busy agent. The prompt's own options are empty: s is in force for this
	// turn.
	Prompt(ctx context.Context, turn string, p Prompt, s Settings) error
	// Interrupt asks the agent to stop the turn and returns at once. The host gets the
	// end of the turn. Interrupting a turn that is over does nothing.
	Interrupt(ctx context.Context, turn string) error
	// Close ends the agent and all its processes, and waits until they are gone. After
	// the context ends it uses force. It is idempotent and safe at any time.
	Close(ctx context.Context) error
	// Capabilities says what the agent can do. It may change once the agent has
	// introduced itself.
	Capabilities() Capabilities
}

// Optional interfaces of a Driver.
type (
	// Prober finds out whether the agent is installed and signed in, without starting a
	// session.
	Prober interface {
		Probe(ctx context.Context) (Probe, error)
	}
	// Shutdowner stops what sessions share, such as a server.
	Shutdowner interface {
		Shutdown(ctx context.Context) error
	}
	// Prewarmer starts agents before they are needed. How many are kept, and for how
	// long, is up to the engine.
	Prewarmer interface {
		// WarmKey identifies what is fixed when an agent starts for this request:
		// sessions with the same key can take over the same warm agent. It is empty if
		// the session cannot use one. It covers whether the folder is trusted.
		WarmKey(r OpenRequest) string
		// Prewarm starts an agent for sessions like the request's, and returns when it
		// is ready. The context bounds the start. The request's host is nil.
		Prewarm(ctx context.Context, r OpenRequest) (Warm, error)
	}
)

// Discoverer is a Driver that knows the sessions that people had with the agent itself,
// without Terret. It changes nothing of theirs.
type Discoverer interface {
	// Discover lists them, in any order. It reads no more than the beginning of each.
	Discover(ctx context.Context) ([]Discovered, error)
	// Recall returns what was said in one of them, as the agent's events: whole turns,
	// with their ids and times. It leaves out what it cannot read.
	Recall(ctx context.Context, nativeID string) iter.Seq2[Event, error]
}

// Discovered is a session that a person had with an agent without Terret.
type Discovered struct {
	Agent     string `json:"agent"`
	NativeID  string `json:"native_id"`
	Cwd       string `json:"cwd"`
	Title     string `json:"title"`
	UpdatedAt Time   `json:"updated_at"`
	Size      int64  `json:"size"` // of its record, in bytes
	// Session is the session in Terret that continues it, if there is one.
	Session string `json:"session,omitempty"`
}

// Warm is an agent that was started before it was needed. Its holder passes it to Open,
// which then owns it, or closes it. Its methods may be called concurrently.
type Warm interface {
	// Alive reports whether it can still be taken over.
	Alive() bool
	// Memory is the memory its processes use, in bytes, or zero if unknown.
	Memory() int64
	// Close ends it and waits until its processes are gone, like Agent.Close.
	Close(ctx context.Context) error
}

// Optional interfaces of an Agent. Those that belong to a capability count only while
// the agent declares it.
type (
	// Killer ends a turn by force, and the agent with it.
	Killer interface {
		Kill(ctx context.Context) error
	}
	// Steerer adds a message to the running turn.
	Steerer interface {
		Steer(ctx context.Context, turn string, p Prompt) error
	}
	// ModelLister lists the models that can be chosen.
	ModelLister interface {
		Models(ctx context.Context) ([]Model, error)
	}
	// ModelSetter changes the model of the session.
	ModelSetter interface {
		SetModel(ctx context.Context, model string) error
	}
	// ModeSetter changes the agent's own permission mode.
	ModeSetter interface {
		SetPermissionMode(ctx context.Context, mode string) error
	}
	// CommandLister lists what can be typed as /name.
	CommandLister interface {
		Commands(ctx context.Context) ([]Command, error)
	}
	// Commander runs a command as a turn.
	Commander interface {
		Command(ctx context.Context, turn, name, args string, s Settings) error
	}
	// Forker copies the agent's session, up to and including a message (empty: all),
	// and returns the copy's own id.
	Forker interface {
		Fork(ctx context.Context, messageID string) (nativeID string, err error)
	}
	// Compacter compresses the agent's context, as a turn.
	Compacter interface {
		Compact(ctx context.Context, turn, instructions string, s Settings) error
	}
	// Rewinder moves the agent's conversation back, and forward again.
	Rewinder interface {
		// Rewind goes back to before the prompt with that message id. If the agent does
		// not know it, the error is not_found.
		Rewind(ctx context.Context, messageID string) error
		// Forward undoes the last Rewind. After another prompt it cannot.
		Forward(ctx context.Context) error
	}
	// ContextReader says what fills the agent's context.
	ContextReader interface {
		Context(ctx context.Context) (ContextUsage, error)
	}
	// Renamer tells the agent the session's title.
	Renamer interface {
		Rename(ctx context.Context, title string) error
	}
)

// CapabilitiesOf returns what a can do: what it declares, minus what it has no method
// for.
func CapabilitiesOf(a Agent) Capabilities {
	c := a.Capabilities()
	out := Capabilities{Oversight: c.Oversight, Abilities: make(map[Capability]Ability, len(c.Abilities))}
	for name, ability := range c.Abilities {
		if ability.OK && ability.By != ByHarness && !implements(a, name) {
			ability = Ability{Reason: "the driver does not implement it"}
		}
		out.Abilities[name] = ability
	}
	return out
}

func implements(a Agent, name Capability) bool {
	ok := true
	switch name {
	case CanSteer:
		_, ok = a.(Steerer)
	case CanSelectModel:
		_, ok = a.(ModelSetter)
	case CanCommands:
		_, ok = a.(Commander)
	case CanFork, CanForkAt:
		_, ok = a.(Forker)
	case CanCompact:
		_, ok = a.(Compacter)
	case CanUndo, CanRedo:
		_, ok = a.(Rewinder)
	default: // needs no method of its own
	}
	return ok
}
