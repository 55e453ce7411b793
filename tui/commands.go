package tui

import (
	"cmp"
	"context"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/client"
)

// ours is a command of the workspace. The agent's own come after these.
type ours struct {
	name, hint, about string
	needs             bool // a session
	run               func(m *model, arg string) tea.Cmd
}

// commands are those of the workspace, in the order in which they are listed.
func commands() []ours {
	return []ours{
		{"new", "", "begin a new session in this folder", false, func(m *model, _ string) tea.Cmd { return m.begin() }},
		{"sessions", "", "find a session", false, func(m *model, _ string) tea.Cmd { return m.finder("session ") }},
		{"search", "WORDS", "find what was said, in all sessions", false, func(m *model, arg string) tea.Cmd { return m.searchAll(arg) }},
		{"model", "NAME", "use another model, or for a new session another agent", false, (*model).chooseModel},
		{"mode", "NAME", "ask, auto-edit, plan or full-auto", false, (*model).chooseMode},
		{"undo", "", "take back what the last turn changed", true, func(m *model, _ string) tea.Cmd { return m.rewind((*client.Client).Undo, "undo") }},
		{"redo", "", "bring it back", true, func(m *model, _ string) tea.Cmd { return m.rewind((*client.Client).Redo, "redo") }},
		{"retry", "", "send the last prompt again", true, (*model).retry},
		{"changes", "", "what has changed in the folder", true, (*model).showChanges},
		{"fork", "", "go on in a copy of this session", true, (*model).fork},
		{"rename", "TITLE", "give the session another title", true, (*model).rename},
		{"handoff", "AGENT", "hand the session over to another agent", true, (*model).handOff},
		{"compact", "", "have the agent compress its context", true, (*model).compact},
		{"send", "", "send on the prompts that a stop has held", true, (*model).sendHeld},
		{"edit", "", "edit a prompt that waits or is held", true, (*model).editQueued},
		{"drop", "", "drop a prompt that waits or is held", true, (*model).dropQueued},
		{"kill", "", "end the turn and the agent by force", true, (*model).kill},
		{"feed", "WORDS", "everything that happens, of all sessions", false, func(m *model, arg string) tea.Cmd {
			m.overlay = &feedView{query: arg}
			return nil
		}},
		{"team", "", "the members of the team", false, (*model).team},
		{"reviews", "", "reviews, with their verdicts and findings", false, (*model).reviews},
		{"races", "", "races, with what each agent did", false, (*model).races},
		{"workflows", "", "runs of workflows, with their steps", false, (*model).workflows},
		{"theme", "NAME", "dark, light, high-contrast, none or ascii", false, (*model).chooseTheme},
		{"help", "", "all keys and commands", false, func(m *model, _ string) tea.Cmd { m.overlay = &help{}; return nil }},
		{"quit", "", "leave", false, (*model).quit},
	}
}

// suggestCommands are the commands that begin with, or else hold, these letters.
func (m *model) suggestCommands(letters string) []suggestion {
	var begin, hold []suggestion
	add := func(name, hint, about string) {
		s := suggestion{"/" + name, strings.TrimSpace(about + "  " + hint)}
		switch {
		case strings.HasPrefix(name, letters):
			begin = append(begin, s)
		case strings.Contains(name, letters):
			hold = append(hold, s)
		}
	}
	names := map[string]bool{}
	for _, c := range commands() {
		if !c.needs || m.conv != nil {
			names[c.name] = true
			add(c.name, "", c.about)
		}
	}
	if m.conv != nil {
		for _, c := range m.conv.commands {
			if !names[c.Name] {
				add(oneLine(c.Name), oneLine(c.Hint), oneLine(c.Description))
			}
		}
	}
	return append(begin, hold...)
}

// wantsArgument reports whether the command is nothing without an argument.
func (m *model) wantsArgument(name string) bool {
	for _, c := range commands() {
		if c.name == name {
			return name == "rename" || name == "search"
		}
	}
	if m.conv != nil {
		for _, c := range m.conv.commands {
			if c.Name == name {
				return c.Hint != ""
			}
		}
	}
	return false
}

// habits are names that people know from the agents' own terminals.
var habits = map[string]string{"exit": "quit", "clear": "new", "resume": "sessions", "diff": "changes"}

// command runs a command: ours, or the agent's own.
func (m *model) command(name, arg string) tea.Cmd {
	ofAgent := m.conv != nil && slices.ContainsFunc(m.conv.commands, func(c terret.Command) bool { return c.Name == name })
	if other := habits[name]; other != "" && !ofAgent {
		name = other
	}
	for _, c := range commands() {
		if c.name == name {
			if c.needs && m.conv == nil {
				m.say(dim, "/"+name+" needs a session.")
				return nil
			}
			return c.run(m, arg)
		}
	}
	if m.conv == nil {
		m.say(bad, "There is no /"+name+"; /help lists the commands.")
		return nil
	}
	id := m.session.ID
	if !ofAgent && len(m.conv.commands) > 0 {
		m.say(bad, "There is no /"+name+"; / lists the commands.")
		return nil
	}
	return m.do(func(ctx context.Context, c *client.Client) (tea.Msg, error) {
		_, err := c.RunCommand(ctx, id, name, arg)
		return nil, err
	})
}

// prompt says something to the agent; without a session it begins one.
func (m *model) prompt(said, when string, with ...image) tea.Cmd {
	if m.conv == nil {
		return m.start(said, with)
	}
	id := m.session.ID
	switch {
	case m.conv.turn == "":
		when = client.WhenQueue // should another window be faster
	case when == client.WhenSteer && !m.can(terret.CanSteer):
		when = client.WhenQueue
	}
	draft := m.compose
	send := m.do(func(ctx context.Context, c *client.Client) (tea.Msg, error) {
		_, err := c.Prompt(ctx, id, turnOf(said, when, with))
		if err != nil {
			return nil, err
		}
		turns, err := c.Queue(ctx, id)
		return queued{id, turns}, err
	})
	return func() tea.Msg {
		msg := send()
		if f, no := msg.(failed); no {
			return unsent(said, with, draft, f.err)
		}
		return msg
	}
}

// start begins a session with its first prompt.
func (m *model) start(said string, with []image) tea.Cmd {
	n, draft := m.draftOf, m.compose
	m.say(dim, "Starting …")
	send := m.do(func(ctx context.Context, c *client.Client) (tea.Msg, error) {
		s, err := c.CreateSession(ctx, n)
		if err != nil {
			return nil, err
		}
		if _, err := c.Prompt(ctx, s.ID, turnOf(said, "", with)); err != nil {
			return nil, err
		}
		return created{s, said}, nil
	})
	return func() tea.Msg {
		switch msg := send().(type) {
		case failed:
			return edited{said, func(m *model, text string) tea.Cmd {
				draft.images = append(with, draft.images...)
				if m.conv == nil && m.compose.Text == "" {
					m.compose.insert(text)
				}
				m.say(bad, msg.err.Error())
				return nil
			}}
		case created:
			return edited{said, func(m *model, text string) tea.Cmd {
				m.toast = toast{}
				if len(msg.session.Notes) > 0 {
					m.say(needs, strings.Join(msg.session.Notes, " "))
				}
				return tea.Batch(m.show(msg.session.Session, []string{text}), m.refresh())
			}}
		default:
			return msg
		}
	}
}

type created struct {
	session client.CreatedSession
	said    string
}

// update changes the open session.
func (m *model) change(u terret.SessionUpdated, words string) tea.Cmd {
	id := m.session.ID
	return m.do(func(ctx context.Context, c *client.Client) (tea.Msg, error) {
		if _, err := c.UpdateSession(ctx, id, u); err != nil {
			return nil, err
		}
		return told{words: words}, nil
	})
}

func (m *model) setPolicy(p terret.Policy) tea.Cmd {
	if m.conv == nil {
		m.draftOf.Policy = p
		return nil
	}
	m.session.Policy = p
	return m.change(terret.SessionUpdated{Policy: &p}, "The mode is "+p.Title()+".")
}

func (m *model) chooseMode(arg string) tea.Cmd {
	if arg != "" {
		p := terret.PolicyNamed(arg)
		if p.Validate() != nil {
			m.say(bad, "There is no mode "+arg+"; use ask, auto-edit, plan or full-auto.")
			return nil
		}
		return m.setPolicy(p)
	}
	p := &picker{name: "Mode"}
	about := map[terret.Policy]string{
		terret.PolicyAsk: "ask before anything that is not already allowed", terret.PolicyAcceptEdits: "edit files in the folder without asking; ask for the rest",
		terret.PolicyPlan: "look and plan; change nothing until you approve", terret.PolicyAutoApprove: "do everything that no rule denies",
	}
	for _, x := range switched() {
		p.choices = append(p.choices, choice{label: text(plain, x.Title()), about: about[x], words: x.Title(), pick: func(m *model) tea.Cmd { return m.setPolicy(x) }})
	}
	m.overlay = p
	return nil
}

// chooseModel uses another model, or lists them.
func (m *model) chooseModel(arg string) tea.Cmd {
	use := func(m *model, agent, model string) tea.Cmd {
		if m.conv == nil {
			m.draftOf.Agent, m.draftOf.Model = agent, model
			return nil
		}
		return m.change(terret.SessionUpdated{Model: &model}, "The model is "+modelName(model)+".")
	}
	if arg != "" {
		return use(m, m.draftOf.Agent, arg)
	}
	var agents []terret.Probe
	if m.conv == nil {
		for _, a := range m.agents {
			if a.Usable() {
				agents = append(agents, a)
			}
		}
	} else {
		agents = []terret.Probe{{Agent: m.session.Agent}}
	}
	titles, fresh := maps.Clone(m.titles), m.conv == nil
	return m.do(func(ctx context.Context, c *client.Client) (tea.Msg, error) {
		p := &picker{name: "Model"}
		for _, a := range agents {
			name := agentName(a.Agent, "x", titles)
			if a.Agent == "native" {
				name = "Terret"
			}
			if fresh {
				p.choices = append(p.choices, choice{label: text(bold, name), about: "its default model", words: name, pick: func(m *model) tea.Cmd { return use(m, a.Agent, "") }})
			}
			models, err := c.Models(ctx, a.Agent)
			if err != nil && len(agents) == 1 {
				return nil, err
			}
			for _, x := range models {
				p.choices = append(p.choices, choice{
					label: join(text(plain, cmp.Or(x.Name, x.ID)), text(dim, "  "+name)), about: oneLine(x.ID), words: x.Name + " " + x.ID + " " + name,
					pick: func(m *model) tea.Cmd { return use(m, a.Agent, x.ID) },
				})
			}
		}
		return overlay(p), nil
	})
}

func (m *model) chooseTheme(arg string) tea.Cmd {
	if slices.Contains(themeNames(), arg) {
		return m.use(arg)
	}
	p := &picker{name: "Theme"}
	for _, name := range themeNames() {
		p.choices = append(p.choices, choice{label: text(plain, name), words: name, pick: func(m *model) tea.Cmd { return m.use(name) }})
	}
	m.overlay = p
	return nil
}

// use uses a theme.
func (m *model) use(name string) tea.Cmd {
	m.theme = themeNamed(name)
	m.paint.signs = m.theme.signs
	if m.conv != nil {
		forget(m.conv.items)
	}
	return tea.ClearScreen
}

// forget lays everything out anew.
func forget(items []*item) {
	for _, it := range items {
		it.kept = keptRows{}
		forget(it.items)
	}
}

func (m *model) rewind(how func(*client.Client, context.Context, string, bool) (client.Rewound, error), direction string) tea.Cmd {
	id := m.session.ID
	return m.do(func(ctx context.Context, c *client.Client) (tea.Msg, error) {
		r, err := how(c, ctx, id, false)
		if err != nil {
			return nil, err
		}
		return told{words: strings.TrimSpace(rewound(direction, len(r.Files)) + ". " + r.Note)}, nil
	})
}

func (m *model) retry(string) tea.Cmd {
	for _, it := range slices.Backward(m.conv.items) {
		if it.kind == itemUser {
			return m.prompt(it.text, client.WhenQueue)
		}
	}
	m.say(dim, "Nothing was said yet.")
	return nil
}

func (m *model) fork(string) tea.Cmd {
	id := m.session.ID
	return m.do(func(ctx context.Context, c *client.Client) (tea.Msg, error) {
		s, err := c.Fork(ctx, id, "")
		if err != nil {
			return nil, err
		}
		return opened{s, nil}, nil
	})
}

func (m *model) rename(arg string) tea.Cmd {
	if arg == "" {
		m.compose.set("/rename " + m.session.Title)
		return nil
	}
	return m.change(terret.SessionUpdated{Title: &arg}, "Renamed.")
}

func (m *model) handOff(arg string) tea.Cmd {
	id := m.session.ID
	hand := func(agent string) tea.Cmd {
		return m.do(func(ctx context.Context, c *client.Client) (tea.Msg, error) {
			s, err := c.Handoff(ctx, id, agent, "", "")
			if err != nil {
				return nil, err
			}
			return opened{s.Session, nil}, nil
		})
	}
	if arg != "" {
		return hand(arg)
	}
	p := &picker{name: "Hand over to"}
	for _, a := range m.agents {
		if a.Usable() && a.Agent != m.session.Agent {
			p.choices = append(p.choices, choice{label: text(plain, agentName(a.Agent, "x", m.titles)), words: a.Agent, pick: func(*model) tea.Cmd { return hand(a.Agent) }})
		}
	}
	if len(p.choices) == 0 {
		m.say(dim, "No other agent is installed and signed in; `terret agents doctor` says what is missing.")
		return nil
	}
	m.overlay = p
	return nil
}

func (m *model) compact(arg string) tea.Cmd {
	id := m.session.ID
	return m.do(func(ctx context.Context, c *client.Client) (tea.Msg, error) {
		_, err := c.Compact(ctx, id, arg)
		return nil, err
	})
}

// quit leaves, but asks first if that stops something.
func (m *model) quit(string) tea.Cmd {
	if m.stops() == 0 {
		return tea.Quit
	}
	m.ctrlC = m.now()
	m.warn()
	return nil
}

func (m *model) kill(string) tea.Cmd {
	id := m.session.ID
	return m.do(func(ctx context.Context, c *client.Client) (tea.Msg, error) { return nil, c.Kill(ctx, id) })
}

// inEditor has the person edit a text, and uses it unless it is as it was: leaving the
// editor without a change is no answer.
func (m *model) inEditor(pattern, before string, use func(m *model, after string) tea.Cmd) tea.Cmd {
	file, err := temporary(pattern, before)
	if err != nil {
		m.say(bad, err.Error())
		return nil
	}
	words := append(editor(m.cfg.Environ), file)
	cmd := exec.CommandContext(m.ctx, words[0], words[1:]...)
	return tea.ExecProcess(cmd, func(err error) tea.Msg {
		defer func() { _ = os.Remove(file) }()
		if err != nil {
			return failed{terret.Errorf(terret.CodeInvalidRequest, "the editor %s failed: %w", words[0], err)}
		}
		after, err := os.ReadFile(file)
		if err != nil {
			return failed{err}
		}
		if strings.TrimSpace(string(after)) == strings.TrimSpace(before) {
			return told{words: "Nothing was changed."}
		}
		return edited{string(after), use}
	})
}

func (m *model) editDraft() tea.Cmd {
	return m.inEditor("terret-*.md", m.compose.Text, func(m *model, after string) tea.Cmd {
		m.compose.set(strings.TrimRight(after, "\n"))
		return nil
	})
}

// editRequest has the person edit what a request asks about; saving it is the answer.
func (m *model) editRequest(it *item) tea.Cmd {
	d := terret.Decision{RequestID: it.ask.id}
	switch q := it.ask.data.(type) {
	case terret.PermissionRequest:
		return m.inEditor("terret-*.json", pretty(q.Input)+"\n", func(m *model, after string) tea.Cmd {
			d.Behavior, d.InputHash, d.UpdatedInput = terret.BehaviorAllow, q.InputHash, terret.JSON(after)
			return m.decide(d)
		})
	case terret.PlanRequest:
		return m.inEditor("terret-*.md", q.Plan, func(m *model, after string) tea.Cmd {
			d.Behavior, d.Reason = terret.BehaviorRevise, "Follow this plan instead:\n\n"+after
			return m.decide(d)
		})
	case terret.QuestionRequest:
		return m.inEditor("terret-*.md", "", func(m *model, after string) tea.Cmd {
			if d, _, done := m.chose(q, terret.Choice{strings.TrimSpace(after)}); done {
				return m.decide(d)
			}
			return nil
		})
	}
	return nil
}
