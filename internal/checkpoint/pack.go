package checkpoint

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"context"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/terret-dev/terret/internal/gitcmd"
)

// packFrom is the number of files from which a snapshot writes one pack instead
// of a file for each object, which is ten times as fast.
const packFrom = 256

// pack stores the content of files in one pack. Files that cannot be read, or
// change while they are read, are left to git.
func (r *Repo) pack(ctx context.Context, g git, files []file) error {
	const workers = 2
	var spools [workers]spool
	defer func() {
		for i := range spools {
			spools[i].remove()
		}
	}()
	var seen sync.Map // object id -> true
	tasks := make([]func(context.Context) error, workers)
	for i := range tasks {
		tasks[i] = func(ctx context.Context) error {
			if err := spools[i].open(r.shadow, &seen); err != nil {
				return err
			}
			for k := i; k < len(files); k += workers {
				if ctx.Err() != nil {
					return context.Cause(ctx)
				}
				if err := spools[i].add(filepath.Join(r.dir, filepath.FromSlash(files[k].path)), files[k].info); err != nil {
					return err
				}
			}
			return spools[i].w.Flush()
		}
	}
	if err := all(ctx, tasks...); err != nil {
		return fmt.Errorf("store files: %w", err)
	}
	return indexPack(ctx, g, spools[:])
}

// indexPack makes a pack of the spools. git computes the object ids itself.
func indexPack(ctx context.Context, g git, spools []spool) error {
	header := []byte("PACK\x00\x00\x00\x02")
	var count uint32
	parts := []io.Reader{nil} // the header, when the count is known
	for i := range spools {
		if _, err := spools[i].f.Seek(0, io.SeekStart); err != nil {
			return fmt.Errorf("store files: %w", err)
		}
		count += spools[i].count
		parts = append(parts, spools[i].f)
	}
	if count == 0 {
		return nil
	}
	parts[0] = bytes.NewReader(binary.BigEndian.AppendUint32(header, count))
	sum := sha1.New()
	body := io.TeeReader(io.MultiReader(parts...), sum)
	in := io.MultiReader(body, &trailer{sum: sum})
	return g.Stream(ctx, in, []string{"index-pack", "--stdin"}, func(out *bufio.Reader) error {
		_, err := io.Copy(io.Discard, out)
		return err
	})
}

// trailer reads as the sum of all that was hashed before its first Read.
type trailer struct {
	sum  hash.Hash
	left []byte
	done bool
}

func (t *trailer) Read(p []byte) (int, error) {
	if !t.done {
		t.left, t.done = t.sum.Sum(nil), true
	}
	if len(t.left) == 0 {
		return 0, io.EOF
	}
	n := copy(p, t.left)
	t.left = t.left[n:]
	return n, nil
}

// A spool collects the objects of one worker, in the format of a pack.
type spool struct {
	f     *os.File
	w     *bufio.Writer
	z     *zlib.Writer
	count uint32
	seen  *sync.Map
}

func (s *spool) open(dir string, seen *sync.Map) error {
	f, err := os.CreateTemp(dir, "spool-*")
	if err != nil {
		return err
	}
	s.f, s.w, s.seen = f, bufio.NewWriterSize(f, 256<<10), seen
	s.z, err = zlib.NewWriterLevel(s.w, zlib.BestSpeed)
	return err
}

func (s *spool) remove() {
	if s.f != nil {
		s.f.Close()
		_ = os.Remove(s.f.Name())
	}
}

// small is the size up to which a file is held in memory.
const small = 1 << 20

// add adds a file. It returns an error only when the spool cannot be written.
func (s *spool) add(path string, info fs.FileInfo) error {
	if !info.Mode().IsRegular() || info.Size() == 0 {
		return nil
	}
	f, err := openRegular(path, info)
	if err != nil {
		return nil
	}
	defer f.Close()
	if info.Size() > small {
		return s.addLarge(f, info.Size())
	}
	content, err := io.ReadAll(io.LimitReader(f, info.Size()+1))
	if err != nil || int64(len(content)) != info.Size() {
		return nil
	}
	id := gitcmd.BlobID(gitcmd.Digits, content)
	if _, dup := s.seen.LoadOrStore(id, true); dup {
		return nil
	}
	_, err = s.write(bytes.NewReader(content), info.Size())
	return err
}

// addLarge adds a file without holding it in memory, and takes it out again if
// it turns out to have changed.
func (s *spool) addLarge(f io.Reader, size int64) error {
	if err := s.w.Flush(); err != nil {
		return err
	}
	start, err := s.f.Seek(0, io.SeekCurrent)
	if err != nil {
		return err
	}
	n, err := s.write(f, size)
	if err == nil && n == size {
		return nil
	}
	if err != nil && !errors.Is(err, errSource) {
		return err
	}
	s.count--
	if err := s.w.Flush(); err != nil {
		return err
	}
	if err := s.f.Truncate(start); err != nil {
		return err
	}
	_, err = s.f.Seek(start, io.SeekStart)
	return err
}

// errSource marks an error of the file that is read, not of the spool.
var errSource = errors.New("source")

// write appends one object and returns how much of it there was.
func (s *spool) write(content io.Reader, size int64) (int64, error) {
	const blob = 3
	s.count++
	c, rest := byte(blob<<4|size&15), size>>4
	for rest > 0 {
		if err := s.w.WriteByte(c | 0x80); err != nil {
			return 0, err
		}
		c, rest = byte(rest&0x7f), rest>>7
	}
	if err := s.w.WriteByte(c); err != nil {
		return 0, err
	}
	s.z.Reset(s.w)
	n, err := io.Copy(s.z, sourceReader{io.LimitReader(content, size)})
	return n, errors.Join(err, s.z.Close())
}

// sourceReader marks the errors of a reader with errSource.
type sourceReader struct{ r io.Reader }

func (s sourceReader) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("%w: %w", errSource, err)
	}
	return n, err
}
