package hooks

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/files"
)

// Change is what Install or Uninstall would do, or has done, to a file.
type Change struct {
	Path   string   `json:"path"`
	Events []string `json:"events"` // whose hooks were put there or taken away
}

// maxSettings bounds the settings that are read.
const maxSettings = 4 << 20

// Install makes the agent call the program at its hooks, in the settings at path. It
// changes nothing else in the file, and keeps the file as it was in a folder of Terret's
// home, so that Uninstall can bring it back. Installing again changes only what differs.
func Install(a Agent, path, program, home string) (Change, error) {
	path, before, err := read(path)
	if err != nil {
		return Change{}, err
	}
	text := before
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte("{}\n")
	}
	file, root, err := parse(path, text)
	if err != nil {
		return Change{}, err
	}
	changed := Change{Path: path}
	stale := false
	for _, i := range a.Interactions {
		command := commandOf(a, program, i.Event)
		if slices.Contains(commandsAt(root, i.Event), command) {
			continue
		}
		stale = removeAt(a, root, i.Event) || stale // of another program
		if err := add(root, i, command, int(i.Limit/a.unit)); err != nil {
			return Change{}, fmt.Errorf("%s: %w", path, err)
		}
		changed.Events = append(changed.Events, i.Event)
	}
	if len(changed.Events) == 0 {
		return changed, nil
	}
	after := file.Pack()
	if !stale && !isOurs(a, before) {
		if err := remember(home, path, before, after); err != nil {
			return Change{}, err
		}
	} else {
		forget(home, path) // it was changed since, so the whole cannot be brought back
	}
	return changed, write(path, after)
}

// Uninstall takes Terret's hooks out of the settings at path. The file is what it was
// before Install, byte for byte; if others have changed it since, only the hooks go.
func Uninstall(a Agent, path, home string) (Change, error) {
	path, text, err := read(path)
	if err != nil || text == nil {
		return Change{Path: path}, err
	}
	file, root, err := parse(path, text)
	if err != nil {
		return Change{}, err
	}
	changed := Change{Path: path}
	for _, event := range events(root) {
		if removeAt(a, root, event) {
			changed.Events = append(changed.Events, event)
		}
	}
	if len(changed.Events) == 0 {
		return changed, nil
	}
	before, known := recall(home, path, text)
	defer forget(home, path)
	switch {
	case known && before == nil:
		return changed, os.Remove(path)
	case known:
		return changed, write(path, before)
	}
	if i := index(root, "hooks"); i >= 0 {
		if o, ok := root.Members[i].Value.Value.(*hujson.Object); ok && len(o.Members) == 0 {
			root.Members = slices.Delete(root.Members, i, i+1)
		}
	}
	return changed, write(path, file.Pack())
}

// Installed lists the events of which the settings at path call a program of Terret.
func Installed(a Agent, path string) ([]string, error) {
	path, text, err := read(path)
	if err != nil || text == nil {
		return nil, err
	}
	_, root, err := parse(path, text)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, event := range events(root) {
		if slices.ContainsFunc(commandsAt(root, event), func(c string) bool { return ours(a, event, c) }) {
			out = append(out, event)
		}
	}
	return out, nil
}

// commandOf is the line that a hook runs.
func commandOf(a Agent, program, event string) string {
	return "'" + strings.ReplaceAll(program, "'", `'\''`) + "'" + suffix(a, event)
}

func suffix(a Agent, event string) string { return " hook --agent " + a.Name + " " + event }

// ours reports whether a hook's command is one that Install has written.
func ours(a Agent, event, command string) bool { return strings.HasSuffix(command, suffix(a, event)) }

func isOurs(a Agent, text []byte) bool {
	return bytes.Contains(text, []byte(" hook --agent "+a.Name+" "))
}

// A hookEntry is one program that runs at a hook.
type hookEntry struct {
	Type    string `json:"type"`
	Command string `json:"command"`
	Timeout int    `json:"timeout,omitempty"` // in the agent's unit
}

type hookGroup struct {
	Hooks []hookEntry `json:"hooks"`
}

// groupsAt is the list of an event's hooks; nil if there is none.
func groupsAt(root *hujson.Object, event string) *hujson.Array {
	hooks := objectAt(root, "hooks")
	if hooks == nil {
		return nil
	}
	i := index(hooks, event)
	if i < 0 {
		return nil
	}
	list, _ := hooks.Members[i].Value.Value.(*hujson.Array)
	return list
}

func events(root *hujson.Object) (out []string) {
	if hooks := objectAt(root, "hooks"); hooks != nil {
		for _, m := range hooks.Members {
			out = append(out, nameOf(m))
		}
	}
	return out
}

func commandsAt(root *hujson.Object, event string) (out []string) {
	if list := groupsAt(root, event); list != nil {
		for _, e := range list.Elements {
			for _, h := range groupOf(e).Hooks {
				out = append(out, h.Command)
			}
		}
	}
	return out
}

func groupOf(v hujson.Value) (g hookGroup) {
	v = v.Clone()
	v.Standardize()
	_ = json.Unmarshal(v.Pack(), &g) // what has another shape is not ours
	return g
}

// removeAt takes our hooks of an event away, and what is empty without them.
func removeAt(a Agent, root *hujson.Object, event string) (removed bool) {
	list := groupsAt(root, event)
	if list == nil {
		return false
	}
	list.Elements = slices.DeleteFunc(list.Elements, func(e hujson.Value) bool {
		all := groupOf(e).Hooks
		mine := len(all) > 0 && !slices.ContainsFunc(all, func(h hookEntry) bool { return !ours(a, event, h.Command) })
		removed = removed || mine
		return mine
	})
	if removed && len(list.Elements) == 0 {
		hooks := objectAt(root, "hooks")
		i := index(hooks, event)
		hooks.Members = slices.Delete(hooks.Members, i, i+1)
	}
	return removed
}

// add puts a hook before the others of its event.
func add(root *hujson.Object, i Interaction, command string, limit int) error {
	hooks, err := child(root, "hooks")
	if err != nil {
		return err
	}
	g := hookGroup{Hooks: []hookEntry{{Type: "command", Command: command, Timeout: limit}}}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(g); err != nil {
		return err
	}
	element, err := hujson.Parse(bytes.TrimSpace(text.Bytes()))
	if err != nil {
		return err
	}
	at := index(hooks, i.Event)
	if at < 0 {
		list := &hujson.Array{Elements: []hujson.Value{element}}
		insert(hooks, i.Event, list, "    ")
		return nil
	}
	list, ok := hooks.Members[at].Value.Value.(*hujson.Array)
	if !ok {
		return terret.Errorf(terret.CodeInvalidRequest, "hooks.%s is not a list", i.Event)
	}
	if len(list.Elements) > 0 {
		element.BeforeExtra = slices.Clone(list.Elements[0].BeforeExtra)
	}
	list.Elements = slices.Insert(list.Elements, 0, element)
	return nil
}

// child is a member that is an object, which is made if it is missing.
func child(o *hujson.Object, name string) (*hujson.Object, error) {
	if i := index(o, name); i >= 0 {
		if c, ok := o.Members[i].Value.Value.(*hujson.Object); ok {
			return c, nil
		}
		return nil, terret.Errorf(terret.CodeInvalidRequest, "%s is not an object", name)
	}
	c := &hujson.Object{}
	insert(o, name, c, "  ")
	return c, nil
}

// insert puts a member at the end of an object, on a line of its own.
func insert(o *hujson.Object, name string, value hujson.ValueTrimmed, margin string) {
	m := hujson.ObjectMember{
		Name:  hujson.Value{BeforeExtra: hujson.Extra("\n" + margin), Value: hujson.String(name)},
		Value: hujson.Value{BeforeExtra: hujson.Extra(" "), Value: value},
	}
	if n := len(o.Members); n > 0 {
		m.Name.BeforeExtra = slices.Clone(o.Members[n-1].Name.BeforeExtra)
	}
	if !bytes.Contains(o.AfterExtra, []byte("\n")) && bytes.Contains(m.Name.BeforeExtra, []byte("\n")) {
		o.AfterExtra = hujson.Extra("\n" + margin[2:])
	}
	o.Members = append(o.Members, m)
}

func objectAt(o *hujson.Object, name string) *hujson.Object {
	if i := index(o, name); i >= 0 {
		c, _ := o.Members[i].Value.Value.(*hujson.Object)
		return c
	}
	return nil
}

func index(o *hujson.Object, name string) int {
	return slices.IndexFunc(o.Members, func(m hujson.ObjectMember) bool { return nameOf(m) == name })
}

func nameOf(m hujson.ObjectMember) string {
	l, _ := m.Name.Value.(hujson.Literal)
	return l.String()
}

// parse reads settings.
func parse(path string, text []byte) (*hujson.Value, *hujson.Object, error) {
	file, err := hujson.Parse(text)
	if err != nil {
		return nil, nil, terret.Invalid("settings", "%s cannot be read, and was left alone: %s", path, strings.TrimPrefix(err.Error(), "hujson: "))
	}
	root, ok := file.Value.(*hujson.Object)
	if !ok {
		return nil, nil, terret.Invalid("settings", "%s is not a JSON object, and was left alone", path)
	}
	return &file, root, nil
}

// read returns the settings, and where they really are. Without a file they are nil.
func read(path string) (real string, text []byte, err error) {
	real, err = filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		return path, nil, nil
	}
	if err != nil {
		return path, nil, err
	}
	info, err := os.Stat(real)
	if err == nil && (!info.Mode().IsRegular() || info.Size() > maxSettings) {
		err = terret.Invalid("settings", "%s is no file of at most %d MB", real, maxSettings>>20)
	}
	if err != nil {
		return real, nil, err
	}
	text, err = os.ReadFile(real)
	if text == nil {
		text = []byte{}
	}
	return real, text, err
}

func write(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	mode := fs.FileMode(0o600)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	return errors.Join(files.Write(path, text), os.Chmod(path, mode))
}

// A record is the settings before and after Install.
type record struct {
	Path   string  `json:"path"`
	Before *string `json:"before"` // nil if there was no file
	After  string  `json:"after"`
}

func recordAt(home, path string) string {
	return filepath.Join(home, "hooks", terret.DerivedID("", path)+".json")
}

func remember(home, path string, before, after []byte) error {
	r := record{Path: path, After: string(after)}
	if before != nil {
		text := string(before)
		r.Before = &text
	}
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return write(recordAt(home, path), text)
}

// recall returns the settings as they were, if they are still as Install left them.
func recall(home, path string, now []byte) (before []byte, known bool) {
	var r record
	text, err := os.ReadFile(recordAt(home, path))
	if err != nil || json.Unmarshal(text, &r) != nil || r.Path != path || r.After != string(now) {
		return nil, false
	}
	if r.Before == nil {
		return nil, true
	}
	return []byte(*r.Before), true
}

func forget(home, path string) { _ = os.Remove(recordAt(home, path)) }
