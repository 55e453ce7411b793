package assemble

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/internal/server/persona"
)

// Roles resolves the personas of projects for sessions. The zero value trusts no folder
// and saves nothing. It is safe for concurrent use.
type Roles struct {
	// Product replaces "Terret" in system prompts.
	Product string
	// Trusts reports whether a person trusts a folder; nil means no folder is trusted.
	Trusts func(dir string) bool
	// Save, if set, saves the system prompt of a turn where people can look it up.
	Save func(s terret.Session, prompt string) (path string, err error)
	// Log is for the operator; nil discards it.
	Log *slog.Logger

	once    sync.Once
	library *persona.Library
}

func (r *Roles) lib() *persona.Library {
	r.once.Do(func() { r.library = persona.New() })
	return r.library
}

func (r *Roles) trusts(dir string) bool { return r.Trusts != nil && r.Trusts(dir) }

// List lists the personas of a project, and marks those that are trusted.
func (r *Roles) List(dir string) (persona.Listing, error) {
	found, err := r.lib().List(dir)
	if err != nil || len(found.Personas) == 0 {
		return found, err
	}
	trusted := r.trusts(dir)
	for i := range found.Personas {
		found.Personas[i].Trusted = trusted
	}
	return found, nil
}

// Persona loads a persona of a project and marks whether it is trusted.
func (r *Roles) Persona(dir, id string) (terret.Persona, error) {
	p, err := r.lib().Load(dir, id)
	if err != nil {
		return terret.Persona{}, err
	}
	p.Trusted = r.trusts(dir)
	return p, nil
}

// Prompt composes the system prompt for a project, with a persona unless that is nil.
func (r *Roles) Prompt(dir string, p *terret.Persona, mode terret.Mode) (persona.Prompt, error) {
	return r.lib().Prompt(persona.PromptRequest{Dir: dir, Persona: p, Mode: mode, Product: r.Product})
}

// For resolves the session's persona and mode for a turn: use it as
// engine.Config.Roles. It reads the files for each turn.
func (r *Roles) For(_ context.Context, s terret.Session, o terret.TurnOptions) (engine.Role, error) {
	var role engine.Role
	if !hasRole(s) {
		return role, nil
	}
	if s.Persona != "" {
		p, err := r.Persona(s.Cwd, string(s.Persona))
		if errors.Is(err, terret.ErrNotFound) {
			e := terret.Errorf(terret.CodeConflict, "session %s needs its persona: %w; restore its file, or start a session without it", s.ID, err)
			e.Field = "persona"
			return role, e
		}
		if err != nil {
			return role, err
		}
		role.Persona = &p
	}
	made, err := r.lib().Prompt(persona.PromptRequest{Dir: s.Cwd, Persona: role.Persona, Mode: s.Mode, Product: r.Product, Append: o.SystemAppend})
	if err != nil {
		return engine.Role{}, err
	}
	role.Prompt = made.Text
	r.save(s, made.Text)
	return role, nil
}

// hasRole reports whether the session gets our system prompt: it has a persona, or a
// mode that asks for one, or base_prompt.
func hasRole(s terret.Session) bool {
	return s.Persona != "" || s.Mode == terret.ModeWorkbench || s.Mode == terret.ModePipeline || s.Options.BasePrompt
}

// save saves what the agent is told. The turn runs even if that fails.
func (r *Roles) save(s terret.Session, prompt string) {
	if r.Save == nil || s.ID == "" { // the session does not exist yet
		return
	}
	if own := s.Options.SystemAppend; own != "" {
		prompt = own + "\n\n" + prompt
	}
	if _, err := r.Save(s, prompt); err != nil && r.Log != nil {
		r.Log.Warn("could not save the system prompt", "session", s.ID, "error", err)
	}
}
