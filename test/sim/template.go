package sim

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/terret-dev/terret/internal/lazyregexp"
)

// A template is text with {{names}} in it: variables, groups of the step's regular
// expressions, last (what the agent said last) and open (two opening braces).
var placeholder = lazyregexp.New(`\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}`)

const (
	nameLast = "last"
	nameOpen = "open"
)

// names lists what a template refers to.
func names(text string) []string {
	var out []string
	for _, m := range placeholder.FindAllStringSubmatch(text, -1) {
		out = append(out, m[1])
	}
	return out
}

// expand inserts values. Names without a value stay; checkNames makes sure that there
// are none.
func expand(text string, values map[string]string) string {
	if !strings.Contains(text, "{{") {
		return text
	}
	return placeholder.ReplaceAllStringFunc(text, func(found string) string {
		if v, ok := values[placeholder.FindStringSubmatch(found)[1]]; ok {
			return v
		}
		return found
	})
}

// checkNames rejects names in text that have no value.
func checkNames(text string, values map[string]string) error {
	for _, name := range names(text) {
		if _, ok := values[name]; !ok {
			have := slices.Sorted(maps.Keys(values))
			return fmt.Errorf("{{%s}} has no value; use one of %s (write {{open}} for two literal braces)", name, strings.Join(have, ", "))
		}
	}
	return nil
}

// eachString calls f with every string in a decoded YAML value, except keys, and
// returns the value with the results.
func eachString(value any, f func(string) string) any {
	switch v := value.(type) {
	case string:
		return f(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = eachString(v[i], f)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k := range v {
			out[k] = eachString(v[k], f)
		}
		return out
	default:
		return value
	}
}
