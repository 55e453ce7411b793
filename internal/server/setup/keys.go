package setup

import (
	"context"
	"slices"
	"strings"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/native"
	"github.com/terret-dev/terret/internal/server/keys"
)

// Kept says that a secret is kept, and never which.
type Kept struct {
	Name  string `json:"name"`
	Where string `json:"where"` // keyring or file
}

// Keys lists the names of the providers whose keys are kept.
func (s *Setup) Keys() ([]Kept, error) { return listed(s.o.Keys) }

func listed(store *keys.Store) ([]Kept, error) {
	names, inRing, err := store.Names()
	if err != nil {
		return nil, terret.Errorf(terret.CodeStartupRefused, "%w", err)
	}
	out := []Kept{}
	for _, name := range names {
		out = append(out, Kept{name, where(inRing[name])})
	}
	return out, nil
}

func where(inRing bool) string {
	if inRing {
		return "keyring"
	}
	return "file"
}

// AddKey keeps a key, from which nobody can read it but the native agent. One that is there
// is not replaced.
func (s *Setup) AddKey(ctx context.Context, name, key string) (Kept, error) {
	if err := checkName(name); err != nil {
		return Kept{}, err
	}
	s.keeping.Lock()
	defer s.keeping.Unlock()
	names, _, err := s.o.Keys.Names()
	switch {
	case err != nil:
		return Kept{}, terret.Errorf(terret.CodeStartupRefused, "%w", err)
	case slices.Contains(names, name):
		return Kept{}, terret.Errorf(terret.CodeConflict, "a key of %s is kept already; remove it first", name)
	}
	inRing, err := s.o.Keys.Set(ctx, name, key)
	if err != nil {
		return Kept{}, terret.Invalid("key", "%w", err)
	}
	s.o.Agents.Forget(native.Name)
	return Kept{name, where(inRing)}, nil
}

// RemoveKey forgets a key.
func (s *Setup) RemoveKey(ctx context.Context, name string) error {
	found, err := s.o.Keys.Remove(ctx, name)
	switch {
	case err != nil:
		return terret.Errorf(terret.CodeStartupRefused, "%w", err)
	case !found:
		return terret.Errorf(terret.CodeNotFound, "no key of %.64q is kept", name)
	}
	s.o.Agents.Forget(native.Name)
	return nil
}

// getenv looks up variables in an environment; the last one counts.
func getenv(environ []string) func(string) string {
	return func(name string) string {
		for _, entry := range slices.Backward(environ) {
			if value, ok := strings.CutPrefix(entry, name+"="); ok {
				return value
			}
		}
		return ""
	}
}
