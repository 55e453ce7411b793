package client

import (
	"context"

	"github.com/terret-dev/terret"
)

// KeptSecret says that a secret is kept, and where: in the keyring, or in a file.
type KeptSecret struct {
	Name  string `json:"name"`
	Where string `json:"where"`
}

// Keys lists the names of the keys of models' APIs that are kept on the server's machine.
func (c *Client) Keys(ctx context.Context) ([]KeptSecret, error) {
	return items[KeptSecret](ctx, c, call{method: "GET", path: at("keys")})
}

// AddKey keeps the key of a provider, which nobody can read afterwards.
func (c *Client) AddKey(ctx context.Context, provider, key string) (KeptSecret, error) {
	return do[KeptSecret](ctx, c, call{method: "POST", path: at("keys"), body: map[string]string{"name": provider, "key": key}})
}

// RemoveKey forgets the key of a provider.
func (c *Client) RemoveKey(ctx context.Context, provider string) error {
	_, err := do[struct{}](ctx, c, call{method: "DELETE", path: at("keys", provider)})
	return err
}

// Provider is an API with models for the native agent.
type Provider struct {
	Name    string   `json:"name"`
	Title   string   `json:"title"`
	BaseURL string   `json:"base_url"`
	API     string   `json:"api"`
	KeyEnv  []string `json:"key_env"` // variables, of which one may hold its key
	Key     string   `json:"key"`     // not needed, variable, kept, missing or unreadable
	Model   string   `json:"model,omitempty"`
	Added   bool     `json:"added,omitempty"` // by the user, who can remove it
}

// NewProvider is a server with models to add.
type NewProvider struct {
	Name    string `json:"name"`
	BaseURL string `json:"base_url"`
	API     string `json:"api,omitempty"`     // chat, responses, anthropic or gemini
	KeyEnv  string `json:"key_env,omitempty"` // the variable that holds its key; empty means that it needs none
}

// Providers lists the APIs that the native agent has models of.
func (c *Client) Providers(ctx context.Context) ([]Provider, error) {
	return items[Provider](ctx, c, call{method: "GET", path: at("providers")})
}

// AddProvider adds a server with models to the configuration.
func (c *Client) AddProvider(ctx context.Context, n NewProvider) (Provider, error) {
	return do[Provider](ctx, c, call{method: "POST", path: at("providers"), body: n})
}

// RemoveProvider removes a server with models from the configuration.
func (c *Client) RemoveProvider(ctx context.Context, name string) error {
	_, err := do[struct{}](ctx, c, call{method: "DELETE", path: at("providers", name)})
	return err
}

// ProviderModels asks a provider which models it has.
func (c *Client) ProviderModels(ctx context.Context, name string) ([]terret.Model, error) {
	return items[terret.Model](ctx, c, call{method: "GET", path: at("providers", name, "models")})
}

// Configuration is the user's configuration file, and what all places together say.
type Configuration struct {
	Path     string        `json:"path"`
	There    bool          `json:"there"`
	Text     string        `json:"text"`
	Hash     string        `json:"hash"` // for PutConfig
	Hidden   int           `json:"hidden,omitempty"`
	Faults   []ConfigFault `json:"faults,omitempty"`
	Settings []Setting     `json:"settings"`
	Restart  []string      `json:"restart,omitempty"`
}

// ConfigFault is something wrong in the text of a configuration.
type ConfigFault struct {
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Message string `json:"message"`
}

// Setting is a key of the configuration with its value on the server.
type Setting struct {
	Key      string   `json:"key"`
	Value    string   `json:"value"`
	From     string   `json:"from"`
	About    string   `json:"about,omitempty"`
	Variable string   `json:"variable,omitempty"`
	Words    []string `json:"words,omitempty"`
	Restart  bool     `json:"restart,omitempty"`
}

// Config returns the configuration of the server. Secrets are not in it.
func (c *Client) Config(ctx context.Context) (Configuration, error) {
	return do[Configuration](ctx, c, call{method: "GET", path: at("config")})
}

// CheckConfig returns what is wrong in a text for the user's configuration file.
func (c *Client) CheckConfig(ctx context.Context, text string) ([]ConfigFault, error) {
	found, err := do[struct {
		Faults []ConfigFault `json:"faults"`
	}](ctx, c, call{method: "POST", path: at("config", "check"), body: map[string]string{"text": text}})
	return found.Faults, err
}

// PutConfig replaces the text of the user's configuration file, if nobody has changed it
// since it had the hash.
func (c *Client) PutConfig(ctx context.Context, text, hash string) (Configuration, error) {
	return do[Configuration](ctx, c, call{method: "PUT", path: at("config"), body: map[string]string{"text": text, "hash": hash}})
}

// Installer is the command that installs an agent's program.
type Installer struct {
	Agent   string `json:"agent"`
	Title   string `json:"title"`
	Command string `json:"command"`
	Runs    bool   `json:"runs"` // the server can run it
	Missing string `json:"missing,omitempty"`
}

// Installation is one that runs, or the last one that ran.
type Installation struct {
	Agent   string        `json:"agent"`
	Command string        `json:"command"`
	By      string        `json:"by"`
	BeganAt terret.Time   `json:"began_at"`
	State   string        `json:"state"` // running, done, failed or cancelled
	Why     string        `json:"why,omitempty"`
	Probe   *terret.Probe `json:"probe,omitempty"` // what is known of the agent since it has ended
}

// Installers lists the commands that install agents.
func (c *Client) Installers(ctx context.Context) ([]Installer, error) {
	return items[Installer](ctx, c, call{method: "GET", path: at("installers")})
}

// InstallAgent begins to install an agent.
func (c *Client) InstallAgent(ctx context.Context, agent string) (Installation, error) {
	return do[Installation](ctx, c, call{method: "POST", path: at("installers", agent)})
}

// Installation returns the installation that runs, or the last one.
func (c *Client) Installation(ctx context.Context) (Installation, error) {
	return do[Installation](ctx, c, call{method: "GET", path: at("installation")})
}

// CancelInstallation ends the installation that runs, and returns how it ended.
func (c *Client) CancelInstallation(ctx context.Context) (Installation, error) {
	return do[Installation](ctx, c, call{method: "DELETE", path: at("installation")})
}

// MCPSignIn is a person's signing in to an MCP server.
type MCPSignIn struct {
	Server string `json:"server"`
	State  string `json:"state"` // waiting, done, not needed, failed or cancelled
	Link   string `json:"link,omitempty"`
	Why    string `json:"why,omitempty"`
}

// MCPSignIns lists the MCP servers that the native agent is signed in to.
func (c *Client) MCPSignIns(ctx context.Context) ([]KeptSecret, error) {
	return items[KeptSecret](ctx, c, call{method: "GET", path: at("mcp", "sign-ins")})
}

// BeginMCPSignIn begins to sign in to the MCP server at an address; a person opens the link.
func (c *Client) BeginMCPSignIn(ctx context.Context, server string) (MCPSignIn, error) {
	return do[MCPSignIn](ctx, c, call{method: "POST", path: at("mcp", "sign-ins"), body: map[string]string{"server": server}})
}

// AnswerMCPSignIn gives the address at which a browser of another machine ended.
func (c *Client) AnswerMCPSignIn(ctx context.Context, address string) (MCPSignIn, error) {
	return do[MCPSignIn](ctx, c, call{method: "POST", path: at("mcp", "sign-in", "answer"), body: map[string]string{"address": address}})
}

// CancelMCPSignIn ends the sign-in that waits.
func (c *Client) CancelMCPSignIn(ctx context.Context) error {
	_, err := do[struct{}](ctx, c, call{method: "DELETE", path: at("mcp", "sign-in")})
	return err
}

// MCPSignOut forgets what an MCP server gave, by the name in the list.
func (c *Client) MCPSignOut(ctx context.Context, name string) error {
	_, err := do[struct{}](ctx, c, call{method: "DELETE", path: at("mcp", "sign-ins", name)})
	return err
}
