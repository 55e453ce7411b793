package mcphost

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/terret-dev/terret/driver/native/internal/tools"
	"github.com/terret-dev/terret/internal/brief"
	"github.com/terret-dev/terret/internal/lazyregexp"
)

// Class is the class of all tools of servers.
const Class = "mcp"

const maxText = 100_000 // bytes of a result that the model gets

// odd are characters that the names of tools must not have: APIs of models refuse them.
var odd = lazyregexp.New(`[^a-zA-Z0-9_-]`)

// maxName is how long the name of a tool may be for most APIs.
const maxName = 64

// Name is the name of a server's tool, as models know it.
func Name(server, tool string) string {
	name := "mcp__" + odd.ReplaceAllString(server, "_") + "__" + odd.ReplaceAllString(tool, "_")
	return name[:min(len(name), maxName)]
}

// Tools are those of all servers that work.
func (s *Servers) Tools() []tools.Tool {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []tools.Tool
	seen := map[string]bool{}
	for _, server := range s.names {
		r := s.all[server]
		if r.door != nil && r.door.refused() && s.o.Ask != nil {
			out = append(out, s.signInTool(server))
		}
		for _, t := range r.tools {
			name := Name(server, t.Name)
			if seen[name] {
				continue // two names that differ only in what models must not see
			}
			seen[name] = true
			schema, err := json.Marshal(t.InputSchema)
			if err != nil || string(schema) == "null" {
				schema = []byte(`{"type":"object"}`)
			}
			out = append(out, tools.Tool{
				Name: name, Class: Class, Description: t.Description, Schema: schema, Prepare: s.prepare(server, t.Name, name),
			})
		}
		if r.session != nil && r.session.InitializeResult().Capabilities != nil && r.session.InitializeResult().Capabilities.Resources != nil {
			for _, t := range s.resourceTools(server) {
				if !seen[t.Name] {
					out = append(out, t)
				}
			}
		}
	}
	return out
}

// signIn is the tool by which a model has a person sign in to a server.
const signIn = "sign_in"

func (s *Servers) signInTool(server string) tools.Tool {
	name := Name(server, signIn)
	return tools.Tool{
		Name: name, Class: Class, Description: "The MCP server " + server + " is closed until a person signs in. This shows a person the link, and waits. Use it only if you need that server.",
		Schema: json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`),
		Prepare: func(context.Context, tools.Env, json.RawMessage) (*tools.Use, error) {
			use := tools.Use{Tool: name, Class: Class, Title: brief.Line(server + ": " + signIn)}
			return use.Doing(func(ctx context.Context, _ func(string)) (tools.Result, error) {
				if err := s.SignIn(ctx, server, s.showing(server)); err != nil {
					return tools.Result{}, err
				}
				return tools.Result{Text: "The person has signed in: the tools of " + server + " are there now."}, nil
			}), nil
		},
	}
}

func (s *Servers) prepare(server, tool, name string) func(context.Context, tools.Env, json.RawMessage) (*tools.Use, error) {
	return func(_ context.Context, _ tools.Env, input json.RawMessage) (*tools.Use, error) {
		var arguments map[string]any
		if err := json.Unmarshal(input, &arguments); err != nil {
			return nil, fmt.Errorf("%s: the input must be an object: %w", name, err)
		}
		use := tools.Use{Tool: name, Class: Class, Title: brief.Line(server + ": " + tool)}
		return use.Doing(func(ctx context.Context, progress func(string)) (tools.Result, error) {
			return s.call(ctx, server, tool, arguments, progress)
		}), nil
	}
}

// with does something with a server's session, within a time limit. A server that does not
// run is started first. An error of the context is returned as it is.
func (s *Servers) with(ctx context.Context, server string, do func(context.Context, *mcp.ClientSession) error) error {
	session := s.sessionOf(server)
	if session == nil {
		starting, cancel := context.WithTimeout(ctx, startPatience)
		s.refresh(starting, server)
		cancel()
		if session = s.sessionOf(server); session == nil {
			return fmt.Errorf("the MCP server %s does not run: %s", server, s.problemOf(server))
		}
	}
	limited, cancel := context.WithTimeoutCause(ctx, callPatience, fmt.Errorf("no result within %s", callPatience))
	defer cancel()
	err := do(limited, session)
	switch {
	case err == nil:
		return nil
	case ctx.Err() == nil && limited.Err() != nil:
		err = context.Cause(limited)
	case errors.Is(err, errSignIn):
		err = errors.New(signInFirst)
	case errors.Is(err, mcp.ErrConnectionClosed):
		err = errors.New("the server ended; it is started again when it is next used")
	}
	return fmt.Errorf("the MCP server %s: %w", server, err)
}

func (s *Servers) sessionOf(server string) *mcp.ClientSession {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all[server].session
}

func (s *Servers) problemOf(server string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all[server].problem
}

// call calls a tool, and tells how far it is.
func (s *Servers) call(ctx context.Context, server, tool string, arguments map[string]any, progress func(string)) (tools.Result, error) {
	say, stop := tools.Updates(progress)
	defer stop()
	s.mu.Lock()
	s.calls++
	token := fmt.Sprintf("call-%d", s.calls)
	s.news[token] = say
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.news, token)
		s.mu.Unlock()
	}()
	params := &mcp.CallToolParams{Name: tool, Arguments: arguments}
	params.SetProgressToken(token)
	var res *mcp.CallToolResult
	err := s.with(ctx, server, func(ctx context.Context, session *mcp.ClientSession) (err error) {
		res, err = session.CallTool(ctx, params)
		return err
	})
	if err != nil {
		return tools.Result{}, err
	}
	out := tools.Result{Text: brief.Cut(textOf(res.Content), maxText), Images: imagesOf(res.Content), IsError: res.IsError}
	if res.StructuredContent != nil {
		if out.Structured, err = json.Marshal(res.StructuredContent); err != nil {
			out.Structured = nil // it was JSON before
		}
	}
	if out.Text == "" && out.Structured != nil {
		out.Text = brief.Cut(string(out.Structured), maxText)
	}
	return out, nil
}

const maxImages = 5 // of one result

// shown reports whether models take an image.
func shown(data []byte) bool { return len(data) <= tools.ImageLimit && tools.ImageType(data) != "" }

// imagesOf are the images of a result that models take. Their first bytes say what they are.
func imagesOf(content []mcp.Content) []tools.Image {
	var out []tools.Image
	for _, c := range content {
		if i, ok := c.(*mcp.ImageContent); ok && shown(i.Data) && len(out) < maxImages {
			out = append(out, tools.Image{MediaType: tools.ImageType(i.Data), Data: i.Data})
		}
	}
	return out
}

// textOf is what a model is told of a result.
func textOf(content []mcp.Content) string {
	var parts []string
	for _, c := range content {
		switch c := c.(type) {
		case *mcp.TextContent:
			parts = append(parts, strings.ToValidUTF8(c.Text, "\uFFFD"))
		case *mcp.EmbeddedResource:
			if c.Resource != nil && c.Resource.Text != "" {
				parts = append(parts, strings.ToValidUTF8(c.Resource.Text, "\uFFFD"))
			}
		case *mcp.ResourceLink:
			parts = append(parts, "[resource "+c.URI+"]")
		case *mcp.ImageContent:
			if shown(c.Data) {
				parts = append(parts, fmt.Sprintf("[an image of type %s]", c.MIMEType))
			} else {
				parts = append(parts, fmt.Sprintf("[an image of type %s, which is not shown]", c.MIMEType))
			}
		case *mcp.AudioContent:
			parts = append(parts, fmt.Sprintf("[a recording of type %s, which is not played]", c.MIMEType))
		}
	}
	return strings.Join(parts, "\n")
}
