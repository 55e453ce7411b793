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
// It may also implement [Prober], [Shutdowner] and [Prewarmer].
type Driver interface {
	// Name is the agent's name as users type it, such as "claude".
	Name() string
	// Open makes an agent ready for the session, resuming it where the request
	// says so. The context bounds the call, not the agent's life: that ends with
	// Close. Open may return before the agent's process is up.
	Open(ctx context.Context, r OpenRequest) (Agent, error)
}

// OpenRequest is all a driver is told.
type OpenRequest struct {
	// Session says which folder, model, permission mode and so on. NativeID, if
	// set, is the agent's own session to go on with. Its Options are empty: Settings
	// says what holds.
	Session Session
	// Settings is in force for the turn that the agent is opened for, so that it
	// need not be started twice. Prompt is told again.
	Settings Settings
	// Cursor is what the driver last handed to Emit, nil for a new session.
	Cursor []byte
	// History reads the session's log from its beginning, for agents that have no
	// memory of their own.
	History func(ctx context.Context) iter.Seq2[Entry, error]
	// Host takes what the agent says. It may be used until Close returns.
	Host Host
	// Trusted says that a person trusts the folder, so that what it holds (settings,
	// hooks, servers) may act.
	Trusted bool
	// Warm, if set, is an agent of the same key that was started before. Open takes
	// it over, or closes it and starts another: the caller need not know.
	Warm Warm
	// Env is the environment that the agent's process may see at most.
	Env []string
	// Owner marks the processes that are started, so that none outlives us.
	Owner string
	// Log is for the operator. It is never nil.
	Log *slog.Logger
}

// Host is what a driver sees of the engine. It is safe for concurrent use.
type Host interface {
	// Emit appends events to the session's log, in order, and with them the
	// cursor, from which the driver can go on after a restart (nil leaves it as
	// it was). It blocks while the store does, and for nothing else. An error
	// means that the log takes nothing more from this agent: stop it.
	Emit(ctx context.Context, events []Event, cursor []byte) error
	// Ask logs a request and waits for its decision. It blocks for as long as
	// that takes, so it must not be called where the agent's output is read. Asking
	// again with the same key gives the same decision. The error is that of the
	// context, or says that the agent must stop.
	Ask(ctx context.Context, q Ask) (Decision, error)
	// Delivered notes that the agent was told of the decision.
	Delivered(ctx context.Context, requestID string) error
}

// Ask is a request of an agent for a decision.
type Ask struct {
	// Key is the agent's own id of the request, unique within the session.
	Key  string
	Gate Gate
	// Event is what to log. The host fills in its Expects, and the request id
	// where the data has one.
	Event Event
	// Fallback is what is decided when nobody does; empty means what is safe at
	// the gate.
	Fallback Behavior
	// Timeout bounds the wait; zero means the default of the gate.
	Timeout time.Duration
}

// Agent is one agent at work on one session. Its methods may be called
// concurrently.
//
// It may also implement the optional interfaces below; [Agent.Capabilities] says
// which of them work at the moment.
type Agent interface {
	// Prompt starts a turn and returns when the agent has accepted it. What comes
	// of it is told to the host, and ends with TurnComplete or TurnError. The
	// engine never prompts a busy agent. The prompt's own options are empty: s says
	// what holds in this turn.
	Prompt(ctx context.Context, turn string, p Prompt, s Settings) error
	// Interrupt asks the agent to stop the turn and returns at once. The end of
	// the turn is told to the host. Interrupting a turn that is over does nothing.
	Interrupt(ctx context.Context, turn string) error
	// Close ends the agent and all its processes, and waits until they are gone.
	// The context bounds how long it stays polite. It is idempotent and safe at
	// any time.
	Close(ctx context.Context) error
	// Capabilities says what the agent can do. It may change when the agent has
	// introduced itself.
	Capabilities() Capabilities
}

// Optional interfaces of a Driver.
type (
	// Prober finds out whether the agent is installed and signed in, without
	// starting a session.
	Prober interface {
		Probe(ctx context.Context) (Probe, error)
	}
	// Shutdowner ends what sessions share, such as a server.
	Shutdowner interface {
		Shutdown(ctx context.Context) error
	}
	// Prewarmer starts agents before they are needed. Who keeps them, and how
	// many, is not the driver's to say.
	Prewarmer interface {
		// WarmKey says what is fixed when the agent is started for such a session:
		// sessions with the same key can take over the same warm agent. It is empty
		// for a session that needs a start of its own. Whether the folder is trusted
		// is part of it.
		WarmKey(r OpenRequest) string
		// Prewarm starts an agent for sessions such as the request's, and returns
		// when it is ready. The context bounds the start. The request's host is nil.
		Prewarm(ctx context.Context, r OpenRequest) (Warm, error)
	}
)

// Warm is an agent that was started before it was needed. Whoever has it gives it
// to Open, which then owns it, or closes it. Its methods may be called concurrently.
type Warm interface {
	// Alive reports whether it can still be taken over.
	Alive() bool
	// Memory is how many bytes its processes hold, or zero if that is not known.
	Memory() int64
	// Close ends it and waits until its processes are gone, like Agent.Close.
	Close(ctx context.Context) error
}

// Optional interfaces of an Agent. Those that a capability names count only while
// the agent declares it; the others are there or not.
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
	// Commander runs such a command as a turn.
	Commander interface {
		Command(ctx context.Context, turn, name, args string, s Settings) error
	}
	// Forker makes a copy of the agent's session, up to and including a message
	// (empty: all), and returns the copy's own id.
	Forker interface {
		Fork(ctx context.Context, messageID string) (nativeID string, err error)
	}
	// Compacter compresses the agent's context, as a turn.
	Compacter interface {
		Compact(ctx context.Context, turn, instructions string, s Settings) error
	}
	// Rewinder takes the agent's conversation back, and forward again.
	Rewinder interface {
		// Rewind goes back to before the prompt with that message id. If the agent
		// does not know it, the error is of kind not_found.
		Rewind(ctx context.Context, messageID string) error
		// Forward takes back the last Rewind. After another prompt there is none.
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

// CapabilitiesOf returns what a can do: what it declares, less what it has no
// method for.
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
	case CanFork:
		_, ok = a.(Forker)
	case CanCompact:
		_, ok = a.(Compacter)
	case CanUndo, CanRedo:
		_, ok = a.(Rewinder)
	default: // needs no method of its own
	}
	return ok
}
