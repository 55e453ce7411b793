package checkpoint

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/terret-dev/terret/internal/gitcmd"
)

// Limits bound what a snapshot may cost. A zero field means its default.
type Limits struct {
	// MaxFiles bounds the files of the folder; default 200,000.
	MaxFiles int
	// MaxBytes bounds the bytes that one snapshot has to read: the whole folder for the
	// first one, changed files for the others. Default 1 GiB.
	MaxBytes int64
	// MaxFileBytes bounds one file; larger files are left out of snapshots.
	// Default 64 MiB.
	MaxFileBytes int64
	// Timeout bounds one snapshot, including the wait for other sessions. Default 30 s.
	Timeout time.Duration
}

func (l Limits) withDefaults() Limits {
	if l.MaxFiles == 0 {
		l.MaxFiles = 200_000
	}
	if l.MaxBytes == 0 {
		l.MaxBytes = 1 << 30
	}
	if l.MaxFileBytes == 0 {
		l.MaxFileBytes = 64 << 20
	}
	if l.Timeout == 0 {
		l.Timeout = 30 * time.Second
	}
	return l
}

// Repo is the shadow repository of one folder. It is safe for concurrent use, even by
// several Repos and several processes on the same folder: snapshots and restores take
// turns. It holds no open files and needs no closing.
type Repo struct {
	dir     string // the folder, real path
	shadow  string // the git directory
	exclude string // gitignore pattern of Terret's home when it is inside dir, else ""
	bin     string // the git program
	lim     Limits
	conf    []string // git configuration that depends on the platform, key=value

	mu    sync.Mutex
	off   *DisabledError // set once a limit was hit
	since time.Time      // when
	known known

	names  int           // lookLimit, except in tests
	settle time.Duration // settledAfter, except in tests

	fault func(path string) error // for tests: fails the change of a path
}

// known is what the last snapshot of this Repo left behind, to make an unchanged one
// cheap.
type known struct {
	index  fs.FileInfo // the index file that tree was written from
	tree   string
	meta   []byte // content of the object metaID
	metaID string
	seen   seen
}

// Open returns the shadow repository of the folder dir. It is kept in
// home/checkpoints, in a folder named for the real path of dir, and is made if
// it does not exist; nothing is created inside dir. home is Terret's home and
// may lie inside dir: it is never part of a snapshot.
//
// The error is a *DisabledError when undo cannot work for this folder: git is
// missing or too old, or dir is a file system root, the user's home folder, a
// folder around it, or Terret's home. Limits are checked by Snapshot.
//
// ctx bounds the call.
func Open(ctx context.Context, home, dir string, lim Limits) (*Repo, error) {
	real, err := realDir(dir)
	if err != nil {
		return nil, fmt.Errorf("open checkpoints of %s: %w", dir, err)
	}
	if reason := unsuitable(real); reason != "" {
		return nil, &DisabledError{Dir: real, Reason: reason}
	}
	bin, reason, err := gitcmd.Find(ctx)
	if err != nil {
		return nil, fmt.Errorf("open checkpoints of %s: %w", dir, err)
	}
	if reason != "" {
		return nil, &DisabledError{Dir: real, Reason: reason}
	}
	// The name holds no part of the path: a folder's name may be secret or odd.
	sum := sha256.Sum256([]byte(real))
	shadow := filepath.Join(home, "checkpoints", hex.EncodeToString(sum[:16]))
	if err := os.MkdirAll(shadow, 0o700); err != nil {
		return nil, fmt.Errorf("open checkpoints of %s: %w", dir, err)
	}
	if home, err = realDir(home); err != nil {
		return nil, fmt.Errorf("open checkpoints of %s: %w", dir, err)
	}
	shadow = filepath.Join(home, "checkpoints", filepath.Base(shadow))
	if real == home || inside(filepath.Join(home, "checkpoints"), real) {
		return nil, &DisabledError{Dir: real, Reason: "it is where Terret keeps its own data"}
	}
	r := &Repo{
		dir: real, shadow: shadow, bin: bin, lim: lim.withDefaults(), conf: platformConfig(real),
		names: lookLimit, settle: settledAfter,
	}
	if rel, err := filepath.Rel(real, home); err == nil && inside(real, home) {
		r.exclude = "/" + escapePattern(filepath.ToSlash(rel)) + "/"
	}
	return r, nil
}

// offFor is how long undo is off after a limit was hit: then somebody may have cleaned up,
// or the machine may be less busy.
const offFor = 5 * time.Minute

// disabled returns the reason why undo is off, or nil. A snapshot that hits a limit
// turns undo off for a while, so that a folder that is too large does not cost its limit
// at every turn.
func (r *Repo) disabled() *DisabledError {
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Since(r.since) >= offFor {
		r.off = nil
	}
	return r.off
}

// disable turns undo off and returns the error that says so.
func (r *Repo) disable(reason string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.off, r.since = &DisabledError{Dir: r.dir, Reason: reason}, time.Now()
	return r.off
}

// realDir resolves dir to an absolute path without symbolic links.
func realDir(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(real)
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		return "", fmt.Errorf("%s is not a folder", real)
	}
	return real, nil
}

// unsuitable says why a folder is never snapshotted, or "".
func unsuitable(real string) string {
	if filepath.Dir(real) == real {
		return "it is the root of a file system; start in a project folder"
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	if home, err = filepath.EvalSymlinks(home); err != nil {
		return ""
	}
	switch {
	case real == home:
		return "it is the home folder; start in a project folder"
	case inside(real, home):
		return "it holds the home folder; start in a project folder"
	}
	return ""
}

// inside reports whether path is dir or below it. Both are absolute and clean.
func inside(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// platformConfig returns the git settings that follow from the platform and
// the file system of dir. git init would probe the file system of the shadow
// repository, which may be another one.
func platformConfig(dir string) []string {
	conf := []string{"core.fileMode=true", "core.symlinks=true", "core.protectNTFS=false", "core.ignoreCase=false"}
	if runtime.GOOS == "windows" {
		conf = []string{"core.fileMode=false", "core.symlinks=true", "core.protectNTFS=true", "core.ignoreCase=true", "core.longPaths=true"}
	}
	if runtime.GOOS == "darwin" && foldsCase(dir) {
		conf = append(conf, "core.ignoreCase=true")
	}
	return append(conf, "core.precomposeUnicode=false") // names are bytes
}

// foldsCase reports whether the file system holds dir under another spelling
// too. It writes nothing.
func foldsCase(dir string) bool {
	swapped := strings.Map(func(c rune) rune {
		if unicode.IsUpper(c) {
			return unicode.ToLower(c)
		}
		return unicode.ToUpper(c)
	}, filepath.Base(dir))
	if swapped == filepath.Base(dir) {
		return true // no letters to tell by; folding is the default of macOS
	}
	a, errA := os.Stat(dir)
	b, errB := os.Stat(filepath.Join(filepath.Dir(dir), swapped))
	return errors.Join(errA, errB) == nil && os.SameFile(a, b)
}
