package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// projectFile is the path of a project's file within its folder.
const projectFile = ".terret/config.jsonc"

// maxFile bounds a file's size.
const maxFile = 256 << 10

// Sources says where the layers come from. All may be empty.
type Sources struct {
	// User is the path of the user's file, see [UserFile]. It need not exist.
	User string
	// Project is the project's folder. Its file need not exist.
	Project string
	// Trusted says that the user trusts the project.
	Trusted bool
	// Environ is the environment, as os.Environ gives it.
	Environ []string
	// Rule is what [Check] checks rules with; nil means that any text will do. To [Load]
	// all rules are text: whoever uses one says what is wrong with it.
	Rule func(pattern string) error
}

// Loaded is a configuration and where it came from.
type Loaded struct {
	Config
	// Files are the files that were read.
	Files []string
	// From says where keys such as "rules.allow" were set: in which file, or by which
	// variable. The others have their defaults.
	From map[string]string
	// Ignored lists the keys of the project's file, such as "rules.allow", that are
	// ignored because the project is not trusted.
	Ignored []string
	// Broken says why the project's file is not used at all, if it is not: it comes with
	// the project, and must not keep anybody from working.
	Broken error
}

// Load reads all layers. Its errors are for people; those about files are of type
// *Error.
func Load(src Sources) (Loaded, error) {
	home := homeDir(src.Environ)
	out := Loaded{Config: defaults(), From: map[string]string{}}
	out.Data = DataDir(src.Environ)
	if src.User != "" {
		text, err := readUser(src.User)
		if err != nil {
			return Loaded{}, err
		}
		d := decoder{file: src.User, text: text, place: place{base: filepath.Dir(src.User), home: home}}
		if err := out.take(&d); err != nil {
			return Loaded{}, err
		}
	}
	if src.Project != "" {
		name := filepath.Join(src.Project, filepath.FromSlash(projectFile))
		text, err := readProject(src.Project)
		if err == nil {
			d := decoder{file: name, text: text, place: place{base: src.Project, home: home}, restricted: !src.Trusted}
			trial := d
			if err = (&Loaded{Config: defaults()}).take(&trial); err == nil { // all of it counts, or nothing
				err = out.take(&d)
			}
		}
		out.Broken = err
	}
	if err := applyEnv(&out.Config, src.Environ, place{base: workingDir(), home: home}, out.From); err != nil {
		return Loaded{}, err
	}
	return out, nil
}

func (l *Loaded) take(d *decoder) error {
	if d.text == nil {
		return nil
	}
	d.from = l.From
	if err := d.decode(&l.Config); err != nil {
		return err
	}
	l.Files = append(l.Files, d.file)
	l.Ignored = append(l.Ignored, d.ignored...)
	return nil
}

func readUser(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|nonBlocking, 0)
	return read(path, f, err)
}

// readProject reads the project's file without leaving the project's folder.
func readProject(dir string) ([]byte, error) {
	path := filepath.Join(dir, filepath.FromSlash(projectFile))
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	defer func() { _ = root.Close() }()
	f, err := root.OpenFile(filepath.FromSlash(projectFile), os.O_RDONLY|nonBlocking, 0)
	return read(path, f, err)
}

// read returns the content of f and closes it, or nil if there is no such file. It
// takes the error of opening it.
func read(path string, f *os.File, err error) ([]byte, error) {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, &Error{path, 1, 1, "this is not a file"}
	}
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	if len(text) > maxFile {
		return nil, &Error{path, 1, 1, fmt.Sprintf("the file is larger than %d KB", maxFile>>10)}
	}
	if text == nil {
		text = []byte{}
	}
	return text, nil
}
