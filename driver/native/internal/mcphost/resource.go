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
)

const maxResources = 500 // that are listed

// The tools for the resources of a server. One that has tools of these names keeps them.
const (
	listResources = "list_resources"
	readResource  = "read_resource"
)

// resourceTools are the tools for the resources of a server.
func (s *Servers) resourceTools(server string) []tools.Tool {
	list, read := Name(server, listResources), Name(server, readResource)
	return []tools.Tool{
		{
			Name: list, Class: Class, Description: "Lists the resources that the MCP server " + server + " offers, with their URIs, and the templates of URIs that it understands.",
			Schema: json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`),
			Prepare: s.prepared(server, list, listResources, func(ctx context.Context, session *mcp.ClientSession, _ map[string]any) (tools.Result, error) {
				return listing(ctx, session)
			}),
		},
		{
			Name: read, Class: Class, Description: "Reads a resource of the MCP server " + server + ".",
			Schema: json.RawMessage(`{"type":"object","properties":{"uri":{"type":"string"}},"required":["uri"],"additionalProperties":false}`),
			Prepare: s.prepared(server, read, readResource, func(ctx context.Context, session *mcp.ClientSession, in map[string]any) (tools.Result, error) {
				uri, ok := in["uri"].(string)
				if !ok || uri == "" {
					return tools.Result{}, errors.New("uri is missing")
				}
				return reading(ctx, session, uri)
			}),
		},
	}
}

// prepared prepares a use that does that with the server's session.
func (s *Servers) prepared(server, name, what string, do func(context.Context, *mcp.ClientSession, map[string]any) (tools.Result, error)) func(context.Context, tools.Env, json.RawMessage) (*tools.Use, error) {
	return func(_ context.Context, _ tools.Env, input json.RawMessage) (*tools.Use, error) {
		var in map[string]any
		if err := json.Unmarshal(input, &in); err != nil {
			return nil, fmt.Errorf("%s: the input must be an object: %w", name, err)
		}
		use := tools.Use{Tool: name, Class: Class, Title: brief.Line(server + ": " + what)}
		return use.Doing(func(ctx context.Context, _ func(string)) (r tools.Result, err error) {
			err = s.with(ctx, server, func(ctx context.Context, session *mcp.ClientSession) error {
				r, err = do(ctx, session, in)
				return err
			})
			return r, err
		}), nil
	}
}

func listing(ctx context.Context, session *mcp.ClientSession) (tools.Result, error) {
	var out strings.Builder
	n := 0
	line := func(uri, name, description string) bool {
		n++
		fmt.Fprintf(&out, "%s %s\n", uri, brief.Line(strings.TrimSpace(name+" "+description)))
		return n < maxResources
	}
	for r, err := range session.Resources(ctx, nil) {
		if err != nil {
			return tools.Result{}, err
		}
		if !line(r.URI, r.Name, r.Description) {
			break
		}
	}
	for r, err := range session.ResourceTemplates(ctx, nil) {
		if err != nil {
			break // many servers have none, and say so with an error
		}
		if n >= maxResources || !line(r.URITemplate, r.Name, r.Description) {
			break
		}
	}
	if n == 0 {
		out.WriteString("[there are no resources]")
	}
	if n >= maxResources {
		fmt.Fprintf(&out, "[these are the first %d]", n)
	}
	return tools.Result{Text: brief.Cut(strings.ToValidUTF8(out.String(), "\uFFFD"), maxText)}, nil
}

func reading(ctx context.Context, session *mcp.ClientSession, uri string) (tools.Result, error) {
	res, err := session.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
	if err != nil {
		return tools.Result{}, err
	}
	var parts []string
	for _, c := range res.Contents {
		if c.Text == "" && len(c.Blob) > 0 {
			parts = append(parts, fmt.Sprintf("[%s: %d bytes of type %s, which are not shown]", c.URI, len(c.Blob), c.MIMEType))
			continue
		}
		parts = append(parts, strings.ToValidUTF8(c.Text, "\uFFFD"))
	}
	return tools.Result{Text: brief.Cut(strings.Join(parts, "\n"), maxText)}, nil
}
