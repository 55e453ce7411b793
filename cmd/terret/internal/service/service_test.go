package service

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
)

// odd is full of what the files give a meaning to.
var odd = Spec{
	Program: "/bin/sh", Dir: "/tmp", Log: "/tmp/a&b.log",
	Args: []string{"serve", "--root", `/home/me/my "50%" src`, "$HOME", `a\b`, "a < b & c"},
	Env:  []string{`PATH=/bin:/my "bin"/100%`, "TERRET_HOME=/x y"},
}

func TestUnit(t *testing.T) {
	t.Parallel()
	unit, err := Unit(odd)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		`ExecStart="/bin/sh" "serve" "--root" "/home/me/my \"50%%\" src" "$$HOME" "a\\b" "a < b & c"`,
		`Environment="PATH=/bin:/my \"bin\"/100%%"`, `Environment="TERRET_HOME=/x y"`, "WorkingDirectory=/tmp",
	} {
		if !strings.Contains(unit, "\n"+line+"\n") {
			t.Errorf("no line %s in\n%s", line, unit)
		}
	}
	if _, err := Unit(Spec{Program: "/bin/sh", Dir: "/tmp", Args: []string{"a\nExecStartPre=/bin/evil"}}); err == nil {
		t.Error("a line break is taken")
	}
}

func TestAgent(t *testing.T) {
	t.Parallel()
	agent, err := Agent(odd)
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	for dec := xml.NewDecoder(strings.NewReader(agent)); ; {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("%v\n%s", err, agent)
		}
		if chars, ok := token.(xml.CharData); ok && strings.TrimSpace(string(chars)) != "" {
			words = append(words, string(chars))
		}
	}
	all := strings.Join(words, "\n")
	for _, want := range append([]string{odd.Program, AgentName, "/tmp/a&b.log", `/bin:/my "bin"/100%`, "TERRET_HOME"}, odd.Args...) {
		if !strings.Contains("\n"+all+"\n", "\n"+want+"\n") {
			t.Errorf("no %s in\n%s", want, agent)
		}
	}
	if _, err := Agent(Spec{Program: "/bin/sh\r"}); err == nil {
		t.Error("a line break is taken")
	}
}
