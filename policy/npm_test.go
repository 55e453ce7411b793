//go:build unix

package policy

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// npmFile holds npm's own table of its options and commands. It is written by
// go test ./policy -run TestNpm -args -probe.record.
const npmFile = "testdata/npm.txt"

// npmScript prints it: each line is a kind and names.
const npmScript = `
const path = require("path").dirname(require("fs").realpathSync(process.argv[1])) + "/..";
const {definitions, shorthands} = require(path + "/node_modules/@npmcli/config/lib/definitions");
const list = require(path + "/lib/utils/cmd-list.js");
const by = {bool: [], value: []};
for (const key of Object.keys(definitions)) {
  const types = [].concat(definitions[key].type);
  by[types.includes(Boolean) ? "bool" : "value"].push(key);
}
console.log("bool " + by.bool.join(" "));
console.log("value " + by.value.join(" "));
for (const s of Object.keys(shorthands)) console.log("short " + s + " " + shorthands[s].join(" "));
console.log("command " + list.commands.join(" "));
for (const a of Object.keys(list.aliases)) console.log("alias " + a + " " + list.aliases[a]);
`

// npmTable is npm's table.
type npmTable struct {
	kind    map[string]string   // of an option: bool or value
	short   map[string][]string // what stands for an option
	command map[string]string   // what a command or an alias is
}

func readNpm(t *testing.T) npmTable {
	t.Helper()
	if program, err := exec.LookPath("npm"); err == nil && *probeRecord {
		out, err := exec.CommandContext(t.Context(), "node", "-e", npmScript, program).Output()
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(npmFile, out, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := os.ReadFile(filepath.FromSlash(npmFile))
	if err != nil {
		t.Fatal(err)
	}
	n := npmTable{map[string]string{}, map[string][]string{}, map[string]string{}}
	for line := range strings.Lines(string(raw)) {
		switch words := strings.Fields(line); words[0] {
		case "bool", "value":
			for _, name := range words[1:] {
				n.kind[name] = words[0]
			}
		case "short":
			n.short[words[1]] = words[2:]
		case "command":
			for _, name := range words[1:] {
				n.command[name] = name
			}
		case "alias":
			n.command[words[1]] = words[2]
		}
	}
	return n
}

// takesValue reports whether npm takes the next word for the option's value, and
// whether it has the option.
func (n npmTable) takesValue(option string) (takes, known bool) {
	name := strings.TrimLeft(option, "-")
	if expanded, ok := n.short[name]; ok {
		name = strings.TrimLeft(expanded[0], "-")
		if len(expanded) > 1 {
			return false, true // its value is fixed
		}
	}
	if n.kind[name] == "" {
		name = strings.TrimPrefix(name, "no-")
	}
	return n.kind[name] == "value", n.kind[name] != ""
}

func TestNpm(t *testing.T) {
	t.Parallel()
	n := readNpm(t)
	if len(n.kind) < 100 || len(n.command) < 100 {
		t.Fatalf("%d options and %d commands: the record is not whole", len(n.kind), len(n.command))
	}
	for option, k := range table()["@npm"].options {
		takes, known := n.takesValue(option)
		if known && takes != k.takesWord() {
			t.Errorf("%s: npm takes a value: %v", option, takes)
		}
		if !known {
			t.Errorf("%s: npm has no such option", option)
		}
	}
	// What npm itself names as options that run something, or lead elsewhere.
	for _, name := range []string{"call", "editor", "git", "globalconfig", "init-module", "node-gyp", "node-options", "package", "script-shell", "shell", "userconfig", "viewer"} {
		if n.kind[name] != "value" || table()["@npm"].options["--"+name] != kindUnlisted {
			t.Errorf("--%s runs something, and is called harmless", name)
		}
	}
	runs := []string{"exec", "explore", "edit", "init", "set"}
	for name := range table() {
		command, ok := strings.CutPrefix(name, "npm ")
		command, _, _ = strings.Cut(command, " ")
		if !ok {
			continue
		}
		if n.command[command] == "" {
			t.Errorf("npm has no command %q", command)
		}
		if slices.Contains(runs, n.command[command]) && !table()[name].named {
			t.Errorf("npm %s is npm %s, which runs something", command, n.command[command])
		}
	}
	// npm takes a command that is cut short; the table must not.
	for _, full := range slices.Sorted(maps.Keys(n.command)) {
		for i := 1; i < len(full); i++ {
			short := full[:i]
			if r := table()["npm "+short]; r != nil && n.command[short] == "" {
				t.Errorf("npm %s is in the table, and is no command", short)
			}
		}
	}
}
