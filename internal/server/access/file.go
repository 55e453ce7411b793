package access

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/files"
)

// File names in the home.
const (
	adminFile = "token"
	listFile  = "tokens.json"
	lockFile  = "tokens.lock"
)

const (
	maxFile      = 4 << 20          // bytes of tokens.json
	lockPatience = 10 * time.Second // how long to wait for other processes
	fileVersion  = 1
)

// stored is an entry of tokens.json.
type stored struct {
	Token
	Hash hash `json:"sha256"`
}

// document is tokens.json.
type document struct {
	Version int      `json:"version"`
	Tokens  []stored `json:"tokens"`
}

// cached is tokens.json as last read.
type cached struct {
	raw  []byte
	list []stored
	err  error // if its content is invalid

	// Of the list of a fleet: when it was read, and how many changes this process had
	// made by then.
	read    time.Time
	changes int64
}

func makeHome(home string) error {
	if !filepath.IsAbs(home) {
		return terret.Errorf(terret.CodeStartupRefused, "the folder for tokens, %q, is not an absolute path", home)
	}
	if err := os.MkdirAll(home, 0o700); err != nil {
		return terret.Errorf(terret.CodeStartupRefused, "cannot create the folder for tokens: %w", err)
	}
	return nil
}

// load returns the tokens. t.mu must be held. The list must not be changed. If the file
// cannot be read, there are no tokens.
func (t *Tokens) load() ([]stored, error) {
	if t.shared != nil && t.file.changes == t.changes.Load() && t.age() < sharedLife {
		return t.file.list, t.file.err
	}
	began, changes := time.Now(), t.changes.Load()
	list, err := t.reload()
	if err == nil {
		t.file.read, t.file.changes = began, changes
	}
	return list, err
}

// loadAfter is load for a list that was read after that time: another node may just have
// made the token that is looked for. t.mu must be held; others have it in the meantime. ctx
// bounds the wait.
func (t *Tokens) loadAfter(ctx context.Context, when time.Time) ([]stored, error) {
	if early := sharedMiss - t.age(); early > 0 {
		t.mu.Unlock()
		select {
		case <-time.After(early):
		case <-ctx.Done():
		}
		t.mu.Lock()
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if !t.file.read.After(when) {
		t.file.read = time.Time{}
	}
	return t.load()
}

// age is how old the list is that was read last. t.mu must be held.
func (t *Tokens) age() time.Duration { return time.Since(t.file.read) }

// reload is load without a memory.
func (t *Tokens) reload() ([]stored, error) {
	path := filepath.Join(t.dir, listFile)
	raw, err := t.read(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		t.file = cached{}
		return nil, nil
	case err != nil:
		return nil, err
	case t.file.raw == nil || !bytes.Equal(raw, t.file.raw):
		t.file = cached{raw: raw}
		t.file.list, t.file.err = parse(path, raw)
	}
	return t.file.list, t.file.err
}

// sharedName is the document that holds the tokens of a fleet, as tokens.json does on a
// single machine.
const sharedName = "tokens"

const (
	sharedPatience = 5 * time.Second // how long the list is waited for
	// sharedLife is for how long a node goes by the list that it has read: so long a token
	// that another node has revoked may still be accepted.
	sharedLife = time.Second
	// sharedMiss is how long a token that is not in the list waits until the list is read
	// again: guessing does not cost the database more than that.
	sharedMiss = 100 * time.Millisecond
)

// read returns the list as it is stored.
func (t *Tokens) read(path string) ([]byte, error) {
	if t.shared == nil {
		return readPrivate(path, maxFile)
	}
	ctx, cancel := context.WithTimeout(context.Background(), sharedPatience)
	defer cancel()
	raw, err := t.shared.Document(ctx, sharedName)
	if err == nil && raw == nil {
		err = fs.ErrNotExist
	}
	return raw, err
}

func parse(path string, raw []byte) ([]stored, error) {
	var doc document
	if err := json.Unmarshal(raw, &doc); err != nil {
		return nil, terret.Errorf(terret.CodeStartupRefused, "%s is damaged (%w); repair it, or remove it and create its tokens again", path, err)
	}
	if doc.Version != fileVersion {
		return nil, terret.Errorf(terret.CodeStartupRefused, "%s has version %d, but this terret supports version %d; use the terret that wrote it", path, doc.Version, fileVersion)
	}
	return doc.Tokens, nil
}

// change replaces the tokens with the result of fn, with no other process in between.
// Expired tokens are dropped.
func (t *Tokens) change(ctx context.Context, fn func([]stored) ([]stored, error)) error {
	if t.shared != nil {
		defer t.changes.Add(1)
		return t.shared.ChangeDocument(ctx, sharedName, func(old []byte) ([]byte, error) {
			if old == nil {
				return changed(nil, fn)
			}
			list, err := parse("the fleet's list of tokens", old)
			if err != nil {
				return nil, err
			}
			return changed(list, fn)
		})
	}
	lock, err := t.lock(ctx)
	if err != nil {
		return err
	}
	defer lock.Close()
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.rewrite(fn)
}

// rewrite does the work of change with the locks held.
func (t *Tokens) rewrite(fn func([]stored) ([]stored, error)) error {
	list, err := t.load()
	if err != nil {
		return err
	}
	raw, err := changed(list, fn)
	if err != nil {
		return err
	}
	if err := files.Write(filepath.Join(t.dir, listFile), raw); err != nil {
		return terret.Errorf(terret.CodeInternal, "cannot store the tokens: %w", err)
	}
	return nil
}

// changed is the list after a change, as it is stored, without expired tokens.
func changed(list []stored, fn func([]stored) ([]stored, error)) ([]byte, error) {
	list = slices.DeleteFunc(slices.Clone(list), func(s stored) bool { return s.expired(time.Now()) })
	list, err := fn(list)
	if err != nil {
		return nil, err
	}
	raw, err := json.MarshalIndent(document{Version: fileVersion, Tokens: slices.Clip(append([]stored{}, list...))}, "", "\t")
	return append(raw, '\n'), err
}

// noteUse records roughly when a token was used. It never waits for another process of
// this machine, and never fails: the use matters more than the record. t.mu must be held.
func (t *Tokens) noteUse(used Token) {
	if time.Since(used.LastUsedAt.Time) < usedEvery {
		return
	}
	note := func(list []stored) ([]stored, error) {
		for i := range list {
			if list[i].Name == used.Name && list[i].CreatedAt == used.CreatedAt {
				list[i].LastUsedAt = terret.Now()
			}
		}
		return list, nil
	}
	if t.shared != nil {
		ctx, cancel := context.WithTimeout(context.Background(), sharedPatience)
		defer cancel()
		_ = t.change(ctx, note)
		return
	}
	lock, err := files.TryOpenLocked(t.lockPath())
	if lock == nil || err != nil {
		return
	}
	defer lock.Close()
	_ = t.rewrite(note)
}

func (t *Tokens) lockPath() string { return filepath.Join(t.dir, lockFile) }

// lock keeps other processes, and other goroutines of this one, from changing the files
// until the returned file is closed.
func (t *Tokens) lock(ctx context.Context) (*os.File, error) {
	ctx, cancel := context.WithTimeout(ctx, lockPatience)
	defer cancel()
	lock, err := files.OpenLocked(ctx, t.lockPath())
	if err != nil {
		return nil, terret.Errorf(terret.CodeConflict, "cannot lock the tokens in %s: %w; another terret may be changing them: try again", t.dir, err)
	}
	return lock, nil
}

// adminSecret reads the admin token, or creates it.
func (t *Tokens) adminSecret() (string, error) {
	path := t.AdminPath()
	secret, err := readAdmin(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return secret, err
	}
	lock, err := t.lock(context.Background())
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if secret, err = readAdmin(path); !errors.Is(err, fs.ErrNotExist) {
		return secret, err // another process was faster
	}
	secret = newSecret(32)
	if err := files.Write(path, []byte(secret+"\n")); err != nil {
		return "", terret.Errorf(terret.CodeStartupRefused, "cannot store the admin token: %w", err)
	}
	return secret, nil
}

func readAdmin(path string) (string, error) {
	raw, err := readPrivate(path, maxSecret+2)
	if err != nil {
		return "", err
	}
	secret := strings.TrimSpace(string(raw))
	if len(secret) < minSecret || len(secret) > maxSecret || !isToken68(secret) {
		return "", terret.Errorf(terret.CodeStartupRefused, "%s does not hold a token of %d or more letters, digits, - and _; remove it, and the next start creates a new one", path, minSecret)
	}
	return secret, nil
}

// isToken68 reports whether s can be sent as a bearer token.
func isToken68(s string) bool {
	body := strings.TrimRight(s, "=")
	return body != "" && strings.Trim(body, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~+/") == ""
}

// readPrivate reads a file that must be regular, owned by this user, and private.
func readPrivate(path string, limit int64) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|plainFlags, 0)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		return nil, terret.Errorf(terret.CodeStartupRefused, "cannot read %s (it must be a regular file of yours): %w", path, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	switch {
	case !info.Mode().IsRegular():
		return nil, terret.Errorf(terret.CodeStartupRefused, "%s is not a regular file; remove it, and the next start creates a new one", path)
	case private && info.Mode().Perm()&0o077 != 0:
		return nil, terret.Errorf(terret.CodeStartupRefused, "%s can be read or changed by others (mode %04o); if nobody has, fix it with `chmod 600 %s`; otherwise remove it", path, info.Mode().Perm(), quote(path))
	case !ours(info):
		return nil, terret.Errorf(terret.CodeStartupRefused, "%s belongs to another user; remove it, and the next start creates a new one", path)
	}
	raw, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(raw)) > limit {
		err = fmt.Errorf("it is larger than %d bytes", limit)
	}
	if err != nil {
		return nil, terret.Errorf(terret.CodeStartupRefused, "cannot read %s: %w", path, err)
	}
	return raw, nil
}

// quote quotes a path for a shell.
func quote(path string) string {
	if strings.Trim(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+") == "" {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
