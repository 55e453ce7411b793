// Package all knows every driver: it is the one place that lists them.
package all

import (
	"context"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/acp"
	"github.com/terret-dev/terret/driver/claude"
	"github.com/terret-dev/terret/driver/codex"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/driver/native"
	"github.com/terret-dev/terret/driver/opencode"
	"github.com/terret-dev/terret/driver/pi"
)

// Config says how to make the drivers.
type Config struct {
	// Env is the environment in which agents and keys are looked up; nil means the
	// process's own.
	Env []string
	// ProductName replaces "Terret" in the native agent's base prompt.
	ProductName string
	// Agents says how to start agents that are programs, by name.
	Agents map[string]Agent
	// Providers are further APIs with models for the native agent.
	Providers map[string]native.Provider
	// MoreProviders, if set, are further ones that may come and go.
	MoreProviders func() map[string]native.Provider
	// UserDir, if set, is a folder with commands of the user's for the native agent.
	UserDir string
	// Key looks up keys of models' APIs that are not in Env, by the name of the provider;
	// nil means that there are none.
	Key func(provider string) (string, error)
	// MCPTokens keep the sign-ins at the native agent's MCP servers; nil means that there are
	// none.
	MCPTokens native.TokenStore
	// Prices, if set, is a file with prices of models for the native agent.
	Prices string
	// SandboxHelper and Home are for the native agent's sandboxes; see native.Config.
	SandboxHelper []string
	Home          string
	// MockScript, if set, is the script file of the agent "mock".
	MockScript string
}

// Agent says how to start an agent. The zero value takes it from PATH.
type Agent struct {
	Path string   // a name to look up in PATH, or a path
	Env  []string // further variables it may see; NAME* matches a prefix, * all that do not look secret
	Args []string // additional arguments of every process
	// ACP says that the program speaks the Agent Client Protocol. Then the name may be
	// one that Terret does not know.
	ACP bool
}

// Drivers makes all drivers, in the order in which one is chosen if none is named.
func Drivers(c Config) ([]terret.Driver, error) {
	if c.Env == nil {
		c.Env = os.Environ()
	}
	one := func(name string) Agent { return c.Agents[name] }
	drivers := []terret.Driver{
		claude.New(claude.Config{Path: one(claude.Name).Path, Args: one(claude.Name).Args, Env: one(claude.Name).Env, Environ: c.Env}),
		opencode.New(opencode.Config{Path: one(opencode.Name).Path, Args: one(opencode.Name).Args, Env: one(opencode.Name).Env, Environ: c.Env}),
		codex.New(codex.Config{Path: one(codex.Name).Path, Args: one(codex.Name).Args, Env: one(codex.Name).Env, Environ: c.Env}),
	}
	for _, p := range acp.Profiles() {
		drivers = append(drivers, speaksACP(p, c))
	}
	drivers = append(drivers, pi.New(pi.Config{Path: one(pi.Name).Path, Args: one(pi.Name).Args, Env: one(pi.Name).Env, Environ: c.Env}))
	others, err := added(c, drivers)
	if err != nil {
		return nil, err
	}
	drivers = append(drivers, others...)
	drivers = append(drivers, native.New(native.Config{
		ProductName: c.ProductName, Getenv: lookup(c.Env), Env: one(native.Name).Env, Providers: c.Providers, MoreProviders: c.MoreProviders, Key: c.Key, MCPTokens: c.MCPTokens, Prices: c.Prices,
		UserDir: c.UserDir, SandboxHelper: c.SandboxHelper, Home: c.Home,
	}))
	if c.MockScript != "" {
		script, err := mock.Load(c.MockScript)
		if err != nil {
			return nil, terret.Errorf(terret.CodeInvalidRequest, "%w", err)
		}
		drivers = append(drivers, mock.New(script))
	}
	return drivers, nil
}

// ProjectFiles lists what the agents that Terret knows take orders from in a project's
// folder, however they are configured.
func ProjectFiles() []terret.ProjectFile {
	drivers, err := Drivers(Config{Env: []string{}})
	if err != nil {
		panic(err) // nothing is configured that could be wrong
	}
	return terret.ProjectFiles(drivers)
}

// speaksACP makes the driver of a program that speaks ACP.
func speaksACP(p acp.Profile, c Config) terret.Driver {
	one := c.Agents[p.Name]
	return acp.New(p, acp.Config{Path: one.Path, Args: one.Args, Env: one.Env, Environ: c.Env})
}

// added makes the drivers of the programs that the configuration adds, and refuses
// names that nobody knows. Those before are known.
func added(c Config, before []terret.Driver) ([]terret.Driver, error) {
	var out []terret.Driver
	for _, name := range slices.Sorted(maps.Keys(c.Agents)) {
		if slices.ContainsFunc(before, func(d terret.Driver) bool { return d.Name() == name }) {
			continue
		}
		d, err := Add(c, before, name)
		if err != nil {
			return nil, err
		}
		out = append(out, d)
	}
	return out, nil
}

// Add makes the driver of a program that c.Agents adds under that name. It refuses one
// that does not speak ACP, and the names and aliases of the drivers before.
func Add(c Config, before []terret.Driver, name string) (terret.Driver, error) {
	one := c.Agents[name]
	switch {
	case name == native.Name || name == mockName || terret.AgentName(before, name) != name:
		return nil, terret.Invalid("agents."+name, "there is an agent of that name already; choose another name")
	case !one.ACP:
		var names []string
		for _, d := range before {
			names = append(names, d.Name())
		}
		return nil, terret.Invalid("agents."+name, "there is no agent of that name that is a program; there are %s; a program that speaks ACP is added with \"acp\": true",
			strings.Join(names, ", "))
	case one.Path == "":
		return nil, terret.Invalid("agents."+name+".path", "it must name the program")
	}
	return speaksACP(acp.Profile{Name: name, Argv: []string{one.Path}}, c), nil
}

// mockName is the agent that follows a script.
const mockName = "mock"

// lookup finds variables; as in a shell, the last one of a name counts.
func lookup(environ []string) func(string) string {
	return func(name string) string {
		for _, entry := range slices.Backward(environ) {
			if v, ok := strings.CutPrefix(entry, name+"="); ok {
				return v
			}
		}
		return ""
	}
}

// Watcher is a driver of sessions that people run in terminals of their own. What happens
// there is reported to it.
type Watcher interface {
	terret.Driver
	Report(ctx context.Context, session string, input []byte) (answer []byte, err error)
}

// Watchers makes those drivers, by the name of the agent that runs.
func Watchers() map[string]Watcher {
	out := map[string]Watcher{}
	for agent, w := range claude.NewWatched() {
		out[agent] = w
	}
	return out
}
