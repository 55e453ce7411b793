package persona

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/yamlfile"
)

// The names of persona files, within a project.
const (
	folder = "agents"
	prefix = "AGENT_"
	suffix = ".md"
)

// Bounds on what is read.
const (
	maxFile     = 256 << 10
	maxPersonas = 1000
)

// Library reads personas and the other parts of a system prompt. It is safe for
// concurrent use. The zero value is not usable, see [New].
type Library struct {
	mu    sync.Mutex
	files map[string]cached
}

// New makes a library.
func New() *Library { return &Library{files: map[string]cached{}} }

// Listing is what a project has.
type Listing struct {
	Personas []terret.Persona // by id; none is marked as trusted
	Broken   []error          // files that are not valid personas, and why
}

// List lists the personas of a project. The error is about the folder: an unreadable
// file does not hide the others.
func (l *Library) List(dir string) (Listing, error) {
	root, err := open(dir)
	if err != nil {
		return Listing{}, err
	}
	defer func() { _ = root.Close() }()
	found, err := l.all(root)
	if err != nil {
		return Listing{}, err
	}
	out := Listing{Personas: []terret.Persona{}}
	for _, e := range found {
		if e.err != nil {
			out.Broken = append(out.Broken, e.err)
			continue
		}
		out.Personas = append(out.Personas, e.Persona)
	}
	return out, nil
}

// entry is a file that is a persona, or should be.
type entry struct {
	terret.Persona
	name string // the file's name, between prefix and suffix
	err  error
}

// all reads every persona, sorted by id. Ids are unique: the file with that name wins.
func (l *Library) all(root *os.Root) ([]entry, error) {
	names, err := names(root)
	if err != nil {
		return nil, err
	}
	var out []entry
	for _, name := range names {
		out = append(out, l.entry(root, name))
	}
	owner := map[string]string{}
	for _, e := range out {
		if e.err == nil && e.ID == e.name {
			owner[e.ID] = e.SourceFile
		}
	}
	for i, e := range out {
		if e.err != nil || e.ID == e.name {
			continue
		}
		if other, taken := owner[e.ID]; taken {
			out[i].err = invalid("%s: its id %s already belongs to %s", e.SourceFile, e.ID, other)
			continue
		}
		owner[e.ID] = e.SourceFile
	}
	slices.SortStableFunc(out, func(a, b entry) int { return strings.Compare(a.ID, b.ID) })
	return out, nil
}

func invalid(format string, args ...any) *terret.Error {
	e := terret.Errorf(terret.CodeInvalidRequest, format, args...)
	e.Field = "persona"
	return e
}

// names lists the file names, in order.
func names(root *os.Root) ([]string, error) {
	dir, err := root.Open(folder)
	if err != nil {
		if err = plainer(err); errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return nil, invalid("cannot read the folder %s: %w", folder, err)
	}
	defer dir.Close()
	var out []string
	for {
		entries, err := dir.Readdirnames(256)
		for _, file := range entries {
			name, ok := strings.CutPrefix(file, prefix)
			if name, isText := strings.CutSuffix(name, suffix); ok && isText {
				out = append(out, name)
			}
		}
		if len(out) > maxPersonas {
			return nil, invalid("the folder %s contains more than %d personas", folder, maxPersonas)
		}
		if errors.Is(err, io.EOF) {
			slices.Sort(out)
			return out, nil
		}
		if err != nil {
			if info, statErr := root.Stat(folder); statErr == nil && !info.IsDir() {
				return nil, nil // something else with that name
			}
			return nil, invalid("cannot read the folder %s: %w", folder, err)
		}
	}
}

func (l *Library) entry(root *os.Root, name string) entry {
	e := entry{name: name, Persona: terret.Persona{ID: name, SourceFile: path.Join(folder, prefix+name+suffix)}}
	if err := checkID(name); err != nil {
		e.err = invalid("%q: %w", e.SourceFile, err)
		return e
	}
	e.Persona, _, e.err = l.persona(root, e.SourceFile, name)
	return e
}

// persona reads one file.
func (l *Library) persona(root *os.Root, file, id string) (terret.Persona, yamlfile.Document, error) {
	p := terret.Persona{ID: id, SourceFile: file}
	content, more, err := l.read(root, file, maxFile)
	switch {
	case err != nil:
		return p, yamlfile.Document{}, invalid("%s: %w", file, err)
	case more:
		return p, yamlfile.Document{}, invalid("%s is larger than %d KB", file, maxFile>>10)
	}
	return parse(file, id, content)
}

// Load finds a persona: the one in AGENT_{id}.md, or else the one whose settings give
// it that id, or else the only one whose file name ends with _{id}. It is not marked as
// trusted. If there is none, the error is not_found and names the existing ones.
func (l *Library) Load(dir, id string) (terret.Persona, error) {
	if err := checkID(id); err != nil {
		return terret.Persona{}, terret.Invalid("persona", "%w", err)
	}
	root, err := open(dir)
	if err != nil {
		return terret.Persona{}, err
	}
	defer func() { _ = root.Close() }()
	found, err := l.all(root)
	if err != nil {
		return terret.Persona{}, err
	}
	for _, fits := range []func(entry) bool{
		func(e entry) bool { return e.name == id },
		func(e entry) bool { return e.err == nil && e.ID == id },
		func(e entry) bool { return strings.HasSuffix(e.name, "_"+id) },
	} {
		some := slices.Collect(func(yield func(entry) bool) {
			for _, e := range found {
				if fits(e) && !yield(e) {
					return
				}
			}
		})
		switch len(some) {
		case 0:
		case 1:
			return some[0].Persona, some[0].err
		default:
			return terret.Persona{}, terret.Invalid("persona", "%q could be any of %s; type the full name", id, strings.Join(ids(some), ", "))
		}
	}
	return terret.Persona{}, notFound(id, found)
}

func ids(entries []entry) []string {
	var out []string
	for _, e := range entries {
		out = append(out, e.ID)
	}
	return out
}

// notFound names the existing personas.
func notFound(id string, found []entry) error {
	good := slices.DeleteFunc(slices.Clone(found), func(e entry) bool { return e.err != nil })
	there := "this project has none; a persona is a file named " + folder + "/" + prefix + "*" + suffix
	if len(good) > 0 {
		there = "use one of " + strings.Join(ids(good), ", ")
	}
	if n := len(found) - len(good); n > 0 {
		there += "; `terret personas ls` shows what is wrong with the others"
	}
	e := terret.Errorf(terret.CodeNotFound, "there is no persona %q; %s", id, there)
	e.Field = "persona"
	return e
}
