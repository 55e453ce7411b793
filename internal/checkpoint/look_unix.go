//go:build linux || darwin

package checkpoint

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/terret-dev/terret/internal/gitcmd"
)

// looker looks at a folder.
type looker struct {
	sum     hash.Hash
	buf     []byte
	ignored map[string]bool
	home    string    // Terret's own, which may be in the folder
	names   int       // that it may still read
	newest  time.Time // the last change of a file
}

// look looks at the folder, but not into the ignored folders. It returns nil if that
// does not tell whether the folder has changed.
func (r *Repo) look(ignored map[string]bool) *sight {
	l := &looker{sum: sha256.New(), names: r.names, ignored: ignored, home: filepath.Dir(filepath.Dir(r.shadow))}
	began := time.Now()
	l.text(string(r.rules(nil)))
	l.number(int64(r.usualPerm()))
	top := enclosing(r.dir)
	if top == "" {
		top = r.dir
	}
	if user, ok := gitcmd.At(top); ok { // it may track what is ignored
		l.file(user.Index())
	}
	if !l.folder(r.dir, "") {
		return nil
	}
	s := &sight{settled: began.Sub(l.newest) > r.settle}
	l.sum.Sum(s.sum[:0])
	return s
}

// folder looks at a folder, and reports whether a look is enough.
func (l *looker) folder(path, rel string) bool {
	list, err := os.ReadDir(path)
	if err != nil {
		return false
	}
	if l.names -= len(list); l.names < 0 {
		return false
	}
	l.number(int64(len(list)))
	for _, e := range list {
		name := e.Name()
		below := filepath.Join(path, name)
		l.text(name)
		l.number(int64(e.Type()))
		switch {
		case name == ".git":
			if rel != "" {
				return false // a repository in the folder, which git sees its own way
			}
		case name == ".gitignore" && !e.Type().IsRegular():
			return false // it may be about another file
		case below == l.home || l.ignored[filepath.ToSlash(rel+name)]:
		case e.IsDir():
			if !l.folder(below, rel+name+string(filepath.Separator)) {
				return false
			}
		default:
			l.file(below)
		}
	}
	return true
}

// file looks at a file. A missing one looks like nothing else.
func (l *looker) file(path string) {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		l.number(-1)
		return
	}
	changed := time.Unix(st.Ctim.Unix())
	if changed.After(l.newest) {
		l.newest = changed
	}
	l.number(int64(st.Ino), int64(st.Dev), int64(st.Mode), st.Size, st.Mtim.Nano(), changed.UnixNano()) // their types differ between systems
}

func (l *looker) number(numbers ...int64) {
	l.buf = l.buf[:0]
	for _, n := range numbers {
		l.buf = binary.LittleEndian.AppendUint64(l.buf, uint64(n)) // only its bits count
	}
	l.sum.Write(l.buf)
}

func (l *looker) text(s string) {
	l.number(int64(len(s)))
	l.buf = append(l.buf[:0], s...)
	l.sum.Write(l.buf)
}
