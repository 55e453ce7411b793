package uhp

import (
	"context"
	"encoding/base64"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/client"
)

// configured is a harness as the protocol shows it, with what its sessions are.
type configured struct {
	ID             string      `json:"id"`
	Object         string      `json:"object"`
	Name           string      `json:"name"`
	Base           string      `json:"base"`
	BaseLabel      string      `json:"baseLabel,omitempty"`
	DefaultModel   string      `json:"defaultModel,omitempty"`
	SystemPrompt   string      `json:"systemPrompt"`
	McpServers     []mcpServer `json:"mcpServers"`
	Skills         []skill     `json:"skills"`
	DisabledTools  []string    `json:"disabledTools"`
	MaxStep        *int        `json:"maxStep"`
	TimeoutSeconds *int        `json:"timeoutSeconds"`
	CreatedAt      int64       `json:"createdAt"`
	Policy         string      `json:"terret_policy,omitempty"`
	Cwd            string      `json:"terret_cwd,omitempty"`

	session client.NewSession
	preset  client.Preset
}

func (h *configured) steps() int {
	if h.MaxStep == nil {
		return 0
	}
	return *h.MaxStep
}

type mcpServer struct {
	Name      string            `json:"name"`
	URL       string            `json:"url"`
	Transport string            `json:"transport,omitempty"`
	Enabled   *bool             `json:"enabled,omitempty"`
	Headers   map[string]string `json:"headers,omitempty"`
	Auth      string            `json:"auth,omitempty"`
}

type skill struct {
	Name    string      `json:"name"`
	Enabled *bool       `json:"enabled,omitempty"`
	Files   []skillFile `json:"files,omitempty"`
	Content *string     `json:"content,omitempty"`
	Blob    string      `json:"blob,omitempty"`
}

type skillFile struct {
	Path    string  `json:"path"`
	Content *string `json:"content,omitempty"`
	Base64  *string `json:"content_b64,omitempty"`
}

// harnessOf is the harness with which a session was made.
func harnessOf(s terret.Session) string {
	switch {
	case s.Options.Preset != "":
		return prefixHarness + bare("", s.Options.Preset)
	case s.Persona != "":
		return prefixPersona + string(s.Persona)
	}
	return prefixAgent + s.Agent
}

func empty(id, name, base string) *configured {
	return &configured{ID: id, Object: "harness", Name: name, Base: base, McpServers: []mcpServer{}, Skills: []skill{}, DisabledTools: []string{}}
}

func ofAgent(p terret.Probe) *configured {
	h := empty(prefixAgent+p.Agent, p.Title, p.Agent)
	if h.Name == "" {
		h.Name = p.Agent
	}
	h.BaseLabel, h.DefaultModel = p.Title, p.Model
	h.session.Agent = p.Agent
	return h
}

func ofPersona(p terret.Persona, dir, agent string) *configured {
	if p.Agent != "" {
		agent = p.Agent
	}
	h := empty(prefixPersona+p.ID, p.ID, agent)
	h.DefaultModel, h.DisabledTools, h.Policy = p.Model, append(h.DisabledTools, p.DisallowedTools...), string(p.Policy)
	if p.MaxTurns > 0 {
		h.MaxStep = &p.MaxTurns
	}
	h.session = client.NewSession{Persona: p.ID, Cwd: dir}
	return h
}

func ofPreset(p client.Preset) *configured {
	h := empty(prefixHarness+bare("", p.ID), p.Name, p.Agent)
	h.preset, h.session.Preset = p, p.ID
	h.DefaultModel, h.SystemPrompt, h.Policy, h.Cwd = p.Model, p.SystemAppend, string(p.Policy), p.Cwd
	h.DisabledTools, h.CreatedAt = append(h.DisabledTools, p.DisallowedTools...), p.CreatedAt.UnixMilli()
	if p.MaxTurns > 0 {
		h.MaxStep = &p.MaxTurns
	}
	if p.Seconds > 0 {
		h.TimeoutSeconds = &p.Seconds
	}
	for _, s := range p.Servers {
		on := !s.Disabled
		h.McpServers = append(h.McpServers, mcpServer{s.Name, s.URL, s.Transport, &on, s.Headers, s.Auth})
	}
	for _, s := range p.Skills {
		on := !s.Disabled
		h.Skills = append(h.Skills, skill{Name: s.Name, Enabled: &on, Files: shownFiles(s)})
	}
	return h
}

func shownFiles(s client.PresetSkill) []skillFile {
	out := []skillFile{}
	for _, f := range s.Files {
		shown := skillFile{Path: f.Path}
		if text := string(f.Bytes); utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\n' && r != '\r' && r != '\t' }) {
			shown.Content = &text
		} else {
			text = base64.StdEncoding.EncodeToString(f.Bytes)
			shown.Base64 = &text
		}
		out = append(out, shown)
	}
	return out
}

// harnesses lists what can be chosen: what people have made, then the personas of the first
// folder, then the agents that are installed, those first that nobody must sign in to.
func (d *Door) harnesses(c *call) ([]*configured, error) {
	list, err := c.Presets(c.ctx)
	if err != nil {
		return nil, err
	}
	out := []*configured{}
	for _, p := range list {
		out = append(out, ofPreset(p))
	}
	probes, err := c.Agents(c.ctx)
	if err != nil {
		return nil, err
	}
	probes = slices.DeleteFunc(probes, func(p terret.Probe) bool { return !p.Found })
	slices.SortStableFunc(probes, func(a, b terret.Probe) int {
		switch {
		case a.Usable() == b.Usable():
			return 0
		case a.Usable():
			return -1
		}
		return 1
	})
	for _, h := range out {
		for _, p := range probes {
			if p.Agent == h.Base {
				h.BaseLabel = p.Title
			}
		}
	}
	if len(probes) == 0 {
		return out, nil
	}
	roots, err := c.Roots(c.ctx)
	if err != nil {
		return nil, err
	}
	for _, r := range roots[:min(1, len(roots))] {
		personas, err := c.Personas(c.ctx, r.Path)
		if err != nil {
			return nil, err
		}
		for _, p := range personas {
			out = append(out, ofPersona(p, r.Path, probes[0].Agent))
		}
	}
	for _, p := range probes {
		out = append(out, ofAgent(p))
	}
	return out, nil
}

func (d *Door) harness(c *call, id string) (*configured, error) {
	list, err := d.harnesses(c)
	if err != nil {
		return nil, hidden(err, noHarness("metadata.harness_id", id))
	}
	if i := slices.IndexFunc(list, func(h *configured) bool { return h.ID == id }); i >= 0 {
		return list[i], nil
	}
	return nil, noHarness("metadata.harness_id", id)
}

// hidden is what a caller is told who may not see a thing: that it is not there.
func hidden(err error, missing *fault) error {
	if terret.AsError(err).Code == terret.CodeForbidden {
		return missing
	}
	return err
}

func (d *Door) listHarnesses(c *call) error {
	list, err := d.harnesses(c)
	if terret.AsError(err) != nil && terret.AsError(err).Code == terret.CodeForbidden {
		list, err = []*configured{}, nil // with a token for one session
	}
	if err != nil {
		return err
	}
	return c.answer(map[string]any{"harnesses": list})
}

func (d *Door) getHarness(c *call) error {
	h, err := d.harness(c, c.id())
	if err != nil {
		return err
	}
	return c.answer(h)
}

// wanted is a harness as callers write it. Both spellings of names are read: a caller may
// send back what it has got.
type wanted struct {
	Name     *string     `json:"name"`
	Base     string      `json:"base"`
	Model    *string     `json:"default_model"`
	ModelC   *string     `json:"defaultModel"`
	Prompt   *string     `json:"system_prompt"`
	PromptC  *string     `json:"systemPrompt"`
	ServersS []mcpServer `json:"mcp_servers"`
	ServersC []mcpServer `json:"mcpServers"`
	Skills   []skill     `json:"skills"`
	Tools    []string    `json:"disabled_tools"`
	ToolsC   []string    `json:"disabledTools"`
	Steps    *int        `json:"max_step"`
	StepsC   *int        `json:"maxStep"`
	Seconds  *int        `json:"timeout_seconds"`
	SecondsC *int        `json:"timeoutSeconds"`
	Policy   string      `json:"terret_policy"`
	Cwd      string      `json:"terret_cwd"`
}

func either[T any](a, b *T) (v T) {
	switch {
	case a != nil:
		return *a
	case b != nil:
		return *b
	}
	return v
}

// preset is what is kept of it. Skills without files are those that the old one has.
func (w wanted) preset(old client.Preset) (client.Preset, error) {
	p := client.Preset{
		ID: old.ID, Name: either(w.Name, nil), Agent: w.Base, Model: either(w.Model, w.ModelC), SystemAppend: either(w.Prompt, w.PromptC),
		DisallowedTools: slices.Concat(w.Tools, w.ToolsC), MaxTurns: either(w.Steps, w.StepsC), Seconds: either(w.Seconds, w.SecondsC),
		Policy: terret.Policy(w.Policy), Cwd: w.Cwd,
	}
	if p.Name == "" {
		if p.Name = old.Name; p.Name == "" {
			p.Name = w.Base
		}
	}
	for _, s := range slices.Concat(w.ServersS, w.ServersC) {
		p.Servers = append(p.Servers, client.PresetServer{
			Name: cliSafe(s.Name), URL: s.URL, Transport: s.Transport, Disabled: s.Enabled != nil && !*s.Enabled, Headers: s.Headers, Auth: s.Auth,
		})
	}
	for _, s := range w.Skills {
		files, err := s.folder(old)
		if err != nil {
			return p, err
		}
		p.Skills = append(p.Skills, client.PresetSkill{Name: s.Name, Disabled: s.Enabled != nil && !*s.Enabled, Files: files})
	}
	return p, nil
}

// cliSafe is a name that programs take.
func cliSafe(name string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x80 && (r == '-' || r == '_' || r == '.' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z') {
			return r
		}
		return '_'
	}, name)
}

func (s skill) folder(old client.Preset) ([]client.PresetSkillFile, error) {
	out := []client.PresetSkillFile{}
	if s.Content != nil {
		return append(out, client.PresetSkillFile{Path: "SKILL.md", Bytes: []byte(*s.Content)}), nil
	}
	if len(s.Files) == 0 {
		for _, had := range old.Skills {
			if had.Name == s.Name {
				return had.Files, nil
			}
		}
	}
	for _, f := range s.Files {
		file := client.PresetSkillFile{Path: f.Path}
		switch {
		case f.Content != nil:
			file.Bytes = []byte(*f.Content)
		case f.Base64 != nil:
			raw, err := base64.StdEncoding.DecodeString(*f.Base64)
			if err != nil {
				return nil, invalid("skills", "A file of the skill '"+short(s.Name)+"' is not valid base64.")
			}
			file.Bytes = raw
		}
		out = append(out, file)
	}
	return out, nil
}

func (d *Door) createHarness(c *call) error {
	var w wanted
	if err := c.read(&w); err != nil {
		return err
	}
	p, err := w.preset(client.Preset{})
	if err != nil {
		return err
	}
	made, err := c.AddPreset(c.ctx, p)
	if err != nil && terret.AsError(err).Code == terret.CodeAgentNotFound {
		f := refuse(422, "unsupported_base", "base", "This server cannot run the base '"+short(w.Base)+"'.")
		probes, err := c.Agents(c.ctx)
		if err != nil {
			return err
		}
		supported := []string{}
		for _, usable := range []bool{true, false} {
			for _, p := range probes {
				if p.Found && p.Usable() == usable {
					supported = append(supported, p.Agent)
				}
			}
		}
		f.Detail = map[string]any{"supported": supported}
		return f
	}
	if err != nil {
		return err
	}
	return c.answerHarness(made)
}

func (c *call) answerHarness(p client.Preset) error {
	h := ofPreset(p)
	base, err := c.probe(h.Base)
	if err != nil {
		return err
	}
	h.BaseLabel = base.Title
	return c.answer(h)
}

// made finds a harness that can be changed.
func (d *Door) made(c *call) (*configured, error) {
	h, err := d.harness(c, c.id())
	if err == nil && h.preset.ID == "" {
		err = refuse(409, "terret_fixed_harness", "", "This harness is an agent or a persona of the server, and is not changed through the protocol.")
	}
	return h, err
}

func (d *Door) updateHarness(c *call) error {
	var w wanted
	if err := c.read(&w); err != nil {
		return err
	}
	h, err := d.made(c)
	if err != nil {
		return err
	}
	if w.Base != "" && w.Base != h.Base {
		return refuse(409, "terret_conflict", "base", "The base of a harness cannot be changed; make another harness.")
	}
	p, err := w.preset(h.preset)
	if err != nil {
		return err
	}
	changed, err := c.ChangePreset(c.ctx, p)
	if err != nil {
		return err
	}
	return c.answerHarness(changed)
}

func (d *Door) deleteHarness(c *call) error {
	h, err := d.made(c)
	if err != nil {
		return err
	}
	if err := c.DeletePreset(c.ctx, h.preset.ID); err != nil {
		return err
	}
	return c.answer(map[string]any{"id": h.ID, "object": "harness", "deleted": true})
}

func (d *Door) skillFiles(c *call) error {
	h, err := d.harness(c, c.id())
	if err != nil {
		return err
	}
	for _, s := range h.preset.Skills {
		if s.Name == c.r.PathValue("skill") {
			return c.answer(map[string]any{"files": shownFiles(s)})
		}
	}
	return noFile("", c.r.PathValue("skill"))
}

type model struct {
	ID        string `json:"id"`
	Label     string `json:"label,omitempty"`
	Backend   string `json:"backend,omitempty"`
	Available bool   `json:"available"`
	Default   bool   `json:"default"`
}

// demo is the model of Terret's own agent that needs no key.
const demo = "demo"

// modelPatience is how long an agent has to list its models.
const modelPatience = 10 * time.Second

// models are those of an agent, none if it does not say.
func (c *call) models(p terret.Probe) []model {
	ctx, cancel := context.WithTimeout(c.ctx, modelPatience)
	defer cancel()
	list, err := c.Models(ctx, p.Agent)
	out := []model{}
	if err == nil {
		for _, m := range list {
			out = append(out, model{m.ID, m.Name, p.Agent, p.Usable() || m.ID == demo, m.ID == p.Model})
		}
	}
	if p.Model != "" && !slices.ContainsFunc(out, func(m model) bool { return m.ID == p.Model }) {
		out = append(out, model{p.Model, p.Model, p.Agent, p.Usable() || p.Model == demo, true})
	}
	return out
}

func (d *Door) listModels(c *call) error {
	probes, err := c.Agents(c.ctx)
	if err != nil {
		return err
	}
	var mu sync.Mutex
	var wait sync.WaitGroup
	backends, all := map[string]any{}, []map[string]any{}
	for _, p := range probes {
		if !p.Found {
			continue
		}
		wait.Go(func() {
			list := c.models(p)
			mu.Lock()
			defer mu.Unlock()
			backends[p.Agent] = map[string]any{"default": p.Model, "models": list}
			for _, m := range list {
				if m.Available {
					all = append(all, map[string]any{"id": m.ID, "object": "model", "created": 0, "owned_by": p.Agent})
				}
			}
		})
	}
	wait.Wait()
	slices.SortFunc(all, func(a, b map[string]any) int {
		return strings.Compare(a["owned_by"].(string)+"/"+a["id"].(string), b["owned_by"].(string)+"/"+b["id"].(string))
	})
	// The second form is that of OpenAI's own list.
	return c.answer(map[string]any{"backends": backends, "object": "list", "data": all})
}

// probe is what is known of an agent.
func (c *call) probe(agent string) (terret.Probe, error) {
	probes, err := c.Agents(c.ctx)
	if err != nil {
		return terret.Probe{}, err
	}
	for _, p := range probes {
		if p.Agent == agent {
			return p, nil
		}
	}
	return terret.Probe{Agent: agent}, nil
}

func (d *Door) harnessModels(c *call) error {
	h, err := d.harness(c, c.id())
	if err != nil {
		return err
	}
	p, err := c.probe(h.Base)
	if err != nil {
		return err
	}
	if h.DefaultModel != "" {
		p.Model = h.DefaultModel
	}
	return c.answer(map[string]any{"harness_id": h.ID, "backend": h.Base, "default": p.Model, "fallback": p.Model, "models": c.models(p)})
}

// checkModel refuses a model that the agent says it has not. Nothing is run in its place.
func (d *Door) checkModel(c *call, agent, name string) error {
	if name == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(c.ctx, modelPatience)
	defer cancel()
	list, err := c.Models(ctx, agent)
	if err != nil || len(list) == 0 || slices.ContainsFunc(list, func(m terret.Model) bool { return m.ID == name }) {
		return nil //nolint:nilerr // then nobody knows before it is tried
	}
	p, err := c.probe(agent)
	if err == nil && p.Model == name {
		return nil
	}
	f := refuse(422, "model_unavailable", "model", "The model '"+short(name)+"' is not available for this harness.")
	ids := []string{}
	for _, m := range list[:min(len(list), 50)] {
		ids = append(ids, m.ID)
	}
	f.Detail = map[string]any{"available": ids}
	return f
}
