package acp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/seat"
	"github.com/terret-dev/terret/internal/rpc"
)

// Probe implements terret.Prober. The program says its version; whether somebody is
// signed in is told by what is there. A program without a profile is started, and
// introduces itself.
func (d *Driver) Probe(ctx context.Context) (terret.Probe, error) {
	if d.p.Can == nil {
		return d.meet(ctx)
	}
	about := terret.Probe{Agent: d.p.Name, Capabilities: d.p.capabilities(*d.p.Can)}
	return d.program().Probe(ctx, about, func(context.Context) string { return d.p.auth(d.cfg.Environ) })
}

func (d *Driver) program() seat.Program {
	p := seat.Program{
		Name: d.p.Name, Title: d.p.title(), Path: d.p.Argv[0], Env: d.environ(d.cfg.Environ, "/", false),
		Install: d.p.Install, Oldest: d.p.Tested, Newest: d.p.Tested,
	}
	if s := d.p.SignIn; len(s.Variables) > 0 {
		p.SignIn = fmt.Sprintf("nobody is signed in; run `%s`, or set %s", s.Command, s.Variables[0])
	}
	return p
}

// meetPatience is how long a program may take to introduce itself.
const meetPatience = 8 * time.Second

// meet starts the program, lets it introduce itself, and ends it.
func (d *Driver) meet(ctx context.Context) (terret.Probe, error) {
	out := terret.Probe{Agent: d.p.Name, Capabilities: d.p.capabilities(Features{})}
	path, err := exec.LookPath(d.p.Argv[0])
	if err != nil {
		out.Fix = d.p.Argv[0] + " was not found" + installHint(d.p)
		return out, nil
	}
	out.Path = path
	patience := min(d.patience, meetPatience)
	limited, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("it did not answer within %s", patience))
	defer cancel()
	said, err := d.introduce(limited)
	if ctx.Err() != nil {
		return out, context.Cause(ctx)
	}
	if err != nil {
		out.Fix = fmt.Sprintf("%s does not answer as an agent that speaks ACP: %v", strings.Join(d.p.Argv, " "), err)
		return out, nil
	}
	out.Found, out.Auth, out.Version = true, d.p.auth(d.cfg.Environ), said.AgentInfo.Version
	out.Capabilities = d.p.capabilities(said.features(opened{}))
	out.Capabilities.Abilities[terret.CanSelectModel] = terret.Ability{Reason: "it says which models it has only in a session"}
	return out, nil
}

// introduce starts the program outside any project and greets it. It waits until the
// program and all its processes are gone.
func (d *Driver) introduce(ctx context.Context) (about, error) {
	program := d.program()
	started, err := program.Start(ctx, seat.Spec{Argv: d.p.Argv, Dir: "/", Env: program.Env, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return about{}, err
	}
	p := &process{Process: started, title: "it"}
	p.connect(rpc.Options{})
	err = p.greet(ctx)
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	err = errors.Join(err, p.Force()) // it has nothing to lose
	p.Discard(ctx)
	return p.about, err
}

func installHint(p Profile) string {
	if p.Install == "" {
		return "; install it, or remove the agent"
	}
	return "; install " + p.title() + " with `" + p.Install + "`"
}

// auth says whether somebody is signed in, in that environment.
func (p Profile) auth(env []string) string {
	s := p.SignIn
	if len(s.Variables)+len(s.Files) == 0 {
		return "unknown"
	}
	if slices.ContainsFunc(s.Variables, func(name string) bool { return seat.Lookup(env, name) != "" }) {
		return "ok"
	}
	home := seat.Lookup(env, "HOME")
	for _, name := range s.Files {
		if info, err := os.Stat(filepath.Join(home, filepath.FromSlash(name))); err == nil && info.Size() > 2 { // more than {}
			return "ok"
		}
	}
	return "missing"
}
