package sim

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// pattern is a substring or, written between slashes, a regular expression. The zero
// pattern is unset.
type pattern struct {
	written string
	re      *regexp.Regexp // nil means a substring
}

// newPattern inserts values and compiles the result. Values are literal, even within a
// regular expression.
func newPattern(written string, values map[string]string) (pattern, error) {
	if len(written) < 2 || written[0] != '/' || written[len(written)-1] != '/' {
		return pattern{written: expand(written, values)}, nil
	}
	quoted := make(map[string]string, len(values))
	for k, v := range values {
		quoted[k] = regexp.QuoteMeta(v)
	}
	re, err := regexp.Compile(expand(written[1:len(written)-1], quoted))
	if err != nil {
		return pattern{}, fmt.Errorf("%s is not a regular expression: %w", written, err)
	}
	return pattern{written: written, re: re}, nil
}

func (p pattern) set() bool { return p.written != "" }

func (p pattern) String() string {
	if p.re != nil {
		return "matches " + p.written
	}
	return fmt.Sprintf("contains %q", p.written)
}

// groups lists the named groups.
func (p pattern) groups() []string {
	if p.re == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(p.re.SubexpNames()), func(name string) bool { return name == "" })
}

// find looks for the pattern in each text, then in all of them together, and puts the
// named groups into values.
func (p pattern) find(values map[string]string, texts ...string) bool {
	if len(texts) > 1 {
		texts = append(slices.Clone(texts), strings.Join(texts, "\n"))
	}
	for _, text := range texts {
		if p.re == nil {
			if strings.Contains(text, p.written) {
				return true
			}
			continue
		}
		found := p.re.FindStringSubmatch(text)
		if found == nil {
			continue
		}
		for i, name := range p.re.SubexpNames() {
			if name != "" {
				values[name] = found[i]
			}
		}
		return true
	}
	return false
}

// condition is when a step answers: all patterns that are set must be found.
type condition struct{ user, result, first, system, model, reminder pattern }

func newCondition(m matchFile, values map[string]string) (condition, error) {
	var c condition
	for _, field := range []struct {
		to      *pattern
		written string
	}{{&c.user, m.User}, {&c.result, m.ToolResult}, {&c.first, m.First}, {&c.system, m.System}, {&c.model, m.Model}, {&c.reminder, m.Reminder}} {
		p, err := newPattern(field.written, values)
		if err != nil {
			return condition{}, err
		}
		*field.to = p
	}
	return c, nil
}

// holds reports whether the request meets the condition, and puts the named groups into
// values.
func (c condition) holds(r Request, h heard, values map[string]string) bool {
	return (!c.user.set() || c.user.find(values, h.user...)) &&
		(!c.result.set() || c.result.find(values, h.results...)) &&
		(!c.first.set() || c.first.find(values, r.first())) &&
		(!c.system.set() || c.system.find(values, r.System)) &&
		(!c.model.set() || c.model.find(values, r.Model)) &&
		(!c.reminder.set() || c.reminder.find(values, r.reminders()...))
}

func (c condition) groups() []string {
	return slices.Concat(c.user.groups(), c.result.groups(), c.first.groups(), c.system.groups(), c.model.groups(), c.reminder.groups())
}

func (c condition) String() string {
	var parts []string
	for _, field := range []struct {
		name string
		p    pattern
	}{{"the user's text", c.user}, {"a tool result", c.result}, {"the first text", c.first}, {"the system prompt", c.system}, {"the model", c.model}, {"a reminder", c.reminder}} {
		if field.p.set() {
			parts = append(parts, field.name+" "+field.p.String())
		}
	}
	if len(parts) == 0 {
		return "anything"
	}
	return strings.Join(parts, " and ")
}
