package main

import (
	"context"
	"slices"
	"strings"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/workfiles"
)

// learn keeps which commands the agent offers.
func (c *conversation) learn(ev terret.Event) {
	switch d := ev.Data.(type) {
	case terret.SessionStart:
		c.offer(d.Commands)
	case terret.SessionCommands:
		c.offer(d.Commands)
	}
}

func (c *conversation) offer(all []terret.Command) {
	c.offersMu.Lock()
	defer c.offersMu.Unlock()
	c.offers = all
}

// chatCommands are the commands of ours.
var chatCommands = []string{"help", "undo", "redo", "model", "mode", "rename", "status", "commands", "send", "drop", "quit"}

// complete completes the command or the file at the cursor, and reports whether there is one.
// If it can be several, it lists them.
func (c *conversation) complete(ctx context.Context, e *editor) bool {
	before := e.Text[:e.At]
	from := strings.LastIndexAny(before, " \n\t") + 1
	word := before[from:]
	var options []string
	switch {
	case strings.HasPrefix(word, "/") && from == 0 && !strings.Contains(word[1:], "/"):
		options = c.commandsWith(word)
	case strings.HasPrefix(word, "@"):
		options = c.filesWith(ctx, word[1:])
	default:
		return false
	}
	sc := c.render.screen
	switch common := commonStart(options); {
	case len(options) == 0:
		sc.line("%s", sc.paint(dim, "nothing fits "+printable(word)))
	case len(options) == 1 && !strings.HasSuffix(common, "/"):
		sc.change(e, func() { e.Change(from, e.At, common+" ") })
	case len(common) > len(word) && strings.HasPrefix(common, word), len(options) == 1:
		sc.change(e, func() { e.Change(from, e.At, common) })
	default:
		more := ""
		if len(options) > listed {
			options, more = options[:listed], "  …"
		}
		sc.line("%s", sc.paint(dim, "  "+strings.Join(mapped(options, oneLine), "  ")+more))
	}
	return true
}

func (c *conversation) commandsWith(start string) []string {
	names := slices.Clone(chatCommands)
	c.offersMu.Lock()
	for _, o := range c.offers {
		names = append(names, o.Name)
	}
	c.offersMu.Unlock()
	var out []string
	for _, name := range names {
		if name = "/" + name; strings.HasPrefix(name, start) && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// listed is how many commands or files Tab lists.
const listed = 12

// filesWith are the files of the session's folder that begin with these letters or else, the
// best first, have them in that order.
func (c *conversation) filesWith(ctx context.Context, start string) []string {
	dir, err := workfiles.Open(c.session.Cwd, c.app.data)
	if err != nil {
		return nil
	}
	defer func() { _ = dir.Close() }()
	found, err := dir.Find(ctx, start, 200)
	if err != nil {
		return nil
	}
	var begin, hold []string
	for _, m := range found.Items {
		path := m.Path
		if m.Type == workfiles.Dir {
			path += "/"
		}
		if hold = append(hold, "@"+path); strings.HasPrefix(path, start) {
			begin = append(begin, "@"+path)
		}
	}
	if len(begin) > 0 {
		hold = begin
	}
	return hold
}

// commonStart is what all of them begin with.
func commonStart(all []string) string {
	if len(all) == 0 {
		return ""
	}
	first, last := slices.Min(all), slices.Max(all)
	n := 0
	for n < min(len(first), len(last)) && first[n] == last[n] {
		n++
	}
	return strings.ToValidUTF8(first[:n], "")
}
