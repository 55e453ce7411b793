package trust

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/terret-dev/terret/internal/files"
)

// Decided is the latest decision about a folder. It holds for what was in the folder
// then; [Store.Check] says whether it still does.
type Decided struct {
	Folder   string    `json:"folder"`
	Decision Decision  `json:"decision"`
	By       string    `json:"by"`
	At       time.Time `json:"at"`
}

// List returns the latest decision about each folder, in the order of their paths. The
// folders need not exist any more.
func (s *Store) List() ([]Decided, error) {
	all, err := s.read()
	list := []Decided{}
	for folder, records := range all.Folders {
		if len(records) == 0 {
			continue
		}
		last := records[len(records)-1]
		d := Decided{Folder: folder, Decision: Refused, By: last.By, At: last.At}
		if last.Trusted {
			d.Decision = Trusted
		}
		list = append(list, d)
	}
	slices.SortFunc(list, func(a, b Decided) int { return cmp.Compare(a.Folder, b.Folder) })
	return list, err
}

// Forget removes every decision about a folder, named as List does: nothing in it acts
// until a person decides again. It reports whether there was one.
func (s *Store) Forget(folder string) (bool, error) {
	if all, err := s.read(); err != nil || len(all.Folders[folder]) == 0 {
		return false, err
	}
	lock, err := files.OpenLocked(context.Background(), filepath.Join(s.home, fileName+".lock"))
	if err != nil {
		return false, fmt.Errorf("cannot lock the trust decisions: %w", err)
	}
	defer lock.Close()
	all, err := s.read()
	if err != nil {
		return false, err
	}
	_, known := all.Folders[folder]
	delete(all.Folders, folder)
	return known, s.write(all)
}
