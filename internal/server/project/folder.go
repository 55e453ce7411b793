package project

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// Names within a project's folder.
const (
	folderName   = ".terret"
	logsName     = "logs"
	promptsName  = "prompts"
	sessionsName = "sessions"
)

// Makes reports whether Terret itself makes the file or folder, which is given relative to
// the project's folder. In a folder that a person has had git ignore as a whole there is
// nothing else in a new worktree.
func Makes(path string) bool {
	name, ok := strings.CutPrefix(path, folderName+"/")
	return path == folderName || ok && slices.Contains([]string{".gitignore", logsName, promptsName, sessionsName}, name)
}

const gitignore = `# Made by Terret: these change with every turn and are nobody else's business.
/logs/
/prompts/
/sessions/
.gitignore
`

// inFolder runs fn with the .terret of a project. It creates that folder, but not the
// project's own.
func inFolder(project string, fn func(dir *os.Root) error) error {
	root, err := os.OpenRoot(project)
	if err != nil {
		return err
	}
	defer done(root)
	dir, err := subfolder(root, folderName, 0o755)
	if err != nil {
		return err
	}
	defer done(dir)
	if err := ignoreFiles(dir); err != nil {
		return err
	}
	return fn(dir)
}

// ignoreFiles writes the .gitignore, if there is none.
func ignoreFiles(dir *os.Root) error {
	if _, err := dir.Lstat(".gitignore"); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	file, err := dir.OpenFile(".gitignore", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return nil // another process was faster
	}
	if err != nil {
		return err
	}
	_, err = file.WriteString(gitignore)
	return errors.Join(err, file.Close())
}

// subfolder opens a folder in root and, unless perm is zero, creates it if it is
// missing. It never follows a symbolic link.
func subfolder(root *os.Root, name string, perm fs.FileMode) (*os.Root, error) {
	if perm != 0 {
		if err := root.Mkdir(name, perm); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
	}
	info, err := root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, notPlain(root, name, "folder")
	}
	dir, err := root.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	opened, err := dir.Stat(".")
	if err != nil || !os.SameFile(info, opened) {
		done(dir)
		return nil, errors.Join(notPlain(root, name, "folder"), err)
	}
	return dir, nil
}

// done closes a folder; errors in closing mean nothing.
func done(dir *os.Root) { _ = dir.Close() }

// openFile opens a file in dir, without following a symbolic link or waiting on a named
// pipe, and makes sure that only its owner can read it.
func openFile(dir *os.Root, name string, flag int) (*os.File, fs.FileInfo, error) {
	file, err := dir.OpenFile(name, flag|plainFlags, 0o600)
	if err != nil {
		return nil, nil, err
	}
	opened, err := file.Stat()
	if err == nil {
		var found fs.FileInfo
		found, err = dir.Lstat(name)
		if err == nil && (!opened.Mode().IsRegular() || !os.SameFile(opened, found)) {
			err = notPlain(dir, name, "file")
		}
	}
	if err == nil && opened.Mode().Perm()&0o077 != 0 {
		err = file.Chmod(0o600)
	}
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return file, opened, nil
}

func notPlain(dir *os.Root, name, what string) error {
	return fmt.Errorf("%s%c%s is not a regular %s; remove it to get Terret's files here", dir.Name(), os.PathSeparator, name, what)
}
