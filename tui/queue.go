package tui

import (
	"context"
	"fmt"
	"slices"

	tea "charm.land/bubbletea/v2"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/client"
)

// requeue takes what an event says of the queue. The server has the whole prompts, of which
// the event has the beginnings.
func (m *model) requeue(e terret.Event) {
	switch d := e.Data.(type) {
	case terret.QueueChange:
		known := map[string]terret.Turn{}
		for _, t := range m.queue {
			known[t.ID] = t
		}
		m.queue = make([]terret.Turn, 0, len(d.Queue))
		for _, q := range d.Queue {
			t, ok := known[q.Turn]
			if !ok || d.Turn == q.Turn {
				t = terret.Turn{ID: q.Turn, Session: e.Session, State: terret.TurnQueued, Prompt: []terret.Block{terret.Text(q.Text)}}
			}
			t.Held = q.Held
			m.queue = append(m.queue, t)
		}
	case terret.TurnStart:
		m.queue = slices.DeleteFunc(slices.Clone(m.queue), func(t terret.Turn) bool { return t.ID == e.Turn })
	}
}

// holds counts the prompts that a stop has held.
func (m *model) holds() int {
	n := 0
	for _, t := range m.queue {
		if t.Held {
			n++
		}
	}
	return n
}

const queueRows = 4

// waiting are the rows of what waits for its turn, and of what is held until a person sends
// it on.
func (m *model) waiting() []line {
	var rows []line
	for i, t := range m.queue {
		if i == queueRows {
			rows = append(rows, text(dim, fmt.Sprintf("   and %d more", len(m.queue)-i)))
			break
		}
		state := text(dim, "waits: ")
		if t.Held {
			state = text(needs|bold, "Held: ")
		}
		rows = append(rows, join(line{{"   ", plain}}, state, text(plain, flat(promptText(t.Prompt)))).cut(m.width-2))
	}
	return rows
}

// requeued calls the server for the queue after what has changed it.
func (m *model) requeued(change func(ctx context.Context, c *client.Client, session string) error) tea.Cmd {
	id := m.session.ID
	return m.do(func(ctx context.Context, c *client.Client) (tea.Msg, error) {
		if err := change(ctx, c, id); err != nil {
			return nil, err
		}
		turns, err := c.Queue(ctx, id)
		return queued{id, turns}, err
	})
}

// sendHeld sends on all that is held.
func (m *model) sendHeld(string) tea.Cmd {
	if m.holds() == 0 {
		m.say(dim, "Nothing is held.")
		return nil
	}
	return m.requeued(func(ctx context.Context, c *client.Client, session string) error {
		return c.SendQueued(ctx, session, "")
	})
}

// ofQueue does something with a prompt that waits: with the only one, or one that is chosen.
func (m *model) ofQueue(name string, use func(m *model, t terret.Turn) tea.Cmd) tea.Cmd {
	switch len(m.queue) {
	case 0:
		m.say(dim, "Nothing waits.")
		return nil
	case 1:
		return use(m, m.queue[0])
	}
	p := &picker{name: name}
	for _, t := range m.queue {
		words := flat(promptText(t.Prompt))
		about := "waits"
		if t.Held {
			about = "held"
		}
		p.choices = append(p.choices, choice{label: text(plain, words), about: about, words: words, pick: func(m *model) tea.Cmd { return use(m, t) }})
	}
	m.overlay = p
	return nil
}

func (m *model) dropQueued(string) tea.Cmd {
	return m.ofQueue("Drop", func(m *model, t terret.Turn) tea.Cmd {
		return m.requeued(func(ctx context.Context, c *client.Client, session string) error {
			return c.DropQueued(ctx, session, t.ID)
		})
	})
}

// editQueued puts a prompt that waits into the composer; Enter puts it back.
func (m *model) editQueued(string) tea.Cmd {
	return m.ofQueue("Edit", func(m *model, t terret.Turn) tea.Cmd {
		id := m.session.ID
		return m.do(func(ctx context.Context, c *client.Client) (tea.Msg, error) { // an event may have brought the beginning only
			turns, err := c.Queue(ctx, id)
			if err != nil {
				return nil, err
			}
			i := slices.IndexFunc(turns, func(x terret.Turn) bool { return x.ID == t.ID })
			if i < 0 {
				return nil, terret.Errorf(terret.CodeConflict, "this prompt no longer waits: it has begun or was dropped")
			}
			return editing{id, turns[i]}, nil
		})
	})
}

// editing is a prompt of the queue that a person edits.
type editing struct {
	session string
	turn    terret.Turn
}

// edits begins to edit a prompt, unless the person is somewhere else by now.
func (m *model) edits(e editing) {
	if e.session != m.session.ID || m.compose.Text != "" {
		return
	}
	m.editing, m.focus = &e.turn, onComposer
	m.compose.set(terret.TextOf(e.turn.Prompt))
}

// saveQueued puts the edited prompt back, with the pictures and documents that it had.
func (m *model) saveQueued() tea.Cmd {
	t, said := *m.editing, m.compose.take()
	m.editing = nil
	n := client.NewTurn{Blocks: []terret.Block{terret.Text(said)}}
	for _, b := range t.Prompt {
		if b.Type != terret.BlockText {
			n.Blocks = append(n.Blocks, b)
		}
	}
	draft := m.compose
	save := m.requeued(func(ctx context.Context, c *client.Client, session string) error {
		_, err := c.EditQueued(ctx, session, t.ID, n, "")
		return err
	})
	return func() tea.Msg {
		msg := save()
		if f, no := msg.(failed); no {
			return unsent(said, nil, draft, f.err)
		}
		return msg
	}
}

// unsent brings back what could not be sent: nothing that was written is lost.
func unsent(said string, with []image, draft *composer, err error) tea.Msg {
	return edited{said, func(m *model, text string) tea.Cmd {
		draft.images = append(with, draft.images...)
		if draft == m.compose && m.compose.Text == "" {
			m.compose.insert(text)
		}
		m.say(bad, err.Error())
		return nil
	}}
}
