// Package document keeps a small JSON document that several processes change: in a file of
// the data folder that only its owner may read, or in the database of a fleet.
package document

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/files"
)

// Shared keeps documents that all nodes of a fleet see; see terret.Fleet.
type Shared interface {
	Document(ctx context.Context, name string) ([]byte, error)
	ChangeDocument(ctx context.Context, name string, fn func(old []byte) ([]byte, error)) error
}

// Document is where one is kept. It is safe for concurrent use.
type Document struct {
	Name   string // of the file, without .json, and with the fleet
	What   string // it holds, for errors
	Home   string // the data folder
	Shared Shared // nil: it is a file in Home
}

// lockPatience is how long to wait for another process that changes the file.
const lockPatience = 10 * time.Second

// Path is that of the file.
func (d Document) Path() string { return filepath.Join(d.Home, d.Name+".json") }

// Read returns the document; nil if there is none.
func (d Document) Read(ctx context.Context) ([]byte, error) {
	if d.Shared != nil {
		return d.Shared.Document(ctx, d.Name)
	}
	if d.Home == "" {
		return nil, nil
	}
	text, err := os.ReadFile(d.Path())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, terret.Errorf(terret.CodeStartupRefused, "cannot read %s: %w", d.What, err)
	}
	return text, nil
}

// Change replaces the document by what fn makes of it, with nobody in between. The function
// may be called several times.
func (d Document) Change(ctx context.Context, fn func(old []byte) ([]byte, error)) error {
	if d.Shared != nil {
		return d.Shared.ChangeDocument(ctx, d.Name, fn)
	}
	if d.Home == "" {
		return terret.Errorf(terret.CodeInternal, "there is no data folder to keep %s in", d.What)
	}
	ctx, cancel := context.WithTimeout(ctx, lockPatience)
	defer cancel()
	lock, err := files.OpenLocked(ctx, filepath.Join(d.Home, d.Name+".lock"))
	if err != nil {
		return terret.Errorf(terret.CodeConflict, "cannot lock %s: %w; another terret may be changing it: try again", d.Path(), err)
	}
	defer lock.Close()
	old, err := d.Read(ctx)
	if err != nil {
		return err
	}
	text, err := fn(old)
	if err != nil {
		return err
	}
	if err := files.Write(d.Path(), text); err != nil {
		return terret.Errorf(terret.CodeInternal, "cannot store %s: %w", d.What, err)
	}
	return nil
}
