package seat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/proc"
)

// Variables are what a program sees of an environment.
type Variables struct {
	Allow []string // names beside those that programs usually need; NAME* is a prefix
	Hide  []string // names that an agent around us may have set for itself
	Set   []string // NAME=VALUE, whatever the environment says
}

// Of is what the program sees of env.
func (v Variables) Of(env []string) []string {
	kept := slices.DeleteFunc(proc.FilterEnv(env, v.Allow...), func(e string) bool {
		name, _, _ := strings.Cut(e, "=")
		return slices.Contains(v.Hide, name) || slices.ContainsFunc(v.Set, func(s string) bool { return strings.HasPrefix(s, name+"=") })
	})
	return append(kept, v.Set...)
}

// Lookup is the value of a variable; the last one of a name counts.
func Lookup(env []string, name string) string {
	for _, e := range slices.Backward(env) {
		if v, ok := strings.CutPrefix(e, name+"="); ok {
			return v
		}
	}
	return ""
}

// Encode is JSON on one line, without HTML escapes. It is for values that a driver has
// made: one that cannot be encoded is a mistake in the driver.
func Encode(v any) json.RawMessage {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(fmt.Sprintf("seat: encode %T: %v", v, err))
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
}

// Decode reads JSON that may have any shape, and reports whether it had the expected one.
func Decode(b []byte, v any) bool { return len(b) > 0 && json.Unmarshal(b, v) == nil }

// CheckWords refuses values that a program could read as a flag, or that hide something.
func CheckWords(fields map[string][]string) error {
	for field, words := range fields {
		for _, word := range words {
			if err := terret.CheckWord(field, word); err != nil {
				return err
			}
		}
	}
	return nil
}

// CheckObjects refuses settings that are no JSON objects. Empty ones are fine.
func CheckObjects(fields map[string]terret.JSON) error {
	for field, v := range fields {
		var object map[string]json.RawMessage
		if len(v) > 0 && (!Decode(v, &object) || object == nil) {
			return terret.Invalid(field, "it is not a JSON object")
		}
	}
	return nil
}

// Server is an MCP server in a config file.
type Server struct {
	Type    string            `json:"type"`
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env"`
	Cwd     string            `json:"cwd"`
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers"`
}

// Servers are the MCP servers of a config file, by name. With an error come those that
// could be read.
func Servers(config terret.JSON) (map[string]Server, error) {
	var file struct {
		Servers map[string]Server `json:"mcpServers"`
	}
	var err error
	if len(config) > 0 && !Decode(config, &file) {
		err = terret.Invalid("mcp", "it is not an object with mcpServers")
	}
	return file.Servers, err
}

// Capabilities is all that an agent may be able to do, by itself, but for what the
// harness does for it and what it lacks, with the reason.
func Capabilities(harness []terret.Capability, lacking map[terret.Capability]string) terret.Capabilities {
	c := terret.Capabilities{Oversight: terret.OversightAll, Abilities: map[terret.Capability]terret.Ability{}}
	for _, name := range terret.AllCapabilities() {
		c.Abilities[name] = terret.Ability{OK: true, By: terret.ByAgent}
	}
	for _, name := range harness {
		c.Abilities[name] = terret.Ability{OK: true, By: terret.ByHarness}
	}
	for name, why := range lacking {
		c.Abilities[name] = terret.Ability{Reason: why}
	}
	return c
}
