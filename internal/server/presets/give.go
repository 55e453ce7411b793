package presets

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/yamlfile"
)

// given is where skills are in a session's folder. Git does not look at it.
const given = ".terret/given"

// Instructions are what a new session's agent is told: the preset's own, and where its
// skills are.
func (p Preset) Instructions() string {
	var b strings.Builder
	b.WriteString(p.SystemAppend)
	for i, s := range p.enabled() {
		if i == 0 {
			if b.Len() > 0 {
				b.WriteString("\n\n")
			}
			b.WriteString("There are skills: folders that say how something is done here. Before you begin with what a skill is about, read its SKILL.md. The skills are:")
		}
		about := ""
		for _, f := range s.Files {
			if f.Path != "SKILL.md" {
				continue
			}
			if doc, err := yamlfile.Frontmatter(f.Bytes); err == nil {
				for _, field := range doc.Fields {
					if field.Key == "description" {
						about = field.Text
					}
				}
			}
		}
		fmt.Fprintf(&b, "\n- %s (%s): %s", s.Name, path.Join(given, p.ID, s.Name), about)
	}
	return b.String()
}

func (p Preset) enabled() []Skill {
	var out []Skill
	for _, s := range p.Skills {
		if !s.Disabled {
			out = append(out, s)
		}
	}
	return out
}

// Give writes the preset's skills into the folder of a session. It follows no links.
func (p Preset) Give(dir string) (err error) {
	skills := p.enabled()
	if len(skills) == 0 {
		return nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return terret.Invalid("cwd", "%w", err)
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	at := path.Join(given, p.ID)
	if err := folder(root, at); err != nil {
		return err
	}
	if err := write(root, path.Join(given, ".gitignore"), []byte("*\n")); err != nil {
		return err
	}
	for _, s := range skills {
		for _, f := range s.Files {
			name := path.Join(at, s.Name, f.Path)
			if err := folder(root, path.Dir(name)); err != nil {
				return err
			}
			if err := write(root, name, f.Bytes); err != nil {
				return err
			}
		}
	}
	return nil
}

// folder makes a folder and those above it.
func folder(root *os.Root, name string) error {
	at := ""
	for part := range strings.SplitSeq(name, "/") {
		at = path.Join(at, part)
		if err := root.Mkdir(at, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return unwritten(at, err)
		}
		if info, err := root.Lstat(at); err != nil || !info.IsDir() {
			return unwritten(at, errors.Join(err, errors.New("it is not a folder")))
		}
	}
	return nil
}

// write makes a file, in place of what has that name.
func write(root *os.Root, name string, content []byte) error {
	if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return unwritten(name, err)
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return unwritten(name, err)
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Close()); err != nil {
		return unwritten(name, err)
	}
	return nil
}

func unwritten(name string, err error) error {
	return terret.Errorf(terret.CodeConflict, "cannot write %s in the session's folder: %w", name, err)
}
