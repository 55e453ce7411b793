package trust

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/terret-dev/terret/internal/gitcmd"
)

// hooks adds the programs that git runs by itself in the repository whose top is dir. All its
// worktrees share them.
func (w *walk) hooks(dir string) {
	repository, ok := gitcmd.At(dir)
	if !ok {
		return
	}
	folder := filepath.Join(repository.Common, "hooks")
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) || len(entries) > maxFolder {
		w.problem(w.prefix+".git/hooks", "cannot be inspected")
		return
	}
	for _, e := range entries {
		file, name := filepath.Join(folder, e.Name()), ".git/hooks/"+e.Name()
		info, err := os.Stat(file) // git follows links
		runs := err == nil && info.Mode().IsRegular() && (runtime.GOOS == "windows" || info.Mode()&0o111 != 0)
		if !runs || strings.HasSuffix(e.Name(), ".sample") {
			continue
		}
		content := gitcmd.ReadRegular(file, maxFile+1)
		if w.total += int64(len(content)); len(content) > maxFile || w.total > maxTotal {
			w.problem(w.prefix+name, "is too large to inspect")
			return
		}
		w.add(name, "a program that git runs", content)
	}
}
