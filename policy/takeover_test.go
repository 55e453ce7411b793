package policy

import (
	"testing"

	"github.com/terret-dev/terret"
)

// TestTakenOver judges commands that begin elsewhere, or with variables that earlier ones
// have changed.
func TestTakenOver(t *testing.T) {
	t.Parallel()
	rules := append(allow("Bash(ls *)", "Bash(make test)"), deny("Edit(secrets/**)", "Read(secrets/**)")...)
	for name, c := range map[string]struct {
		input []any
		want  terret.Behavior
	}{
		"as usual":              {[]any{"command", "ls a"}, terret.BehaviorAllow},
		"nothing changed":       {[]any{"command", "ls a", "env", []string{}}, terret.BehaviorAllow},
		"a harmless one":        {[]any{"command", "ls a", "env", []string{"CI", "LANG"}}, terret.BehaviorAllow},
		"another PATH":          {[]any{"command", "ls a", "env", []string{"CI", "PATH"}}, terret.BehaviorAsk},
		"one with a value":      {[]any{"command", "ls a", "env", map[string]string{"LD_PRELOAD": "x.so"}}, terret.BehaviorAsk},
		"as text":               {[]any{"command", "ls a", "env", "PATH=/evil"}, terret.BehaviorAsk},
		"exactly":               {[]any{"command", "make test"}, terret.BehaviorAllow},
		"exactly, other PATH":   {[]any{"command", "make test", "env", []string{"PATH"}}, terret.BehaviorAsk},
		"written elsewhere":     {[]any{"command", "echo x > key", "cwd", "secrets"}, terret.BehaviorDeny},
		"read elsewhere":        {[]any{"command", "cat key", "cwd", "secrets"}, terret.BehaviorDeny},
		"read, with other PATH": {[]any{"command", "cat secrets/key", "env", []string{"PATH"}}, terret.BehaviorDeny},
	} {
		got := Judge(Subject{Tool: "Bash", Class: terret.ClassExecute, Cwd: "/repo", Readlink: noLinks, Input: object(c.input...)}, rules, terret.PolicyAsk)
		if got.Behavior != c.want {
			t.Errorf("%s: %s (%s), want %s", name, got.Behavior, got.Reason, c.want)
		}
	}
}
