package installation

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/files"
)

// Join makes this process a node of the fleet, which others can ask to do what only this
// machine can. On a single machine it does nothing.
func (h *Harness) Join(ctx context.Context, n terret.Node) error {
	fleet, ok := h.Store.(terret.Fleet)
	if !ok {
		return nil
	}
	if _, err := h.place(); err != nil {
		return err
	}
	return fleet.Join(ctx, h.About(n))
}

// About completes what a node says of itself.
func (h *Harness) About(n terret.Node) terret.Node {
	n.Name = h.Node()
	n.Place, _ = h.place() // Join has said what is wrong
	return n
}

// place is an id of this installation, which is made once.
func (h *Harness) place() (string, error) {
	path := filepath.Join(h.Home, "place")
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		text = []byte(terret.NewID(terret.PrefixWorker))
		if err = os.MkdirAll(h.Home, 0o700); err == nil {
			err = files.Write(path, text)
		}
	}
	if err != nil {
		return "", terret.Errorf(terret.CodeStartupRefused, "cannot keep the id of this installation: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}
