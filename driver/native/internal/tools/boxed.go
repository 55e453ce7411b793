package tools

import (
	"encoding/json"
	"strings"
)

// The fields with which a command asks to run outside the sandbox.
const (
	outsideField = "outside_sandbox"
	reasonField  = "reason"
)

// Boxed is the tool for a model whose commands run in a sandbox: it says so, and Bash has
// a way to ask for more. Which folders can be written to is in words.
func Boxed(t Tool, words string) Tool {
	if t.Name != "Bash" {
		return t
	}
	t.Description += " It runs in a sandbox: there is no network, and only " + words + " can be written to. " +
		"There may be no shared memory (/dev/shm), which locks of Python's multiprocessing need. " +
		"If a command fails because of that and there is no other way, call it again with " + outsideField + " and a reason: a person then decides."
	t.Schema = json.RawMessage(strings.Replace(string(t.Schema), `"properties":{`, `"properties":{`+
		`"`+outsideField+`":{"type":"boolean","description":"Ask a person to let it run outside the sandbox"},`+
		`"`+reasonField+`":{"type":"string","description":"Why it must run outside the sandbox, for that person"},`, 1))
	return t
}
