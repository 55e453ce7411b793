package tools

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// sniffSize is how much of a file is looked at to tell text from binary.
const sniffSize = 8000

// openRegular opens the file of a place for reading. It fails for all but
// regular files and never waits for another program.
func openRegular(p place) (*os.File, fs.FileInfo, error) {
	root, err := os.OpenRoot(p.base)
	if err != nil {
		return nil, nil, problem(p, err)
	}
	defer func() { _ = root.Close() }()
	// Some devices act on being opened, so look first.
	info, err := root.Lstat(p.rel())
	if err == nil {
		err = regular(p, info)
	}
	if err != nil {
		return nil, nil, problem(p, err)
	}
	return openIn(root, p.rel(), p)
}

// openIn opens rel in root for reading; p names it in errors.
func openIn(root *os.Root, rel string, p place) (*os.File, fs.FileInfo, error) {
	f, err := root.OpenFile(rel, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil, nil, problem(p, err)
	}
	info, err := f.Stat()
	if err == nil {
		err = regular(p, info)
	}
	if err != nil {
		_ = f.Close()
		return nil, nil, problem(p, err)
	}
	return f, info, nil
}

// notRegular is the error for a path that is there and not a file.
type notRegular struct{ shown, what string }

func (e *notRegular) Error() string { return e.shown + " is " + e.what }

// regular fails for what is not a regular file.
func regular(p place, info fs.FileInfo) error {
	var what string
	switch t := info.Mode().Type(); {
	case t == 0:
		return nil
	case t == fs.ModeDir:
		what = "a folder, not a file; list it with Glob"
	case t == fs.ModeSymlink:
		what = "a symbolic link that has only just been put there"
	case t == fs.ModeNamedPipe:
		what = "a named pipe, not a file"
	case t == fs.ModeSocket:
		what = "a socket, not a file"
	case t&fs.ModeDevice != 0:
		what = "a device, not a file"
	default:
		what = "not a regular file"
	}
	return &notRegular{p.shown, what}
}

// problem is err as the model should read it.
func problem(p place, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &missing{p: p}
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s: permission denied", p.shown)
	}
	if _, ok := errors.AsType[*notRegular](err); ok {
		return err
	}
	return fmt.Errorf("%s: %w", p.shown, reason(err))
}

// missing is the error for a file that does not exist. It looks for names like
// the one that was asked for when it is told.
type missing struct{ p place }

func (*missing) Is(target error) bool { return target == fs.ErrNotExist }

func (e *missing) Error() string {
	folder := filepath.Dir(e.p.real)
	if _, err := os.Stat(folder); errors.Is(err, fs.ErrNotExist) {
		return fmt.Sprintf("%s does not exist, nor does its folder", e.p.shown)
	}
	text := e.p.shown + " does not exist"
	if names := similar(folder, filepath.Base(e.p.real)); len(names) > 0 {
		text += "; in the same folder there is " + strings.Join(names, ", ")
	}
	return text
}

// hashLimit is how much of a file is read to know it again. A larger one is told
// by its size and times as well.
const hashLimit = 64 << 20

// state is a file as it was found.
type state struct {
	info    fs.FileInfo // nil: there was none
	sum     [sha256.Size]byte
	content []byte // complete if whole, else its beginning
	whole   bool
}

// look reads the file of a place, and keeps at most keep bytes of it. A file that
// is not there is a state as well.
func look(ctx context.Context, p place, keep int) (state, error) {
	f, info, err := openRegular(p)
	if errors.Is(err, fs.ErrNotExist) {
		return state{whole: true}, nil
	}
	if err != nil {
		return state{}, err
	}
	defer f.Close()
	s := state{info: info}
	hash := sha256.New()
	src := io.TeeReader(&ctxReader{ctx, f}, hash)
	if s.content, err = io.ReadAll(io.LimitReader(src, int64(keep))); err == nil {
		var more int64
		more, err = io.Copy(io.Discard, io.LimitReader(src, hashLimit))
		s.whole = more == 0
	}
	if err != nil {
		return state{}, problem(p, err)
	}
	hash.Sum(s.sum[:0])
	return s, nil
}

// same reports whether two states are of the same content.
func (s state) same(t state) bool {
	if s.info == nil || t.info == nil {
		return s.info == nil && t.info == nil
	}
	return s.sum == t.sum && s.info.Size() == t.info.Size() &&
		(s.info.Size() < hashLimit || s.info.ModTime().Equal(t.info.ModTime()))
}

// ctxReader fails when ctx has ended.
type ctxReader struct {
	ctx context.Context
	r   io.Reader
}

func (c *ctxReader) Read(b []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(b)
}

// isBinary reports whether the beginning of a file is not that of a text.
func isBinary(start []byte) bool {
	return bytes.IndexByte(start[:min(len(start), sniffSize)], 0) >= 0
}

// magics are beginnings of files.
var magics = []struct{ start, name string }{
	{"\x89PNG\r\n\x1a\n", "PNG image"},
	{"\xff\xd8\xff", "JPEG image"},
	{"GIF8", "GIF image"},
	{"BM", "BMP image"},
	{"%PDF-", "PDF document"},
	{"PK\x03\x04", "ZIP archive (also office documents and jars)"},
	{"\x1f\x8b", "gzip data"},
	{"BZh", "bzip2 data"},
	{"\xfd7zXZ\x00", "xz data"},
	{"\x28\xb5\x2f\xfd", "zstd data"},
	{"\x7fELF", "ELF program or library"},
	{"MZ", "Windows program or library"},
	{"\xcf\xfa\xed\xfe", "macOS program or library"},
	{"\xca\xfe\xba\xbe", "Java class or macOS universal program"},
	{"\x00asm", "WebAssembly module"},
	{"SQLite format 3\x00", "SQLite database"},
	{"\xff\xfe", "UTF-16 text"},
	{"\xfe\xff", "UTF-16 text"},
}

// binaryKind names the kind of a binary file by its beginning.
func binaryKind(start []byte) string {
	for _, m := range magics {
		if bytes.HasPrefix(start, []byte(m.start)) {
			return m.name
		}
	}
	return "unknown kind"
}
