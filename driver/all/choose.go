package all

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/native"
	"github.com/terret-dev/terret/internal/files"
)

// How long we remember that an agent can, or cannot, be used.
const (
	rememberReady  = 24 * time.Hour
	rememberAbsent = 10 * time.Minute
)

// memory is what we remember about agents between runs, since probing takes up to a
// second each.
type memory struct {
	// Env identifies the environment that decides about being signed in.
	Env    string                `json:"env"`
	Agents map[string]remembered `json:"agents"`
}

type remembered struct {
	Ready bool `json:"ready"` // it is chosen if nobody names one
	// Usable says that nothing is known to be missing: it is ready, or cannot tell who is
	// signed in.
	Usable    bool             `json:"usable,omitempty"`
	Oversight terret.Oversight `json:"oversight,omitempty"`
	At        time.Time        `json:"at"`
	Path      string           `json:"path,omitempty"`
	Built     time.Time        `json:"built,omitzero"` // when the program was last changed
	Said      *terret.Probe    `json:"said,omitempty"` // all that it said
}

// Choose names the agent to use when nobody says which: the first program that is
// installed and signed in, else the built-in agent. Those about which nothing is known
// are all asked at once, and Choose waits only for those before the one it returns. It
// keeps the answers for a while in a file of the data folder; Remember refreshes them.
func Choose(ctx context.Context, drivers []terret.Driver, data string, environ []string) string {
	file := filepath.Join(data, "agents.json")
	m := load(file, envKey(drivers, environ))
	ctx, cancel := context.WithTimeout(ctx, probeLimit)
	var wait sync.WaitGroup
	defer wait.Wait()
	defer cancel()
	answers := map[string]chan terret.Probe{}
	for _, d := range drivers {
		r, known := m.Agents[d.Name()]
		if !terret.DescriptionOf(d).Program || known && r.fresh() {
			continue
		}
		answer := make(chan terret.Probe, 1)
		answers[d.Name()] = answer
		wait.Go(func() { answer <- probe(ctx, d) })
	}
	for _, d := range drivers {
		if !terret.DescriptionOf(d).Program {
			continue
		}
		if answer := answers[d.Name()]; answer != nil {
			m.Agents[d.Name()] = rememberedOf(<-answer)
			if ctx.Err() == nil {
				save(file, m)
			}
		}
		if m.Agents[d.Name()].Ready {
			return d.Name()
		}
	}
	return native.Name
}

// probeLimit bounds how long an agent may take to say whether it can be used.
const probeLimit = 10 * time.Second

// Probes asks all drivers at the same time whether their agents can be used. Each has
// ten seconds to answer. The answers are in the order of the drivers.
func Probes(ctx context.Context, drivers []terret.Driver) []terret.Probe {
	ctx, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	out := make([]terret.Probe, len(drivers))
	var wait sync.WaitGroup
	for i, d := range drivers {
		wait.Go(func() { out[i] = probe(ctx, d) })
	}
	wait.Wait()
	return out
}

// Ask asks one driver, as Probes does, and reports whether its agent answered in time.
func Ask(ctx context.Context, d terret.Driver) (said terret.Probe, answered bool) {
	ctx, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	said = probe(ctx, d)
	return said, ctx.Err() == nil
}

// Declared says at once what agents can do, without starting their programs. Of those that
// said that they are there, it is what they said; of the others it does not know whether
// they are installed and signed in. Agents of which only their program knows what they can
// do are left out.
func Declared(ctx context.Context, drivers []terret.Driver, said map[string]terret.Probe) []terret.Probe {
	var out []terret.Probe
	for _, d := range drivers {
		about := terret.DescriptionOf(d)
		last, known := said[d.Name()]
		switch {
		case known && last.Found && about.Program:
			out = append(out, named(last, about))
		case !about.Program:
			out = append(out, probe(ctx, d))
		case about.Can != nil:
			out = append(out, named(terret.Probe{Agent: d.Name(), Capabilities: *about.Can}, about))
		}
	}
	return out
}

// named adds what the driver says about its agent.
func named(p terret.Probe, about terret.Description) terret.Probe {
	p.Title, p.Modes = about.Title, slices.Sorted(maps.Keys(about.Modes))
	return p
}

func probe(ctx context.Context, d terret.Driver) terret.Probe {
	p, ok := d.(terret.Prober)
	if !ok {
		return terret.Probe{Agent: d.Name(), Found: true, Auth: "unknown"}
	}
	found, err := p.Probe(ctx)
	switch {
	case errors.Is(err, context.DeadlineExceeded) && found.Found: // it did not get to say who is signed in
		found.Auth = "unknown"
	case errors.Is(err, context.DeadlineExceeded):
		found.Agent, found.Found, found.Fix = d.Name(), false, fmt.Sprintf("it did not answer within %s; ask again when the machine has less to do", probeLimit)
	case err != nil:
		found.Agent, found.Found, found.Fix = d.Name(), false, err.Error()
	}
	return named(found, terret.DescriptionOf(d))
}

// Remember notes what probes have found out.
func Remember(probes []terret.Probe, drivers []terret.Driver, data string, environ []string) {
	file := filepath.Join(data, "agents.json")
	m := load(file, envKey(drivers, environ))
	for _, p := range probes {
		m.Agents[p.Agent] = rememberedOf(p)
	}
	save(file, m)
}

// Recall returns what is remembered about an agent that can be used: only its name, that
// it is there, and its oversight. It reports whether that still counts.
func Recall(agent string, drivers []terret.Driver, data string, environ []string) (terret.Probe, bool) {
	r := load(filepath.Join(data, "agents.json"), envKey(drivers, environ)).Agents[agent]
	if !r.Usable || r.Oversight == "" || !r.fresh() {
		return terret.Probe{}, false
	}
	return terret.Probe{Agent: agent, Found: true, Path: r.Path, Capabilities: terret.Capabilities{Oversight: r.Oversight}}, true
}

// Recalled is what the agents said last that are installed, by their names, as long as
// their programs are the same. It may be old: it is for showing until they say it again.
func Recalled(drivers []terret.Driver, data string, environ []string) map[string]terret.Probe {
	out := map[string]terret.Probe{}
	for name, r := range load(filepath.Join(data, "agents.json"), envKey(drivers, environ)).Agents {
		if r.Said == nil || !r.Said.Found || r.Said.Agent != name {
			continue
		}
		if info, err := os.Stat(r.Path); err == nil && info.ModTime().Equal(r.Built) {
			out[name] = *r.Said
		}
	}
	return out
}

func rememberedOf(p terret.Probe) remembered {
	r := remembered{Ready: p.Found && p.Auth == "ok", Usable: p.Usable(), Oversight: p.Capabilities.Oversight, At: time.Now(), Path: p.Path, Said: &p}
	if info, err := os.Stat(p.Path); err == nil {
		r.Built = info.ModTime()
	}
	return r
}

// fresh reports whether it still counts.
func (r remembered) fresh() bool {
	age := time.Since(r.At)
	if !r.Usable {
		return age >= 0 && age < rememberAbsent
	}
	info, err := os.Stat(r.Path)
	return err == nil && info.ModTime().Equal(r.Built) && age >= 0 && age < rememberReady
}

// envKey stands for the variables that decide which program is found and who is
// signed in. It holds names, and of values only a hash of those that are no secrets.
func envKey(drivers []terret.Driver, environ []string) string {
	var patterns, parts []string
	for _, d := range drivers {
		patterns = append(patterns, terret.DescriptionOf(d).Env...)
	}
	for _, e := range environ {
		name, value, _ := strings.Cut(e, "=")
		switch {
		case name == "HOME" || name == "PATH" || strings.HasSuffix(name, "_DIR") && matches(patterns, name):
			parts = append(parts, name+"="+value)
		case matches(patterns, name):
			parts = append(parts, name)
		}
	}
	slices.Sort(parts)
	sum := sha256.Sum256([]byte(strings.Join(parts, "\n")))
	return hex.EncodeToString(sum[:8])
}

// matches reports whether a pattern is the name, or ends in a star and begins it.
func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		prefix, star := strings.CutSuffix(p, "*")
		return p == name || star && strings.HasPrefix(name, prefix)
	})
}

// load reads what is remembered. A file that cannot be read holds nothing.
func load(file, env string) memory {
	m := memory{}
	if b, err := os.ReadFile(file); err == nil {
		_ = json.Unmarshal(b, &m)
	}
	if m.Env != env || m.Agents == nil {
		m = memory{Env: env, Agents: map[string]remembered{}}
	}
	return m
}

// save writes the memory. A failure only costs time at the next start.
func save(file string, m memory) {
	b, err := json.Marshal(m)
	if err != nil || os.MkdirAll(filepath.Dir(file), 0o700) != nil {
		return
	}
	_ = files.Swap(file, b)
}
