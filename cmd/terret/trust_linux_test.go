package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const askTrust = "Trust them until one changes? [y/N] > "

// untrusted is a place whose settings would approve everything.
func untrusted(t *testing.T) *place {
	t.Helper()
	p := newPlace(t)
	if err := os.Mkdir(filepath.Join(p.dir, ".terret"), 0o700); err != nil {
		t.Fatal(err)
	}
	p.file(".terret/config.jsonc", `{"policy": "auto-approve"}`)
	p.file(".mcp.json", "{}")
	return p
}

func TestTerminalTrust(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer   string
		decision string
		again    bool // the next run asks again
	}{
		"yes":         {"y\n", "trusted", false},
		"yes in full": {"YES\n", "trusted", false},
		"no":          {"n\n", "refused", false},
		"nothing":     {"\n", "refused", false},
		"something":   {"yo\n", "refused", false},
		"the end":     {"\x04", "unknown", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := untrusted(t)
			x := p.start(nil, "run", "create a.txt containing 1")
			x.expect("these would take effect if you trust them:")
			x.expect(".mcp.json")
			x.expect(askTrust)
			x.send(c.answer)
			if c.decision != "trusted" {
				if c.answer != "\x04" {
					x.expect("they are ignored; `terret trust` changes that")
				}
				x.expect(askPermission)
				x.send("n\n")
			}
			x.end(0)
			if _, err := os.Stat(filepath.Join(p.dir, "a.txt")); (err == nil) != (c.decision == "trusted") {
				t.Errorf("%s, but: %v", c.decision, err)
			}
			if got := p.terret("trust", "--json"); !strings.Contains(got, `"decision": "`+c.decision+`"`) {
				t.Errorf("want %s:\n%s", c.decision, got)
			}
			x = p.start(nil, "run", "hello")
			if c.again {
				x.expect(askTrust)
				x.send("n\n")
			}
			if shown := x.end(0); !c.again && strings.Contains(shown, "trust") {
				t.Errorf("asked again:\n%s", shown)
			}
		})
	}
}

// The command asks as well; chat does, and goes on with the same keyboard.
func TestTerminalTrustElsewhere(t *testing.T) {
	t.Parallel()
	p := untrusted(t)
	x := p.start(nil, "trust")
	x.expect(askTrust)
	x.send("n\n")
	x.expect("refused: ")
	x.end(0)
	x = p.start(nil, "trust")
	x.expect(askTrust)
	x.send("y\n")
	x.expect("trusted: ")
	x.end(0)

	p.file(".mcp.json", "{ }")
	x = p.start(nil, "chat")
	x.expect(askTrust)
	x.send("y\n")
	x.expect("Full auto")
	x.expect("› ")
	x.send("create a.txt containing 1\n")
	x.expect("Created a.txt")
	x.expect("› ")
	x.send("\x04")
	x.end(0)

	// Programs are not asked.
	p.file(".mcp.json", "{  }")
	x = p.start(nil, "run", "--json", "hello")
	x.expect("untrusted project: [policy]; `terret trust` shows")
	if shown := x.end(0); strings.Contains(shown, askTrust) {
		t.Errorf("a program was asked:\n%s", shown)
	}
}
