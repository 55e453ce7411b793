package setup

import (
	"context"
	"errors"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/native"
	"github.com/terret-dev/terret/internal/server/assemble"
	"github.com/terret-dev/terret/internal/server/config"
)

// Provider is an API with models for the native agent.
type Provider struct {
	native.ProviderState
	// Added says that the user's file has it, from which it can be removed.
	Added bool `json:"added,omitempty"`
}

// Providers lists all providers that there are now.
func (s *Setup) Providers() ([]Provider, error) {
	user, err := config.User(s.o.UserFile, s.o.Environ)
	if err != nil {
		return nil, assemble.FileError(err)
	}
	out := []Provider{}
	for _, p := range s.native.Providers() {
		_, added := user.Providers[p.Name]
		out = append(out, Provider{p, added})
	}
	return out, nil
}

// NewProvider is a provider to add.
type NewProvider struct {
	Name, BaseURL, API string
	KeyEnv             string // the variable that holds its key; empty means that it needs none
}

// AddProvider adds a provider to the user's file. The native agent has its models at once,
// in every process.
func (s *Setup) AddProvider(ctx context.Context, n NewProvider) (Provider, error) {
	if err := checkName(n.Name); err != nil {
		return Provider{}, err
	}
	if s.o.UserFile == "" {
		return Provider{}, errNoFile()
	}
	if n.BaseURL == "" {
		return Provider{}, terret.Invalid("base_url", "say at which address its API is")
	}
	switch err := config.AddProvider(ctx, s.o.UserFile, n.Name, config.Provider{BaseURL: n.BaseURL, API: n.API, KeyEnv: n.KeyEnv}, s.o.Environ); {
	case errors.Is(err, config.ErrExists):
		return Provider{}, terret.Errorf(terret.CodeConflict, "the configuration has a provider %s already; remove it first, or choose another name", n.Name)
	case err != nil:
		return Provider{}, assemble.FileError(err)
	}
	s.o.Agents.Look()
	s.o.Agents.Forget(native.Name)
	all, err := s.Providers()
	if err != nil {
		return Provider{}, err
	}
	for _, p := range all {
		if p.Name == n.Name {
			return p, nil
		}
	}
	return Provider{}, terret.Errorf(terret.CodeConflict, "the provider %s was removed again", n.Name)
}

func errNoFile() error {
	return terret.Errorf(terret.CodeUnsupported, "there is no home folder to keep a configuration in; set TERRET_HOME")
}

// RemoveProvider removes a provider from the user's file. A key that is kept for it stays.
func (s *Setup) RemoveProvider(ctx context.Context, name string) error {
	if s.o.UserFile == "" {
		return errNoFile()
	}
	removed, err := config.RemoveProvider(ctx, s.o.UserFile, name, s.o.Environ)
	switch {
	case err != nil:
		return assemble.FileError(err)
	case !removed:
		return terret.Errorf(terret.CodeNotFound, "your configuration has no provider %.64q; those that are built in, or that the project's configuration adds, cannot be removed", name)
	}
	s.o.Agents.Look()
	s.o.Agents.Forget(native.Name)
	return nil
}

// Models asks a provider which models it has.
func (s *Setup) Models(ctx context.Context, provider string) ([]terret.Model, error) {
	return s.native.ModelsOf(ctx, provider)
}
