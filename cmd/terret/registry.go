package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/lazyregexp"
	"github.com/terret-dev/terret/internal/server/assemble"
)

// registry is a list of agents that speak ACP, in the format of the protocol's own registry.
type registry struct {
	Agents []registered `json:"agents"`
}

type registered struct {
	ID           string `json:"id"`
	Name         string `json:"name"`
	Version      string `json:"version"`
	Description  string `json:"description"`
	Repository   string `json:"repository"`
	License      string `json:"license"`
	Distribution struct {
		NPX    *packaged           `json:"npx"`
		UVX    *packaged           `json:"uvx"`
		Binary map[string]archived `json:"binary"` // by system and processor
	} `json:"distribution"`
}

// packaged is a package that a package manager's runner fetches when it first runs.
type packaged struct {
	Package string            `json:"package"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env"`
}

type archived struct {
	Archive string `json:"archive"`
	SHA256  string `json:"sha256"`
	Cmd     string `json:"cmd"`
}

const (
	maxRegistry     = 8 << 20
	registryTimeout = 20 * time.Second
)

// readRegistry reads a registry from a file, or from an address.
func readRegistry(ctx context.Context, place string) (r registry, err error) {
	var text []byte
	if strings.HasPrefix(place, "https://") || strings.HasPrefix(place, "http://") {
		text, err = fetchRegistry(ctx, place)
	} else {
		var f *os.File
		if f, err = os.Open(place); err == nil {
			defer f.Close()
			text, err = io.ReadAll(io.LimitReader(f, maxRegistry+1))
		}
	}
	if err == nil && len(text) > maxRegistry {
		err = fmt.Errorf("it is larger than %d MB", maxRegistry>>20)
	}
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		return r, terret.Invalid("registry", "cannot read %s: %w", place, err)
	}
	return r, nil
}

func fetchRegistry(ctx context.Context, url string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, registryTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the server answered %s", resp.Status)
	}
	return io.ReadAll(io.LimitReader(resp.Body, maxRegistry+1))
}

// find is the agent of that id.
func (r registry) find(id string) (registered, error) {
	i := slices.IndexFunc(r.Agents, func(a registered) bool { return a.ID == id })
	if i >= 0 {
		return r.Agents[i], nil
	}
	var ids []string
	for _, a := range r.Agents {
		ids = append(ids, printable(a.ID))
	}
	slices.Sort(ids)
	return registered{}, terret.Errorf(terret.CodeNotFound, "the registry has no agent %q; it has %s", id, fit(strings.Join(ids, ", "), 2000))
}

// packageRE is a package with a version or without one: nothing that a runner could take for
// an option, a path or an address.
var packageRE = lazyregexp.New(`^(@[a-z0-9][\w.-]*/)?[A-Za-z0-9][\w.-]*(\[[\w,-]+\])?((@|==)[A-Za-z0-9][\w.+-]*)?$`)

// argv is what starts the agent, and from where its program comes.
func (a registered) argv() (argv []string, from string, err error) {
	var p *packaged
	switch d := a.Distribution; {
	case d.NPX != nil && inPath("npx"):
		p, argv, from = d.NPX, []string{"npx", "-y"}, "npm"
	case d.UVX != nil && inPath("uvx"):
		p, argv, from = d.UVX, []string{"uvx"}, "PyPI"
	default:
		return nil, "", a.noRunner()
	}
	if !packageRE.MatchString(p.Package) {
		return nil, "", terret.Invalid("registry", "%q is not the name of a package", p.Package)
	}
	argv = append(append(argv, p.Package), p.Args...)
	if len(p.Env) > 0 {
		set := []string{"env"}
		for _, name := range slices.Sorted(maps.Keys(p.Env)) {
			set = append(set, name+"="+p.Env[name])
		}
		argv = append(set, argv...)
	}
	for _, arg := range argv {
		if arg != printable(arg) {
			return nil, "", terret.Invalid("registry", "the command of %s holds control characters", a.ID)
		}
	}
	return argv, from, nil
}

// noRunner says how to come by an agent that no runner here can fetch.
func (a registered) noRunner() error {
	processor := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
	if b, ok := a.Distribution.Binary[runtime.GOOS+"-"+processor]; ok {
		return terret.Errorf(terret.CodeUnsupported, "%s comes as an archive: unpack %s (sha256 %s), then `terret agents add %s -- PATH/%s`", a.ID, printable(b.Archive), printable(b.SHA256), a.ID, printable(strings.TrimPrefix(b.Cmd, "./")))
	}
	need := "a program for another system"
	switch {
	case a.Distribution.NPX != nil:
		need = "npx, which comes with Node.js"
	case a.Distribution.UVX != nil:
		need = "uvx, which comes with uv"
	}
	return terret.Errorf(terret.CodeUnsupported, "%s needs %s", a.ID, need)
}

func inPath(program string) bool {
	_, err := exec.LookPath(program)
	return err == nil
}

// runAgentsRegistered adds an agent of a registry, after a yes.
func runAgentsRegistered(ctx context.Context, a *app, n assemble.NewAgent, place string, agreed bool) error {
	r, err := readRegistry(ctx, place)
	if err != nil {
		return err
	}
	found, err := r.find(n.Name)
	if err != nil {
		return err
	}
	var from string
	if n.Argv, from, err = found.argv(); err != nil {
		return err
	}
	fmt.Fprintf(a.err, "%s %s: %s\n", printable(found.Name), printable(found.Version), fit(oneLine(found.Description), 200))
	fmt.Fprintf(a.err, "license %s, source %s\n", nonEmpty(printable(found.License), "not said"), nonEmpty(printable(found.Repository), "not said"))
	fmt.Fprintf(a.err, "runs     %s\n", strings.Join(n.Argv, " "))
	fmt.Fprintf(a.err, "fetched  from %s when it first runs, which is now; it runs as you\n", from)
	if !agreed {
		if !a.interactive() {
			return terret.Invalid("yes", "nobody can be asked here; look at what it runs, and use --yes")
		}
		if agreed, err = a.confirm(ctx, "Add it? [y/N] > "); err != nil || !agreed {
			return err
		}
	}
	return runAgentsAdd(ctx, a, n)
}
