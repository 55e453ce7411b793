package mcphost

import (
	"context"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/brief"
)

const maxPrompts = 200 // of one server

// Commands are the prompts of all servers that work, by the name that people type.
func (s *Servers) Commands() map[string]terret.Command {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string]terret.Command{}
	for _, server := range s.names {
		for _, p := range s.all[server].prompts {
			var hint []string
			for _, a := range p.Arguments {
				word := strings.ToUpper(a.Name)
				if !a.Required {
					word = "[" + word + "]"
				}
				hint = append(hint, word)
			}
			name := Name(server, p.Name)
			out[name] = terret.Command{Name: name, Description: brief.Line(p.Description), Hint: brief.Line(strings.Join(hint, " "))}
		}
	}
	return out
}

// Expand has a server make the prompt of a command. Arguments are words, in the order of
// the prompt's; the last one takes what is left.
func (s *Servers) Expand(ctx context.Context, command, args string) (string, error) {
	server, prompt := s.prompt(command)
	if prompt == nil {
		return "", fmt.Errorf("no MCP server has a prompt %s", command)
	}
	values, words := map[string]string{}, args
	for i, a := range prompt.Arguments {
		words = strings.TrimSpace(words)
		value, rest, _ := strings.Cut(words, " ")
		if i == len(prompt.Arguments)-1 {
			value, rest = words, ""
		}
		words = rest
		switch {
		case value != "":
			values[a.Name] = value
		case a.Required:
			return "", fmt.Errorf("the argument %s is missing", strings.ToUpper(a.Name))
		}
	}
	var text string
	err := s.with(ctx, server, func(ctx context.Context, session *mcp.ClientSession) error {
		res, err := session.GetPrompt(ctx, &mcp.GetPromptParams{Name: prompt.Name, Arguments: values})
		if err != nil {
			return err
		}
		var parts []string
		for _, m := range res.Messages {
			said := textOf([]mcp.Content{m.Content})
			if m.Role == mcp.Role("assistant") {
				said = "Assistant: " + said
			}
			parts = append(parts, said)
		}
		text = strings.TrimSpace(brief.Cut(strings.Join(parts, "\n\n"), maxText))
		return nil
	})
	if err == nil && text == "" {
		err = fmt.Errorf("the MCP server %s made an empty prompt", server)
	}
	return text, err
}

func (s *Servers) prompt(command string) (server string, p *mcp.Prompt) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, server := range s.names {
		for _, p := range s.all[server].prompts {
			if Name(server, p.Name) == command {
				return server, p
			}
		}
	}
	return "", nil
}
