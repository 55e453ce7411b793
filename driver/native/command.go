package native

import (
	"context"
	"strconv"
	"strings"
	"unicode"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/yamlfile"
)

const initPrompt = `Look at this project, and write the file AGENTS.md for agents that will work in it, or improve the one that is there.
It has at most one page: the commands to build, test and lint, also for a single test; how the code is laid out, as far as it takes
several files to see that; the conventions that a newcomer would break. Leave out what is obvious, and what nobody can know from the project.
$ARGUMENTS`

// command is what people can type as /name: a prompt with places for arguments.
type command struct {
	terret.Command
	body string
	err  error // of its file
	// asks, if set, is who makes the prompt, in place of the body.
	asks func(ctx context.Context, args string) (string, error)
}

// commands are those that there are now: our own, those of the user, of a trusted project,
// of MCP servers and of plugins. Of those with the same name the last one counts.
func (a *agent) commands() map[string]command {
	out := map[string]command{
		"init":         {Command: terret.Command{Name: "init", Description: "write AGENTS.md for this project"}, body: initPrompt},
		contextCommand: {Command: terret.Command{Name: contextCommand, Description: "show what fills the context"}},
	}
	for _, f := range a.folders("commands") {
		texts := f.texts(2)
		for _, path := range sorted(texts) {
			name := strings.ReplaceAll(path, "/", ":")
			if !strings.ContainsFunc(name, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }) {
				out[name] = parseCommand(name, texts[path])
			}
		}
	}
	if a.servers != nil {
		for name, c := range a.servers.Commands() {
			out[name] = command{Command: c, asks: func(ctx context.Context, args string) (string, error) { return a.servers.Expand(ctx, name, args) }}
		}
	}
	if a.plugins != nil {
		for name, c := range a.plugins.Commands() {
			out[name] = command{
				Command: terret.Command{Name: name, Description: firstLine(c.Description), Hint: firstLine(c.Hint)},
				asks:    func(ctx context.Context, args string) (string, error) { return a.plugins.Expand(ctx, name, args) },
			}
		}
	}
	return out
}

// parseCommand reads the file of a command. Its settings may have a description and an
// argument-hint; others are for other agents.
func parseCommand(name string, content []byte) command {
	c := command{Command: terret.Command{Name: name}}
	doc, err := yamlfile.Frontmatter(content)
	if err != nil {
		c.err = terret.Errorf(terret.CodeInvalidRequest, "the file of the command /%s: %w", name, err)
		c.Description = "its file cannot be read: " + err.Error()
		return c
	}
	for _, f := range doc.Fields {
		switch f.Key {
		case "description":
			c.Description = f.Text
		case "argument-hint":
			c.Hint = f.Text
		}
	}
	c.body = strings.TrimSpace(doc.Body)
	if c.Description == "" {
		c.Description = firstLine(c.body)
	}
	return c
}

// expand puts arguments into the places for them: $ARGUMENTS for all, $1 to $9 for one
// each. Where there is no place, they follow the text.
func (c command) expand(args string) string {
	words, pairs := strings.Fields(args), []string{"$ARGUMENTS", args}
	for i := range 9 {
		word := ""
		if i < len(words) {
			word = words[i]
		}
		pairs = append(pairs, "$"+strconv.Itoa(i+1), word)
	}
	out := strings.NewReplacer(pairs...).Replace(c.body)
	if out == c.body && args != "" {
		out += "\n\n" + args
	}
	return strings.TrimSpace(out)
}

// listed are the commands as people see them.
func (a *agent) listed() []terret.Command {
	var out []terret.Command
	all := a.commands()
	for _, name := range sorted(all) {
		out = append(out, all[name].Command)
	}
	return out
}

// Commands implements terret.CommandLister.
func (a *agent) Commands(context.Context) ([]terret.Command, error) { return a.listed(), nil }

// Command implements terret.Commander. The log gets the prompt that the model hears.
func (a *agent) Command(ctx context.Context, turn, name, args string, in terret.Settings) error {
	if name == "compact" {
		return a.Compact(ctx, turn, args, in)
	}
	c, ok := a.commands()[name]
	switch {
	case !ok:
		return terret.Errorf(terret.CodeNotFound, "there is no command /%s", name)
	case c.err != nil:
		return c.err
	case name == contextCommand && c.body == "" && c.asks == nil: // nobody has another of that name
		return a.showContext(ctx, turn, in)
	}
	return a.start(ctx, turn, in, func(ctx context.Context, t *turnRun) error {
		text := c.expand(args)
		if c.asks != nil {
			var err error
			if text, err = c.asks(ctx, args); err != nil {
				return terret.Errorf(terret.CodeExecutionError, "/%s: %w", name, err)
			}
		}
		p := terret.Prompt{Blocks: []terret.Block{terret.Text(text)}}
		if err := t.emit(ctx, terret.UserPrompt{MessageID: turn, Blocks: p.Blocks}); err != nil {
			return err
		}
		return t.converse(ctx, p)
	})
}
