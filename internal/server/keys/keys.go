// Package keys keeps the keys of models' APIs for people who do not want them in their
// environment: in the keyring of the operating system or, where there is none, in a file
// that only its owner can read.
package keys

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/zalando/go-keyring"

	"github.com/terret-dev/terret/internal/files"
	"github.com/terret-dev/terret/internal/lazyregexp"
)

const (
	maxKey  = 16 << 10 // bytes
	maxFile = 4 << 20  // bytes
)

// Ring is a keyring.
type Ring interface {
	Get(service, name string) (string, error)
	Set(service, name, key string) error
	Delete(service, name string) error
}

// Store keeps keys by the names of providers. It is safe for concurrent use, also by
// several processes.
type Store struct {
	path    string
	service string // in the keyring
	ring    Ring   // nil if there is none
}

// Open opens the store in a folder, which need not exist. Nothing is read before it is
// needed.
func Open(dir string) *Store { return &Store{filepath.Join(dir, "keys.json"), "terret", system()} }

// OpenMCP opens the store of what MCP servers gave people for signing in, by names of its own.
func OpenMCP(dir string) *Store {
	return &Store{filepath.Join(dir, "mcp-tokens.json"), "terret-mcp", system()}
}

// With is the store with another keyring; nil means none.
func (s *Store) With(r Ring) *Store { return &Store{s.path, s.service, r} }

// entry is a key. It is in the keyring if Ring is set.
type entry struct {
	Ring bool   `json:"ring,omitempty"`
	Key  string `json:"key,omitempty"`
}

var named = lazyregexp.New(`^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,63}$`)

// read returns what the file says. A file that others can read is refused.
func (s *Store) read() (map[string]entry, error) {
	out := map[string]entry{}
	f, err := os.Open(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it is only read
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0:
		return nil, fmt.Errorf("others may read or write %s (mode %04o): make it yours alone with chmod 600, and replace the keys in it", s.path, info.Mode().Perm())
	case info.Size() > maxFile:
		return nil, fmt.Errorf("%s is too large", s.path)
	}
	if err := json.NewDecoder(f).Decode(&out); err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", s.path, err)
	}
	if out == nil { // the file says null
		out = map[string]entry{}
	}
	return out, nil
}

// Get returns the key of a provider, or an empty one if there is none.
func (s *Store) Get(name string) (string, error) {
	all, err := s.read()
	if err != nil {
		return "", err
	}
	e, ok := all[name]
	switch {
	case !ok:
		return "", nil
	case !e.Ring:
		return e.Key, nil
	case s.ring == nil:
		return "", fmt.Errorf("the key of %s is in a keyring that cannot be reached from here", name)
	}
	key, err := s.ring.Get(s.service, name)
	if err != nil {
		return "", fmt.Errorf("the keyring does not give the key of %s: %w", name, err)
	}
	return key, nil
}

// Set keeps a key, and reports whether it is in the keyring.
func (s *Store) Set(ctx context.Context, name, key string) (inRing bool, err error) {
	key = strings.TrimSpace(key)
	switch {
	case !named.MatchString(name):
		return false, fmt.Errorf("%q cannot be the name of a provider", name)
	case key == "" || len(key) > maxKey || strings.ContainsAny(key, "\r\n\x00"):
		return false, errors.New("a key is one line that is not empty")
	}
	if s.ring != nil && s.ring.Set(s.service, name, key) == nil {
		return true, s.change(ctx, func(all map[string]entry) { all[name] = entry{Ring: true} })
	}
	return false, s.change(ctx, func(all map[string]entry) { all[name] = entry{Key: key} })
}

// Lock keeps out others that lock the same name, also in other processes, until the
// returned function is called. Get and Set do not wait for it.
func (s *Store) Lock(ctx context.Context, name string) (unlock func(), err error) {
	if !named.MatchString(name) {
		return nil, fmt.Errorf("%q cannot be the name of a provider", name)
	}
	if err := os.MkdirAll(filepath.Dir(s.path), 0o700); err != nil {
		return nil, err
	}
	lock, err := files.OpenLocked(ctx, s.path+"."+name+".lock")
	if err != nil {
		return nil, err
	}
	return func() { _ = lock.Close() }, nil // that releases it
}

// Remove forgets a key, and reports whether there was one.
func (s *Store) Remove(ctx context.Context, name string) (found bool, err error) {
	err = s.change(ctx, func(all map[string]entry) {
		var e entry
		if e, found = all[name]; e.Ring && s.ring != nil {
			_ = s.ring.Delete(s.service, name) // it may be gone
		}
		delete(all, name)
	})
	return found, err
}

// Names lists the providers that there are keys of, and whether each is in the keyring.
func (s *Store) Names() (names []string, inRing map[string]bool, err error) {
	all, err := s.read()
	if err != nil {
		return nil, nil, err
	}
	inRing = map[string]bool{}
	for name, e := range all {
		inRing[name] = e.Ring
	}
	return slices.Sorted(maps.Keys(all)), inRing, nil
}

// change changes the file. Others wait meanwhile.
func (s *Store) change(ctx context.Context, do func(map[string]entry)) error {
	if err := os.MkdirAll(filepath.Dir(s.path), 0o700); err != nil {
		return err
	}
	lock, err := files.OpenLocked(ctx, s.path+".lock")
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }() // that releases it
	all, err := s.read()
	if err != nil {
		return err
	}
	do(all)
	content, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	return files.Write(s.path, append(content, '\n'))
}

// system is the keyring of the operating system. On Linux there is one only in a desktop
// session: without its bus, the library would start one.
func system() Ring {
	if runtime.GOOS == "linux" && os.Getenv("DBUS_SESSION_BUS_ADDRESS") == "" {
		return nil
	}
	return osRing{}
}

type osRing struct{}

// Get implements Ring.
func (osRing) Get(service, name string) (string, error) { return keyring.Get(service, name) }

// Set implements Ring.
func (osRing) Set(service, name, key string) error { return keyring.Set(service, name, key) }

// Delete implements Ring.
func (osRing) Delete(service, name string) error { return keyring.Delete(service, name) }
