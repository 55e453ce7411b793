package workfiles

import (
	"io"
	"os"
	"path"

	"github.com/terret-dev/terret"
)

// maxDownload bounds a file that is read whole.
const maxDownload = 1 << 30

// Download is an open file of a folder. Read ends where the file ended when it was opened, or
// fails if it is shorter by then.
type Download struct {
	Name string // without folders
	Size int64

	file *os.File
	left int64
}

// Download opens a file to be read whole. The caller closes it.
func (f *Folder) Download(p string) (*Download, error) {
	rel, err := local(p)
	if err != nil {
		return nil, err
	}
	file, info, err := f.open(rel)
	if err != nil {
		return nil, err
	}
	switch {
	case info.IsDir():
		err = terret.Invalid("path", "%s is a folder, not a file", rel)
	case info.Size() > maxDownload:
		err = terret.Invalid("path", "%s has %d bytes; at most %d can be downloaded", rel, info.Size(), maxDownload)
	}
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return &Download{path.Base(rel), info.Size(), file, info.Size()}, nil
}

// Read implements io.Reader.
func (f *Download) Read(p []byte) (int, error) {
	if f.left == 0 {
		return 0, io.EOF
	}
	n, err := f.file.Read(p[:min(int64(len(p)), f.left)])
	if f.left -= int64(n); err == io.EOF && f.left > 0 {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// Close implements io.Closer.
func (f *Download) Close() error { return f.file.Close() }
