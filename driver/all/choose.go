package all

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/native"
	"github.com/terret-dev/terret/internal/atomicfile"
)

// How long it is remembered that an agent can be used, and that it cannot.
const (
	rememberReady  = 24 * time.Hour
	rememberAbsent = 10 * time.Minute
)

// memory is what is remembered of agents between runs, since asking them takes up to
// a second each.
type memory struct {
	// Env stands for what decides about being signed in.
	Env    string                `json:"env"`
	Agents map[string]remembered `json:"agents"`
}

type remembered struct {
	Ready bool      `json:"ready"`
	At    time.Time `json:"at"`
	Path  string    `json:"path,omitempty"`
	Built time.Time `json:"built,omitzero"` // when the program was last changed
}

// Choose names the agent to use when nobody says which: the first one that is
// installed and signed in, and else the built-in one. What was found out is kept in a
// file of the data folder for a while; Remember refreshes it.
func Choose(ctx context.Context, drivers []terret.Driver, data string, environ []string) string {
	file, env := filepath.Join(data, "agents.json"), envKey(environ)
	m := load(file, env)
	changed := false
	chosen := native.Name
	for _, d := range drivers {
		name := d.Name()
		p, ok := d.(terret.Prober)
		if !ok || name == native.Name || name == "mock" {
			continue
		}
		r, known := m.Agents[name]
		if !known || !r.fresh() {
			probe, err := p.Probe(ctx)
			if err != nil {
				continue
			}
			r = rememberedOf(probe)
			m.Agents[name], changed = r, true
		}
		if r.Ready {
			chosen = name
			break
		}
	}
	if changed {
		save(file, m)
	}
	return chosen
}

// Remember notes what probes have found out.
func Remember(probes []terret.Probe, data string, environ []string) {
	file := filepath.Join(data, "agents.json")
	m := load(file, envKey(environ))
	for _, p := range probes {
		m.Agents[p.Agent] = rememberedOf(p)
	}
	save(file, m)
}

func rememberedOf(p terret.Probe) remembered {
	r := remembered{Ready: p.Found && p.Auth == "ok", At: time.Now(), Path: p.Path}
	if info, err := os.Stat(p.Path); err == nil {
		r.Built = info.ModTime()
	}
	return r
}

// fresh reports whether it still counts.
func (r remembered) fresh() bool {
	age := time.Since(r.At)
	if !r.Ready {
		return age >= 0 && age < rememberAbsent
	}
	info, err := os.Stat(r.Path)
	return err == nil && info.ModTime().Equal(r.Built) && age >= 0 && age < rememberReady
}

// envKey stands for the variables that decide which program is found and who is
// signed in. It holds names, and of values only a hash of those that are no secrets.
func envKey(environ []string) string {
	var parts []string
	for _, e := range environ {
		name, value, _ := strings.Cut(e, "=")
		switch {
		case name == "HOME" || name == "PATH" || name == "CLAUDE_CONFIG_DIR":
			parts = append(parts, name+"="+value)
		case strings.HasPrefix(name, "ANTHROPIC_") || strings.HasPrefix(name, "CLAUDE_"):
			parts = append(parts, name)
		}
	}
	slices.Sort(parts)
	sum := sha256.Sum256([]byte(strings.Join(parts, "\n")))
	return hex.EncodeToString(sum[:8])
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

// save keeps it. Failing costs time only, at the next start.
func save(file string, m memory) {
	b, err := json.Marshal(m)
	if err != nil || os.MkdirAll(filepath.Dir(file), 0o700) != nil {
		return
	}
	_ = atomicfile.Swap(file, b)
}
