// Package all knows every driver: it is the one place that lists them.
package all

import (
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/claude"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/driver/native"
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
	// MockScript, if set, is the script file of the agent "mock".
	MockScript string
}

// Agent says how to start an agent. The zero value takes it from PATH.
type Agent struct {
	Path string   // a name to look up in PATH, or a path
	Env  []string // variables it may see although their names look secret; NAME* matches a prefix
	Args []string // additional arguments of every process
}

// Drivers makes all drivers, in the order in which one is chosen if none is named.
func Drivers(c Config) ([]terret.Driver, error) {
	if c.Env == nil {
		c.Env = os.Environ()
	}
	for _, name := range slices.Sorted(maps.Keys(c.Agents)) {
		if name != claude.Name {
			return nil, terret.Invalid("agents."+name, "there is no agent of that name that is a program; there is %s", claude.Name)
		}
	}
	one := c.Agents[claude.Name]
	drivers := []terret.Driver{
		claude.New(claude.Config{Path: one.Path, Args: one.Args, Env: one.Env, Environ: c.Env}),
		native.New(native.Config{ProductName: c.ProductName, Getenv: lookup(c.Env)}),
	}
	if c.MockScript != "" {
		script, err := mock.Load(c.MockScript)
		if err != nil {
			return nil, terret.Errorf(terret.CodeInvalidRequest, "%w", err)
		}
		drivers = append(drivers, mock.New(script))
	}
	return drivers, nil
}

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
