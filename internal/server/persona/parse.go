package persona

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/lazyregexp"
	"github.com/terret-dev/terret/internal/yamlfile"
	"github.com/terret-dev/terret/policy"
)

// keys are the settings of a persona, in display order.
var keys = []string{
	"id", "description", "tools", "disallowed_tools", "auto_approve_tools", "max_turns", "gates", "model", "agent", "policy", "sandbox",
}

// Bounds on settings.
const (
	maxTurnsLimit  = 10_000
	maxDescription = 500
	maxList        = 200
)

var validID = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`)

// fail makes an error about a line of a persona's file.
func fail(file string, line int, format string, args ...any) *terret.Error {
	e := terret.Errorf(terret.CodeInvalidRequest, "%s:%d: "+format, append([]any{file, line}, args...)...)
	e.Field = "persona"
	return e
}

// parse reads a persona's file.
func parse(file, id string, content []byte) (terret.Persona, yamlfile.Document, error) {
	p := terret.Persona{ID: id, SourceFile: file}
	doc, err := yamlfile.Frontmatter(content)
	if e, ok := errors.AsType[*yamlfile.LineError](err); ok {
		return p, doc, fail(file, e.Line, "%s", e.Message)
	}
	if err != nil {
		return p, doc, err
	}
	if doc.Fields == nil {
		return p, doc, bare(file, doc.Text)
	}
	for _, f := range doc.Fields {
		if err := set(&p, f); err != nil {
			return p, doc, fail(file, f.Line, "%w", err)
		}
	}
	return p, doc, nil
}

// bare rejects a file that begins with settings but has no --- line.
func bare(file, text string) error {
	line := 0
	for row := range strings.Lines(text) {
		line++
		row = strings.TrimSpace(row)
		if row == "" {
			continue
		}
		if key, _, ok := strings.Cut(row, ":"); ok && slices.Contains(keys, strings.TrimSpace(key)) {
			return fail(file, line, "settings must be between two lines of ---, the first at the top of the file")
		}
		break
	}
	return nil
}

// set applies one setting.
func set(p *terret.Persona, f yamlfile.Field) (err error) {
	switch f.Key {
	case "tools":
		p.Tools, err = tools(f)
		return err
	case "disallowed_tools":
		p.DisallowedTools, err = rules(f)
		return err
	case "auto_approve_tools":
		p.AutoApproveTools, err = rules(f)
		return err
	case "gates":
		p.Gates, err = gates(f)
		return err
	}
	if !slices.Contains(keys, f.Key) {
		return unknownKey(f.Key)
	}
	text := strings.TrimSpace(f.Text)
	switch {
	case f.List != nil:
		return terret.Errorf(terret.CodeInvalidRequest, "%s must be one value, not a list", f.Key)
	case text == "":
		return terret.Errorf(terret.CodeInvalidRequest, "%s has no value; leave it out", f.Key)
	case strings.ContainsFunc(text, unicode.IsControl):
		return terret.Errorf(terret.CodeInvalidRequest, "%s contains control characters or several lines", f.Key)
	}
	switch f.Key {
	case "id":
		p.ID, err = text, checkID(text)
	case "description":
		if p.Description = text; len(text) > maxDescription {
			err = terret.Errorf(terret.CodeInvalidRequest, "description must not be longer than %d bytes", maxDescription)
		}
	case "max_turns":
		p.MaxTurns, err = turns(text)
	case "model":
		if p.Model = text; terret.CheckWord("model", text) != nil {
			err = terret.Errorf(terret.CodeInvalidRequest, "%q is not a model name", text)
		}
	case "agent":
		p.Agent, err = text, checkID(text)
	case "sandbox":
		p.Sandbox = terret.Sandbox(text)
		err = p.Sandbox.Validate("sandbox")
	case "policy":
		p.Policy = terret.Policy(text)
		err = p.Policy.Validate()
	}
	return err
}

func unknownKey(key string) error {
	plain := strings.ToLower(strings.NewReplacer("-", "_", " ", "_").Replace(key))
	for _, k := range keys {
		if plain == k || plain == strings.ReplaceAll(k, "_", "") || plain+"s" == k || plain == k+"s" {
			return terret.Errorf(terret.CodeInvalidRequest, "unknown key %q; did you mean %q?", key, k)
		}
	}
	return terret.Errorf(terret.CodeInvalidRequest, "unknown key %q; the keys are %s", key, strings.Join(keys, ", "))
}

func checkID(id string) error {
	if !validID.MatchString(id) {
		return terret.Errorf(terret.CodeInvalidRequest, "%q is not a name; use letters, digits, - and _, at most 64", id)
	}
	return nil
}

func turns(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > maxTurnsLimit {
		return 0, terret.Errorf(terret.CodeInvalidRequest, "max_turns must be a number from 1 to %d, not %q", maxTurnsLimit, text)
	}
	return n, nil
}

// list reads a list, or a text with commas. It is never nil.
func list(f yamlfile.Field) ([]string, error) {
	items := f.List
	if items == nil {
		items = splitList(f.Text)
	}
	out := []string{}
	for _, item := range items {
		item = strings.TrimSpace(item)
		if item == "" {
			return nil, terret.Errorf(terret.CodeInvalidRequest, "%s has an empty entry", f.Key)
		}
		if !slices.Contains(out, item) {
			out = append(out, item)
		}
	}
	if len(out) > maxList {
		return nil, terret.Errorf(terret.CodeInvalidRequest, "%s has more than %d entries", f.Key, maxList)
	}
	return out, nil
}

// splitList splits at commas that are not in parentheses.
func splitList(text string) []string {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	var out []string
	depth, start := 0, 0
	for i, c := range text {
		switch {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == ',' && depth <= 0:
			out = append(out, text[start:i])
			start = i + 1
		}
	}
	return append(out, text[start:])
}

// gates reads a list of wanted gates.
func gates(f yamlfile.Field) ([]terret.Gate, error) {
	names, err := list(f)
	if err != nil {
		return nil, err
	}
	var out []terret.Gate
	for _, name := range names {
		out = append(out, terret.Gate(name))
	}
	return out, terret.CheckGates(f.Key, out)
}

// rules reads a list of rules.
func rules(f yamlfile.Field) ([]string, error) {
	out, err := list(f)
	if err != nil {
		return nil, err
	}
	for _, r := range out {
		if _, err := policy.Parse(r); err != nil {
			return nil, terret.Errorf(terret.CodeInvalidRequest, "%s: %w", f.Key, err)
		}
	}
	return out, nil
}

// tools reads the list of the agent's tools. All of them is nil, as if unset.
func tools(f yamlfile.Field) ([]string, error) {
	out, err := rules(f)
	if err != nil {
		return nil, err
	}
	if slices.Contains(out, policy.AllTools) {
		if len(out) > 1 {
			return nil, terret.Errorf(terret.CodeInvalidRequest, "tools: %s means all tools; name them, or write only %s", policy.AllTools, policy.AllTools)
		}
		return nil, nil
	}
	for _, name := range out {
		if whole, _, ok := strings.Cut(name, "("); ok {
			return nil, terret.Errorf(terret.CodeInvalidRequest,
				"tools takes whole tools; write %s here, and %s in auto_approve_tools, or list exceptions in disallowed_tools", whole, name)
		}
	}
	return out, nil
}
