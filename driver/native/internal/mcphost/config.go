package mcphost

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"

	"github.com/terret-dev/terret"
)

// server is one of the configuration, in the form that most programs share.
type server struct {
	Type    string            `json:"type"` // stdio, http or sse; empty goes by what is set
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env"`
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers"`
	OAuth   oauthConfig       `json:"oauth"`
}

// oauthConfig is for servers at which programs cannot register themselves.
type oauthConfig struct {
	ClientID     string `json:"clientId"`
	CallbackPort int    `json:"callbackPort"` // of this machine; 0 is any
}

// parse reads a configuration: {"mcpServers": {NAME: …}}.
func parse(config terret.JSON) (map[string]server, error) {
	var in struct {
		Servers map[string]server `json:"mcpServers"`
	}
	if err := json.Unmarshal(config, &in); err != nil {
		return nil, terret.Invalid("mcp", "it is not a configuration of MCP servers: %w", err)
	}
	if len(in.Servers) == 0 {
		return nil, terret.Invalid("mcp", `it names no servers; it must look like {"mcpServers": {"NAME": {"command": "PROGRAM"}}}`)
	}
	for _, name := range slices.Sorted(maps.Keys(in.Servers)) {
		s := in.Servers[name]
		if err := s.check(); err != nil {
			return nil, terret.Invalid("mcp", "server %s: %w", name, err)
		}
		in.Servers[name] = s
	}
	return in.Servers, nil
}

// Address is the address of a server in a configuration.
func Address(config terret.JSON, name string) (string, error) {
	servers, err := parse(config)
	if err != nil {
		return "", err
	}
	s, ok := servers[name]
	switch {
	case !ok:
		return "", terret.Errorf(terret.CodeNotFound, "the configuration has no MCP server %s", name)
	case s.URL == "":
		return "", terret.Invalid("mcp", "the MCP server %s is a program: nobody signs in there", name)
	}
	return s.URL, nil
}

func (s *server) check() error {
	if s.Type == "" || s.Type == "streamable-http" {
		s.Type = "stdio"
		if s.URL != "" {
			s.Type = "http"
		}
	}
	switch s.Type {
	case "stdio":
		if s.Command == "" {
			return errors.New("it names no command and no url")
		}
		return nil
	case "http", "sse":
		if u, err := url.Parse(s.URL); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return fmt.Errorf("%q is not its address", s.URL)
		}
		if s.OAuth.CallbackPort < 0 || s.OAuth.CallbackPort > 65535 {
			return fmt.Errorf("%d is not a port", s.OAuth.CallbackPort)
		}
		return nil
	}
	return fmt.Errorf("there is no type %q; use stdio, http or sse", s.Type)
}
