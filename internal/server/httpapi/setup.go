package httpapi

import (
	"context"
	"fmt"
	"net/http"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/server/access"
	"github.com/terret-dev/terret/internal/server/config"
	"github.com/terret-dev/terret/internal/server/setup"
)

// The operations of tagSetup are about the machine that the server runs on, and are not
// passed on to other nodes: what is passed on is in the database for a while.

func (s *Server) setupRoutes() {
	handle(s, route{
		method: "GET", path: "/v1/keys", id: "list-keys", tag: tagSetup, scope: access.Admin,
		summary: "List the names of the keys of models' APIs that are kept",
		long:    "They are for the native agent. A key never comes back, nor a part of it.",
		fails:   []terret.ErrorCode{terret.CodeUnsupported, terret.CodeStartupRefused},
	}, s.listKeys)
	handle(s, route{
		method: "POST", path: "/v1/keys", id: "add-key", tag: tagSetup, scope: access.Admin, status: http.StatusCreated,
		summary: "Keep the key of a model's API",
		long:    "In the keyring of the operating system or, where there is none, in a file that only its owner can read. It counts at once. A key that is kept is not replaced: remove it first.",
		fails:   []terret.ErrorCode{terret.CodeUnsupported, terret.CodeStartupRefused, terret.CodeConflict},
	}, s.addKey)
	handle(s, route{
		method: "DELETE", path: "/v1/keys/{name}", id: "remove-key", tag: tagSetup, scope: access.Admin, status: http.StatusNoContent,
		summary: "Forget a key",
		long:    "The next question to a model is without it.",
		fails:   []terret.ErrorCode{terret.CodeUnsupported, terret.CodeStartupRefused, terret.CodeNotFound},
	}, s.removeKey)
	handle(s, route{
		method: "GET", path: "/v1/providers", id: "list-providers", tag: tagSetup, scope: access.Admin,
		summary: "List the APIs that the native agent has models of, and whether there are keys",
		long:    "Those that are built in, and those that the configuration adds. A provider is not asked for that.",
		fails:   []terret.ErrorCode{terret.CodeUnsupported},
	}, s.listProviders)
	handle(s, route{
		method: "POST", path: "/v1/providers", id: "add-provider", tag: tagSetup, scope: access.Admin, status: http.StatusCreated,
		summary: "Add a server with models, by its address",
		long:    "It is written to the user's configuration file and can be used at once. One with the name of a built-in provider replaces that, and gets its key.",
		fails:   []terret.ErrorCode{terret.CodeUnsupported, terret.CodeConflict},
	}, s.addProvider)
	handle(s, route{
		method: "DELETE", path: "/v1/providers/{name}", id: "remove-provider", tag: tagSetup, scope: access.Admin, status: http.StatusNoContent,
		summary: "Remove a server with models that was added",
		long:    "A key that is kept for it stays.",
		fails:   []terret.ErrorCode{terret.CodeUnsupported, terret.CodeNotFound},
	}, s.removeProvider)
	handle(s, route{
		method: "GET", path: "/v1/providers/{name}/models", id: "provider-models", tag: tagSetup, scope: access.Admin,
		summary: "Ask a provider which models it has",
		long:    "Unlike the list of an agent's models, this says why there are none.",
		fails:   []terret.ErrorCode{terret.CodeUnsupported, terret.CodeNotFound, terret.CodeNotAuthenticated, terret.CodeConnectionFailed},
	}, s.providerModels)
	handle(s, route{
		method: "GET", path: "/v1/config", id: "get-config", tag: tagSetup, scope: access.Admin,
		summary: "Show the configuration: the user's file as text, and every key with its value here",
		long:    "And where that comes from, and which keys need a restart of the server. Headers of providers, passwords and secrets of the environment are not shown.",
		fails:   []terret.ErrorCode{terret.CodeUnsupported},
	}, s.getConfig)
	handle(s, route{
		method: "POST", path: "/v1/config/check", id: "check-config", tag: tagSetup, scope: access.Admin,
		summary: "Say what is wrong in a text for the user's configuration file",
		long:    "Nothing is changed.",
		fails:   []terret.ErrorCode{terret.CodeUnsupported},
	}, s.checkConfig)
	handle(s, route{
		method: "PUT", path: "/v1/config", id: "put-config", tag: tagSetup, scope: access.Admin,
		summary: "Replace the text of the user's configuration file",
		long:    "In one step, if nothing is wrong in the text and the file is still what it was: the hash says so. Where [hidden 1] and the like stand where they stood, the value stays. Settings name programs that Terret starts, so whoever may change them may run programs as the user who runs the server.",
		fails:   []terret.ErrorCode{terret.CodeUnsupported, terret.CodeConflict},
	}, s.putConfig)
	s.installRoutes()
	s.signInRoutes()
}

// setup is what the machine is set up with.
func (s *Server) setup() (*setup.Setup, error) {
	if s.cfg.Setup == nil {
		return nil, terret.Errorf(terret.CodeUnsupported, "this server cannot be set up over HTTP")
	}
	return s.cfg.Setup, nil
}

func (s *Server) listKeys(context.Context, *struct{}) (*body[terret.Page[setup.Kept]], error) {
	m, err := s.setup()
	if err != nil {
		return nil, err
	}
	return page(m.Keys())
}

type newKey struct {
	Name string `json:"name" minLength:"1" maxLength:"64" doc:"The provider's."`
	Key  string `json:"key" minLength:"1" maxLength:"8192" writeOnly:"true" doc:"One line."`
}

func (s *Server) addKey(ctx context.Context, in *struct{ Body newKey }) (*body[setup.Kept], error) {
	m, err := s.setup()
	if err != nil {
		return nil, err
	}
	kept, err := m.AddKey(ctx, in.Body.Name, in.Body.Key)
	if err == nil {
		s.log.InfoContext(ctx, "a key was kept", "provider", kept.Name, "by", caller(ctx))
	}
	return reply(kept, err)
}

type ofName struct {
	Name string `path:"name" maxLength:"64"`
}

func (s *Server) removeKey(ctx context.Context, in *ofName) (*nothing, error) {
	m, err := s.setup()
	if err == nil {
		err = m.RemoveKey(ctx, in.Name)
	}
	if err != nil {
		return nil, err
	}
	s.log.InfoContext(ctx, "a key was removed", "provider", in.Name, "by", caller(ctx))
	return nil, nil
}

func (s *Server) listProviders(context.Context, *struct{}) (*body[terret.Page[setup.Provider]], error) {
	m, err := s.setup()
	if err != nil {
		return nil, err
	}
	return page(m.Providers())
}

type newProvider struct {
	Name    string `json:"name" minLength:"1" maxLength:"64" doc:"What stands before the slash in the names of its models."`
	BaseURL string `json:"base_url" minLength:"1" maxLength:"2000" doc:"Its address, as in the configuration."`
	API     string `json:"api,omitempty" enum:"chat,responses,anthropic,gemini" doc:"What it speaks. Default: chat, OpenAI's Chat Completions."`
	KeyEnv  string `json:"key_env,omitempty" maxLength:"200" doc:"The variable that holds its key. A key that is kept under the provider's name counts if the variable is not set. Empty: it needs none."`
}

func (s *Server) addProvider(ctx context.Context, in *struct{ Body newProvider }) (*body[setup.Provider], error) {
	m, err := s.setup()
	if err != nil {
		return nil, err
	}
	b := in.Body
	p, err := m.AddProvider(ctx, setup.NewProvider{Name: b.Name, BaseURL: b.BaseURL, API: b.API, KeyEnv: b.KeyEnv})
	if err == nil {
		s.log.InfoContext(ctx, "a provider was added", "provider", p.Name, "by", caller(ctx))
	}
	return reply(p, err)
}

func (s *Server) removeProvider(ctx context.Context, in *ofName) (*nothing, error) {
	m, err := s.setup()
	if err == nil {
		err = m.RemoveProvider(ctx, in.Name)
	}
	if err != nil {
		return nil, err
	}
	s.log.InfoContext(ctx, "a provider was removed", "provider", in.Name, "by", caller(ctx))
	return nil, nil
}

func (s *Server) providerModels(ctx context.Context, in *ofName) (*body[terret.Page[terret.Model]], error) {
	m, err := s.setup()
	if err != nil {
		return nil, err
	}
	return page(m.Models(ctx, in.Name))
}

func (s *Server) getConfig(context.Context, *struct{}) (*body[setup.Configuration], error) {
	m, err := s.setup()
	if err != nil {
		return nil, err
	}
	return reply(m.Config())
}

type configText struct {
	Text string `json:"text" maxLength:"262144"`
}

// ConfigFaults is what is wrong in a text.
type ConfigFaults struct {
	Faults []config.Fault `json:"faults"`
}

func (s *Server) checkConfig(_ context.Context, in *struct{ Body configText }) (*body[ConfigFaults], error) {
	m, err := s.setup()
	if err != nil {
		return nil, err
	}
	faults, err := m.CheckConfig(in.Body.Text)
	if faults == nil {
		faults = []config.Fault{}
	}
	return reply(ConfigFaults{faults}, err)
}

type newConfig struct {
	Text string `json:"text" maxLength:"262144"`
	Hash string `json:"hash" maxLength:"64" doc:"Of the file from which the text was made."`
}

func (s *Server) putConfig(ctx context.Context, in *struct{ Body newConfig }) (*body[setup.Configuration], error) {
	m, err := s.setup()
	if err != nil {
		return nil, err
	}
	faults, err := m.WriteConfig(ctx, in.Body.Text, in.Body.Hash)
	switch {
	case err != nil:
		return nil, err
	case len(faults) > 0:
		return nil, faulty(faults)
	}
	s.log.InfoContext(ctx, "the configuration was changed", "by", caller(ctx))
	return reply(m.Config())
}

// faulty is the problem of a text with faults.
func faulty(faults []config.Fault) error {
	p := problemOf(terret.Invalid("text", "%s", faultText(faults[0])))
	for _, f := range faults[:min(len(faults), maxErrors)] {
		p.Errors = append(p.Errors, ProblemDetail{Field: "text", Message: short(faultText(f))})
	}
	return p
}

func faultText(f config.Fault) string {
	if f.Line == 0 {
		return f.Message
	}
	return fmt.Sprintf("line %d, column %d: %s", f.Line, f.Column, f.Message)
}
