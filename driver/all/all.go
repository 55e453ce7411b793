// Package all knows every driver: it is the one place that lists them.
package all

import (
	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/claude"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/driver/native"
)

// Config says how to make the drivers.
type Config struct {
	// Getenv looks up settings and keys; nil means the process's environment.
	Getenv func(string) string
	// ProductName replaces "Terret" in the native agent's base prompt.
	ProductName string
	// Claude says how Claude Code is started.
	Claude claude.Config
	// MockScript, if set, is the file of the script that the agent "mock" follows.
	MockScript string
}

// Drivers makes all drivers, in the order in which an agent is chosen when none is
// named.
func Drivers(c Config) ([]terret.Driver, error) {
	drivers := []terret.Driver{claude.New(c.Claude), native.New(native.Config{ProductName: c.ProductName, Getenv: c.Getenv})}
	if c.MockScript != "" {
		script, err := mock.Load(c.MockScript)
		if err != nil {
			return nil, terret.Errorf(terret.CodeInvalidRequest, "%w", err)
		}
		drivers = append(drivers, mock.New(script))
	}
	return drivers, nil
}
