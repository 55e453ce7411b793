package tools

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// denied is the body of TestDenied. It runs as a user to whom modes apply.
func denied(dir string) error {
	env := Env{Dir: dir}
	files := []struct {
		path string
		mode os.FileMode
	}{
		{"secret", 0o000}, {"closed/f", 0o644}, {"fixed/f", 0o644}, {"open/f", 0o644},
	}
	for _, f := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, f.path)), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, f.path), []byte("word\n"), f.mode); err != nil {
			return err
		}
	}
	for folder, mode := range map[string]os.FileMode{"closed": 0o000, "fixed": 0o555} {
		if err := os.Chmod(filepath.Join(dir, folder), mode); err != nil {
			return err
		}
		defer os.Chmod(filepath.Join(dir, folder), 0o755) // so that it can be removed
	}
	edit := func(path string) input { return input{"file_path": path, "old_string": "word", "new_string": "x"} }
	var errs []error
	for _, c := range []struct {
		tool string
		in   input
		want string
	}{
		{"Read", input{"file_path": "secret"}, "secret: permission denied"},
		{"Read", input{"file_path": "closed/f"}, "permission denied"},
		{"Edit", edit("secret"), "secret: permission denied"},
		{"Edit", edit("fixed/f"), "cannot be written: permission denied"},
		{"Edit", edit("foreign"), "foreign cannot be written: permission denied"},
		{"Write", input{"file_path": "foreign", "content": "x"}, "foreign cannot be written: permission denied"},
		{"Write", input{"file_path": "fixed/new", "content": "x"}, "cannot be written: permission denied"},
		{"Write", input{"file_path": "fixed/sub/new", "content": "x"}, "cannot be written: permission denied"},
		{"Write", input{"file_path": "closed/new", "content": "x"}, "permission denied"},
		{"Glob", input{"pattern": "**/f"}, "[1 folder could not be read]"},
		{"Grep", input{"pattern": "word", "output_mode": "files"}, "[1 folder could not be read]\n[1 file could not be read]"},
		{"Glob", input{"pattern": "*", "path": "closed"}, "permission denied"},
	} {
		text, err := outcomeOf(env, c.tool, c.in)
		if err != nil || !strings.Contains(text, c.want) {
			errs = append(errs, fmt.Errorf("%s %v: %q, %w", c.tool, c.in, text, err))
		}
	}
	return errors.Join(errs...)
}

// outcomeOf is the text of a result, or of the refusal to prepare it.
func outcomeOf(env Env, tool string, in input) (string, error) {
	t, _ := Find(tool)
	use, err := t.Prepare(context.Background(), env, in.json())
	if err != nil {
		return err.Error(), nil
	}
	res, err := use.Run(context.Background(), nil)
	return res.Text, err
}
