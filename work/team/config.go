package team

import (
	"cmp"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/lazyregexp"
)

// The modes of an agent, as the key "mode" of its credentials.
const (
	ModeQuery  = "query"  // each message is a session of its own; the default
	ModeClient = "client" // one session for all messages
)

// Config says how to make an agent. Name and Type are required.
type Config struct {
	Name string `json:"name"`
	// Title is that of the agent's session; empty means the name.
	Title string `json:"title,omitempty"`
	// Type is the provider's.
	Type         string `json:"agent_type"`
	Instructions string `json:"instructions,omitempty"` // added to the agent's system prompt
	Model        string `json:"model,omitempty"`        // empty means the agent's default
	// AllowedTools are the tools the agent has, and uses without asking; nil means all,
	// with the permission mode alone deciding what is asked.
	AllowedTools []string `json:"allowed_tools,omitzero"`
	// PermissionMode is the agent's own. Empty means that it edits files in its folder
	// without asking (acceptEdits).
	PermissionMode string `json:"permission_mode,omitempty"`
	Cwd            string `json:"cwd,omitempty"` // empty means the current folder
	// SettingSources are those that the agent loads; nil means none.
	SettingSources []string `json:"setting_sources,omitzero"`
	// Credentials holds further options. All providers know "mode"; "mcp_servers" and
	// "agents" (subagents), by name, in the agent's own format; and "hooks", the gates at
	// which the agent waits for a decision. They ignore "api_key", "auth_token" and
	// "base_url": agents sign in by themselves.
	Credentials map[string]any `json:"credentials,omitempty"`

	// Careful means that the agent uses no tool without asking, except to look at files in
	// its folder, whatever AllowedTools says.
	Careful bool `json:"careful,omitempty"`
	// MaxCostUSD bounds what a session of the agent costs; zero means no limit.
	MaxCostUSD terret.Cost `json:"max_cost_usd,omitempty"`
	// Session is the session of an agent in client mode. Empty means a new one; an agent
	// that is made again with the same session continues it.
	Session string `json:"session,omitempty"`
	// Node is the node of a fleet on which the agent joined: it has the folder, so the agent
	// works there. The registry sets it.
	Node string `json:"node,omitempty"`
	// Topics are those that the agent has subscribed to.
	Topics []string `json:"topics,omitempty"`
	// ReportsTo is the agent's lead in a hierarchy; empty means that it has none.
	ReportsTo string `json:"reports_to,omitempty"`
	// Restart says what happens when the agent fails.
	Restart Restart `json:"restart,omitzero"`
}

// ignoredCredentials are keys that other systems use, and that agents do without.
var ignoredCredentials = []string{"api_key", "auth_token", "base_url"}

// names are what members may be called: one word, that is not taken for a flag, a topic
// or punctuation of a sentence.
var names = lazyregexp.New(`^[\pL\pN](?:[\pL\pN._-]*[\pL\pN])?$`)

// maxName is how many characters a name may have. The pattern does not count them: it
// would take a hundred kilobytes in every process.
const maxName = 64

func isName(s string) bool { return utf8.RuneCountInString(s) <= maxName && names.MatchString(s) }

// checkName rejects names that cannot be addressed.
func checkName(name string) error {
	switch {
	case !isName(name):
		return terret.Invalid("name", "%q cannot be a name: use up to %d letters, digits, dots, dashes and underscores", name, maxName)
	case strings.EqualFold(name, All), name == busName:
		return terret.Invalid("name", "%q is taken", name)
	}
	return nil
}

// busName is the sender of what the bus itself says.
const busName = "bus"

// Mode is the agent's mode.
func (c Config) Mode() string {
	if mode, ok := c.Credentials["mode"].(string); ok && mode != "" {
		return mode
	}
	return ModeQuery
}

// Lasting returns the config in client mode unless it says another: what a member that is
// there to stay should have. The provider [SDK] and credentials are words of a document in
// which query is the default, so configs with them keep that.
func (c Config) Lasting() Config {
	if c.Type != SDK && len(c.Credentials) == 0 {
		c.Credentials = map[string]any{"mode": ModeClient}
	}
	return c
}

// Validate rejects what no provider could use.
func (c Config) Validate() error {
	if err := checkName(c.Name); err != nil {
		return err
	}
	if c.Type == "" {
		return terret.Invalid("agent_type", "say which agent it is, such as sdk")
	}
	for key, value := range c.Credentials {
		switch {
		case key == "mode":
			if value != ModeQuery && value != ModeClient {
				return terret.Invalid("credentials.mode", "%q is not a mode; use query or client", value)
			}
		case !slices.Contains(ignoredCredentials, key) && !slices.Contains(passedOn, key):
			return terret.Invalid("credentials."+key, "there is no such option; use mode, mcp_servers, agents or hooks")
		}
	}
	if err := c.passOn(&terret.SessionOptions{}); err != nil {
		return err
	}
	if c.Session != "" && !terret.ValidID("", c.Session) {
		return terret.Invalid("session", "%q is not a session id", c.Session)
	}
	for _, t := range c.Topics {
		if !isName(t) {
			return terret.Invalid("topics", "%q cannot be a topic: use letters, digits, dots, dashes and underscores", t)
		}
	}
	return c.Restart.Validate()
}

// passedOn are the credentials that become options of the agent's sessions.
var passedOn = []string{"mcp_servers", "agents", "hooks"}

// passOn puts what the credentials say into the options of a session.
func (c Config) passOn(o *terret.SessionOptions) (err error) {
	object := func(key string) (map[string]any, error) {
		value, given := c.Credentials[key]
		list, ok := value.(map[string]any)
		if given && !ok {
			return nil, terret.Invalid("credentials."+key, "it must be an object, with a name for each")
		}
		return list, nil
	}
	servers, err := object("mcp_servers")
	if err != nil {
		return err
	}
	for name, server := range servers {
		for _, key := range []string{"env", "headers"} { // a config is in the log, where secrets must not be
			if s, ok := server.(map[string]any); ok && s[key] != nil {
				return terret.Invalid("credentials.mcp_servers."+name+"."+key, "it would be in the team's log, and often holds keys; let the server read them from a file or its own environment")
			}
		}
	}
	if len(servers) > 0 {
		if o.MCP, err = json.Marshal(map[string]any{"mcpServers": servers}); err != nil {
			return terret.Invalid("credentials.mcp_servers", "%w", err)
		}
	}
	subagents, err := object("agents")
	if err != nil {
		return err
	}
	if len(subagents) > 0 {
		if o.Agents, err = json.Marshal(subagents); err != nil {
			return terret.Invalid("credentials.agents", "%w", err)
		}
	}
	hooks, ok := c.Credentials["hooks"].([]any)
	if c.Credentials["hooks"] != nil && !ok {
		return terret.Invalid("credentials.hooks", "it must be a list of gates, such as pre_tool")
	}
	for _, hook := range hooks {
		name, _ := hook.(string)
		switch gate := terret.Gate(name); gate {
		case terret.GatePreTool, terret.GatePrompt, terret.GateStop, terret.GateSubagentStop, terret.GateCompact:
			o.Gates = append(o.Gates, gate)
		default:
			return terret.Invalid("credentials.hooks", "%v is not a gate; use pre_tool, prompt, stop, subagent_stop or compact", hook)
		}
	}
	return nil
}

// withoutSecrets is the config as it may be stored: without the credentials that agents
// do not use.
func (c Config) withoutSecrets() Config {
	c.Credentials = maps.Clone(c.Credentials)
	for _, key := range ignoredCredentials {
		delete(c.Credentials, key)
	}
	return c
}

// session is the session that the config asks for, with an agent of that driver.
func (c Config) session(d terret.Driver) (terret.Session, error) {
	cwd := c.Cwd
	if cwd == "" {
		var err error
		if cwd, err = os.Getwd(); err != nil {
			return terret.Session{}, terret.Invalid("cwd", "%w", err)
		}
	}
	sources := c.SettingSources
	if sources == nil {
		sources = []string{} // explicitly none
	}
	approved := c.AllowedTools
	mode, policy := permissions(c.PermissionMode, terret.DescriptionOf(d).Modes)
	if c.Careful {
		mode, policy, approved = "", terret.PolicyAsk, nil
	}
	options := terret.SessionOptions{
		Tools: c.AllowedTools, AutoApproveTools: approved, SettingSources: sources, SystemAppend: c.Instructions, MaxCostUSD: c.MaxCostUSD,
	}
	if err := c.passOn(&options); err != nil {
		return terret.Session{}, err
	}
	return terret.Session{
		Agent: d.Name(), Title: cmp.Or(c.Title, c.Name), Cwd: cwd, Model: c.Model, Policy: policy, PermissionMode: mode, Options: options,
	}, nil
}

// acceptEdits is the permission mode of agents that have none of their own choice.
const acceptEdits = "acceptEdits"

// permissions are the agent's own mode and the policy that belongs to it. An agent that
// has no mode acceptEdits is held to the policy alone.
func permissions(mode string, modes map[string]terret.Policy) (string, terret.Policy) {
	if mode == "" {
		if _, ok := modes[acceptEdits]; ok {
			mode = acceptEdits
		}
		return mode, terret.PolicyAcceptEdits
	}
	if policy, ok := modes[mode]; ok {
		return mode, policy
	}
	return mode, terret.PolicyAsk
}
