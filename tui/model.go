package tui

import (
	"cmp"
	"context"
	"path"
	"strings"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/client"
)

// focus is where keys go.
type focus uint8

const (
	onComposer focus = iota
	onList
	onConversation
)

// model is everything that is shown. Only the loop of Bubble Tea touches it.
type model struct {
	ctx   context.Context
	wait  *sync.WaitGroup
	cfg   Config
	c     *client.Client
	now   func() time.Time
	theme *theme

	width, height int
	focus         focus
	failed        error // why the workspace ended, if it is no success

	sessions  []terret.Session // newest first
	requests  []request        // that wait, in all sessions
	begun     map[string]time.Time
	titles    map[string]string
	agents    []terret.Probe
	all       *stream
	offline   time.Time // since when the server is gone
	refreshes int       // lists that are on their way
	again     bool      // and must be fetched again

	session  terret.Session // that is open; without an id, a new one
	draftOf  client.NewSession
	conv     *conversation
	live     *stream
	loading  bool
	sought   terret.Found // to be shown once its session is open and read
	paint    painter
	view     scroll
	at       int // item under the cursor, when the conversation has the focus
	card     card
	seen     map[string]time.Time // requests, since when they are in view
	queue    []terret.Turn
	changes  client.Changes
	branch   client.Branch
	counted  int // changes of the conversation that it knows
	held     map[string]string
	pictures map[string][]image

	compose *composer
	reason  *terret.Decision // that waits for words
	editing *terret.Turn     // of the queue, whose text is in the composer
	popup   popup
	listAt  int
	overlay overlay
	side    bool

	toast  toast
	typed  time.Time // when a key last went to the composer
	ctrlC  time.Time
	leader bool // ctrl+x was pressed
	eager  bool // what is written is to be sent as soon as there is a server
	ticks  bool
	feed   feed
}

// overlay is something in front of the conversation that takes the keys.
type overlay interface {
	press(m *model, k tea.KeyPressMsg) tea.Cmd
	rows(m *model, columns, height int) []line
	title() string
}

// toast is a short message that goes away.
type toast struct {
	words string
	look  look
	until time.Time
}

func newModel(ctx context.Context, cfg Config, wait *sync.WaitGroup) *model {
	m := &model{
		ctx: ctx, cfg: cfg, wait: wait, now: time.Now, theme: chooseTheme(cfg), width: 80, height: 24,
		begun: map[string]time.Time{}, titles: map[string]string{}, seen: map[string]time.Time{}, held: map[string]string{}, pictures: map[string][]image{},
		compose: newComposer(nil), draftOf: cfg.New, side: true,
	}
	m.draftOf.Cwd = firstOf(m.draftOf.Cwd, cfg.Cwd)
	m.paint = painter{signs: m.theme.signs, now: m.now(), me: environ(cfg.Environ, "USER")}
	return m
}

// Messages of commands.
type (
	connected struct{ c *client.Client }
	lost      struct{ err error }
	listed    struct {
		sessions []terret.Session
		requests []terret.Request
	}
	unlisted struct{ err error }
	probed   struct{ agents []terret.Probe }
	opened   struct {
		session terret.Session
		past    []string
	}
	refreshed struct{ session terret.Session }
	queued    struct {
		session string
		turns   []terret.Turn
	}
	changed struct {
		session string
		is      client.Changes
	}
	offered struct {
		session  string
		commands []terret.Command
	}
	failed struct{ err error }
	told   struct {
		words string
		then  tea.Cmd
	}
	ticked struct{}
	edited struct {
		text string
		use  func(m *model, text string) tea.Cmd
	}
)

func (m *model) Init() tea.Cmd {
	if m.theme.name == "dark" && firstOf(m.cfg.Theme, environ(m.cfg.Environ, "TERRET_THEME")) == "" {
		return tea.Batch(m.connect(0), tea.RequestBackgroundColor)
	}
	return m.connect(0)
}

// connect connects after a while.
func (m *model) connect(after time.Duration) tea.Cmd {
	return func() tea.Msg {
		select {
		case <-time.After(after):
		case <-m.ctx.Done():
			return nil
		}
		c, err := m.cfg.Connect(m.ctx)
		if err != nil {
			return lost{err}
		}
		return connected{c}
	}
}

// do runs a call to the server in the background.
func (m *model) do(call func(ctx context.Context, c *client.Client) (tea.Msg, error)) tea.Cmd {
	c := m.c
	if c == nil {
		return func() tea.Msg {
			return failed{terret.Errorf(terret.CodeConnectionFailed, "there is no connection to the server yet")}
		}
	}
	return func() tea.Msg {
		msg, err := call(m.ctx, c)
		if err != nil {
			return failed{err}
		}
		return msg
	}
}

// quietly is do for what is only nice to have.
func (m *model) quietly(call func(ctx context.Context, c *client.Client) (tea.Msg, error)) tea.Cmd {
	run := m.do(call)
	return func() tea.Msg {
		msg := run()
		if _, bad := msg.(failed); bad {
			return nil
		}
		return msg
	}
}

const retryAfter = time.Second

// Update takes what has happened. It never waits.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	cmd := m.update(msg)
	return m, tea.Batch(cmd, m.tick())
}

func (m *model) update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		if msg.Width > 0 && msg.Height > 0 { // some terminals do not say
			m.width, m.height = msg.Width, msg.Height
		}
	case tea.KeyPressMsg:
		return m.press(msg)
	case tea.PasteMsg:
		return m.pasted(msg.Content)
	case tea.MouseWheelMsg:
		return m.wheel(msg)
	case tea.MouseClickMsg:
		return m.click(msg)
	case tea.BackgroundColorMsg:
		if !msg.IsDark() {
			m.use("light")
		}
	case batch:
		return m.arrived(msg)
	case ticked:
		m.ticks = false
	case connected:
		return m.connected(msg.c)
	case lost:
		m.say(bad, msg.err.Error())
		return m.connect(retryAfter)
	case failed:
		m.say(bad, msg.err.Error())
	case told:
		if msg.words != "" {
			m.say(plain, msg.words)
		}
		return msg.then
	case edited:
		return msg.use(m, msg.text)
	case attached:
		m.attach(msg)
	case foundFiles:
		m.popup.files(msg)
	case overlay:
		m.overlay = msg
	default:
		return m.learned(msg)
	}
	return nil
}

// learned takes what the server has answered.
func (m *model) learned(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case listed:
		m.refreshes--
		m.sessions = msg.sessions
		m.requests = m.requests[:0]
		for _, r := range msg.requests {
			m.requests = append(m.requests, requestFrom(r))
		}
		m.current()
		if m.again {
			m.again = false
			return m.refresh()
		}
	case unlisted: // what the lists say may be old; the stream says so if the server is gone
		m.refreshes--
	case probed:
		m.agents = msg.agents
		for _, a := range msg.agents {
			m.titles[a.Agent] = a.Title
		}
	case opened:
		return m.show(msg.session, msg.past)
	case refreshed:
		if msg.session.ID == m.session.ID {
			m.session = msg.session
		}
	case queued:
		if msg.session == m.session.ID {
			m.queue = msg.turns
		}
	case branched:
		if msg.session == m.session.ID {
			m.branch = msg.is
		}
	case editing:
		m.edits(msg)
	case changed:
		if msg.session == m.session.ID {
			m.changes = msg.is
		}
	case offered:
		if m.conv != nil && msg.session == m.session.ID && len(m.conv.commands) == 0 {
			m.conv.commands = msg.commands
		}
	case moreFiles:
		msg.to.files(msg.files)
	case found:
		if p, ok := m.overlay.(*picker); ok {
			p.found(msg)
		}
	}
	return nil
}

func (m *model) say(k look, words string) {
	m.toast = toast{oneLine(words), k, m.now().Add(6 * time.Second)}
}

// tick asks for a frame in a second if something on the screen counts time.
func (m *model) tick() tea.Cmd {
	counts := m.conv != nil && m.conv.turn != "" || m.toast.words != "" && m.now().Before(m.toast.until) || !m.offline.IsZero() || len(m.begun) > 0
	if m.ticks || !counts {
		return nil
	}
	m.ticks = true
	return tea.Tick(time.Second, func(time.Time) tea.Msg { return ticked{} })
}

func (m *model) connected(c *client.Client) tea.Cmd {
	m.c = c
	m.offline = time.Time{}
	if m.all != nil {
		m.all.cancel()
	}
	m.all = followAll(m.ctx, m.wait, c)
	cmds := []tea.Cmd{m.all.next, m.refresh(), m.quietly(func(ctx context.Context, c *client.Client) (tea.Msg, error) {
		agents, err := c.Agents(ctx)
		return probed{agents}, err
	})}
	switch {
	case m.conv != nil:
		cmds = append(cmds, m.listen())
	case m.cfg.Session != "":
		cmds = append(cmds, m.open(m.cfg.Session))
	}
	if m.eager {
		m.eager, m.toast = false, toast{}
		cmds = append(cmds, m.enter(client.WhenSteer))
	}
	return tea.Batch(cmds...)
}

// refresh fetches the lists of sessions and requests.
func (m *model) refresh() tea.Cmd {
	if m.refreshes > 0 {
		m.again = true
		return nil
	}
	m.refreshes++
	fetch := m.do(func(ctx context.Context, c *client.Client) (tea.Msg, error) {
		page, err := c.Sessions(ctx, terret.SessionFilter{Limit: 200})
		if err != nil {
			return nil, err
		}
		asked, err := c.Requests(ctx, terret.RequestFilter{State: terret.RequestOpen, Limit: 200})
		if err != nil {
			return nil, err
		}
		return listed{page.Items, asked.Items}, nil
	})
	return func() tea.Msg {
		msg := fetch()
		if f, no := msg.(failed); no {
			return unlisted(f)
		}
		return msg
	}
}

// open opens a session.
func (m *model) open(id string) tea.Cmd {
	return m.do(func(ctx context.Context, c *client.Client) (tea.Msg, error) {
		s, err := c.Session(ctx, id)
		if err != nil {
			return nil, err
		}
		turns, err := c.Turns(ctx, id)
		if err != nil {
			return nil, err
		}
		var past []string
		for _, t := range turns {
			if said := strings.TrimSpace(promptText(t.Prompt)); said != "" && (len(past) == 0 || past[len(past)-1] != said) {
				past = append(past, said)
			}
		}
		return opened{s, past}, nil
	})
}

// show puts a session into the middle.
func (m *model) show(s terret.Session, past []string) tea.Cmd {
	if m.session.ID != s.ID {
		m.held[m.session.ID] = m.compose.Text
		m.pictures[m.session.ID] = m.compose.images
		m.compose = newComposer(past)
		m.compose.insert(m.held[s.ID])
		m.compose.images = m.pictures[s.ID]
		m.editing = nil
	}
	if m.sought.Session != s.ID {
		m.sought = terret.Found{}
	}
	m.session, m.conv, m.loading = s, newConversation(s), s.LastSeq > 0
	m.view, m.queue, m.changes, m.counted, m.reason, m.card = scroll{}, nil, client.Changes{}, 0, nil, card{}
	m.overlay, m.focus, m.branch = nil, onComposer, client.Branch{}
	m.paint.cwd = s.Cwd
	return tea.Batch(m.listen(), m.look(), m.lookBranch(), m.quietly(func(ctx context.Context, c *client.Client) (tea.Msg, error) {
		commands, err := c.Commands(ctx, s.ID)
		return offered{s.ID, commands}, err
	}))
}

// begin leaves the session, for a new one.
func (m *model) begin() tea.Cmd {
	if m.live != nil {
		m.live.cancel()
		m.live = nil
	}
	was := m.session.ID
	m.held[was] = m.compose.Text
	m.session, m.conv, m.queue, m.reason, m.editing = terret.Session{}, nil, nil, nil, nil
	m.pictures[was] = m.compose.images
	m.compose = newComposer(nil)
	m.compose.insert(m.held[""])
	m.compose.images = m.pictures[""]
	m.overlay, m.focus = nil, onComposer
	return nil
}

// look fetches what no event says: what waits in the queue, and what has changed.
func (m *model) look() tea.Cmd {
	if m.conv == nil {
		return nil
	}
	id := m.session.ID
	m.counted = m.conv.changes
	return tea.Batch(
		m.quietly(func(ctx context.Context, c *client.Client) (tea.Msg, error) {
			turns, err := c.Queue(ctx, id)
			return queued{id, turns}, err
		}),
		m.quietly(func(ctx context.Context, c *client.Client) (tea.Msg, error) {
			is, err := c.Changes(ctx, id, "", false)
			return changed{id, is}, err
		}),
		m.quietly(func(ctx context.Context, c *client.Client) (tea.Msg, error) {
			s, err := c.Session(ctx, id)
			return refreshed{s}, err
		}),
	)
}

// agentOf is the name of the agent that works in the open session, or would.
func (m *model) agentOf() string {
	if m.conv == nil {
		return agentName(m.draftOf.Agent, m.draftOf.Model, m.titles)
	}
	return agentName(m.session.Agent, firstOf(m.conv.model, m.session.Model), m.titles)
}

// can reports whether the agent of the open session has an ability.
func (m *model) can(what terret.Capability) bool {
	for _, a := range m.agents {
		if a.Agent == m.session.Agent {
			return a.Capabilities.Has(what)
		}
	}
	return false
}

func titleOf(s terret.Session) string { return cmp.Or(oneLine(s.Title), "(no title)") }

func folderOf(cwd string) string { return oneLine(path.Base(cmp.Or(cwd, "/"))) }
