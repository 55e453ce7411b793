package terret

import (
	"encoding/json"
	"fmt"
	"slices"
)

// Capability names something that an agent may or may not be able to do.
type Capability string

// The capabilities.
const (
	CanUndo             Capability = "undo"
	CanRedo             Capability = "redo"
	CanCommands         Capability = "commands"
	CanPermissions      Capability = "permission_requests"
	CanQuestions        Capability = "question_prompts"
	CanSelectModel      Capability = "model_selection"
	CanReconnect        Capability = "reconnect"
	CanStream           Capability = "partial_streaming"
	CanSteer            Capability = "steer"
	CanQueue            Capability = "queue"
	CanFork             Capability = "fork"
	CanForkAt           Capability = "fork_at" // up to a message
	CanHooks            Capability = "hooks"
	CanSubagents        Capability = "subagents"
	CanMCP              Capability = "mcp"
	CanAttachments      Capability = "attachments"
	CanStructuredOutput Capability = "structured_output"
	CanBudget           Capability = "budget"
	CanOneShot          Capability = "one_shot"
	CanMultiTurn        Capability = "multi_turn"
	CanPrewarm          Capability = "prewarm"
	CanSystemPrompt     Capability = "system_prompt"
	CanPlan             Capability = "plan_mode"
	CanInterrupt        Capability = "interrupt"
	CanCompact          Capability = "compact"
	CanCost             Capability = "cost"
	CanReasoning        Capability = "reasoning"
	CanEditInput        Capability = "edited_input"
	oversightField      Capability = "oversight"
)

// AllCapabilities lists every capability in display order.
func AllCapabilities() []Capability {
	return []Capability{
		CanUndo, CanRedo, CanCommands, CanPermissions, CanQuestions, CanSelectModel, CanReconnect, CanStream,
		CanSteer, CanQueue, CanFork, CanForkAt, CanHooks, CanSubagents, CanMCP, CanAttachments, CanStructuredOutput,
		CanBudget, CanOneShot, CanMultiTurn, CanPrewarm, CanSystemPrompt, CanPlan, CanInterrupt, CanCompact,
		CanCost, CanReasoning, CanEditInput,
	}
}

// Provider says who makes a capability work.
type Provider string

// The providers of a capability.
const (
	ByAgent   Provider = "agent"
	ByDriver  Provider = "driver"  // with the agent, which has no such thing itself
	ByHarness Provider = "harness" // without the agent
)

// Ability says whether a capability works and who provides it, or why it does not.
type Ability struct {
	OK     bool     `json:"ok"`
	By     Provider `json:"by,omitempty"`
	Reason string   `json:"reason,omitempty"`
}

// Oversight says how many of an agent's tool uses we see before they run.
type Oversight string

// The degrees of oversight.
const (
	OversightAll   Oversight = "all"   // every tool use
	OversightAsked Oversight = "asked" // those that the agent asks about
	OversightNone  Oversight = "none"
)

// Capabilities is what an agent can do. The zero value is an agent that can do nothing.
// In JSON it is one object, keyed by capability, plus oversight.
type Capabilities struct {
	Abilities map[Capability]Ability
	Oversight Oversight
}

// Has reports whether the agent has the capability.
func (c Capabilities) Has(name Capability) bool { return c.Abilities[name].OK }

// Need returns an unsupported error that says why, if the agent lacks the capability.
func (c Capabilities) Need(name Capability) error {
	a := c.Abilities[name]
	if a.OK {
		return nil
	}
	if a.Reason == "" {
		return Errorf(CodeUnsupported, "this agent has no %s", name)
	}
	return Errorf(CodeUnsupported, "this agent has no %s: %s", name, a.Reason)
}

// MarshalJSON implements json.Marshaler. Every capability is listed.
func (c Capabilities) MarshalJSON() ([]byte, error) {
	m := make(map[Capability]any, len(AllCapabilities())+1)
	for _, name := range AllCapabilities() {
		m[name] = c.Abilities[name]
	}
	for name, a := range c.Abilities {
		m[name] = a
	}
	m[oversightField] = c.Oversight
	if c.Oversight == "" {
		m[oversightField] = OversightNone
	}
	return json.Marshal(m)
}

// UnmarshalJSON implements json.Unmarshaler.
func (c *Capabilities) UnmarshalJSON(b []byte) error {
	var m map[Capability]json.RawMessage
	if err := json.Unmarshal(b, &m); err != nil {
		return err
	}
	*c = Capabilities{Abilities: make(map[Capability]Ability, len(m))}
	for name, raw := range m {
		if name == oversightField {
			if err := json.Unmarshal(raw, &c.Oversight); err != nil {
				return fmt.Errorf("capability %s: %w", name, err)
			}
			continue
		}
		var a Ability
		if err := json.Unmarshal(raw, &a); err != nil {
			if !slices.Contains(AllCapabilities(), name) {
				continue // from a version in which it had another shape
			}
			return fmt.Errorf("capability %s: %w", name, err)
		}
		c.Abilities[name] = a
	}
	return nil
}
