package acp

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/program"
)

// Probe implements terret.Prober. The program says its version; whether somebody is
// signed in is told by what is there.
func (d *Driver) Probe(ctx context.Context) (terret.Probe, error) {
	can := cmp.Or(d.p.Can, &Features{})
	p := program.Program{
		Title: d.p.title(), Path: d.p.Argv[0], Env: d.environ(d.cfg.Environ, "/", false),
		Install: d.p.Install, Oldest: d.p.Tested, Newest: d.p.Tested,
	}
	if s := d.p.SignIn; len(s.Variables) > 0 {
		p.SignIn = fmt.Sprintf("nobody is signed in; run `%s`, or set %s", s.Command, s.Variables[0])
	}
	about := terret.Probe{Agent: d.p.Name, Capabilities: d.p.capabilities(*can)}
	return p.Probe(ctx, about, func(context.Context) string { return d.p.auth(d.cfg.Environ) })
}

// auth says whether somebody is signed in, in that environment.
func (p Profile) auth(env []string) string {
	s := p.SignIn
	if len(s.Variables)+len(s.Files) == 0 {
		return "unknown"
	}
	if slices.ContainsFunc(s.Variables, func(name string) bool { return lookup(env, name) != "" }) {
		return "ok"
	}
	home := lookup(env, "HOME")
	for _, name := range s.Files {
		if info, err := os.Stat(filepath.Join(home, filepath.FromSlash(name))); err == nil && info.Size() > 2 { // more than {}
			return "ok"
		}
	}
	return "missing"
}
