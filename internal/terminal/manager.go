package terminal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

var (
	// ErrUnsupported says that there are no ptys on this system.
	ErrUnsupported = errors.New("terminals are unsupported on this system")
	// ErrNotFound says that there is no such terminal, or no longer.
	ErrNotFound = errors.New("there is no such terminal; it may have been closed")
	// ErrTooMany says that no further terminal may be opened.
	ErrTooMany = errors.New("too many terminals are open")
	// ErrFull says that the terminal's programs do not read what is typed.
	ErrFull = errors.New("the program in the terminal does not read what is typed; wait, or close the terminal")
	// ErrEnded says that the terminal's shell has ended.
	ErrEnded = errors.New("the shell of this terminal has ended; open another one")
)

// Limits bounds what terminals may use; zero means the default.
type Limits struct {
	Session int // terminals of one session; 8
	Total   int // of all sessions; 32
	Kept    int // bytes of output that are kept of each; 256 KB
	Input   int // bytes of input that wait to be read; 64 KB
	Rate    int // bytes of output in a second; 4 MB
	Grace   time.Duration
}

func (l Limits) withDefaults() Limits {
	for v, to := range map[*int]int{&l.Session: 8, &l.Total: 32, &l.Kept: 256 << 10, &l.Input: 64 << 10, &l.Rate: 4 << 20} {
		if *v == 0 {
			*v = to
		}
	}
	if l.Grace == 0 {
		l.Grace = time.Second
	}
	return l
}

// Spec says what terminal to open. Session and Dir are required.
type Spec struct {
	Session string
	Dir     string
	// Env is the whole environment of the shell; what describes the terminal is added.
	Env           []string
	Owner         string // worker id for the guard's mark
	By            string // who opens it
	Columns, Rows int
}

// Manager owns the terminals of a process. It is safe for concurrent use.
type Manager struct {
	limits Limits

	mu      sync.Mutex
	all     []*Terminal // the oldest first
	opening map[string]int
	ids     int
	closed  bool
	begun   sync.WaitGroup // of Open
}

// NewManager makes a manager without terminals. The caller must Close it.
func NewManager(l Limits) *Manager {
	return &Manager{limits: l.withDefaults(), opening: map[string]int{}}
}

// Open opens a terminal and starts a shell in it. ctx bounds the start only. The oldest
// terminal whose shell has ended makes room for it if need be: of the session if that has
// too many, or else of any.
func (m *Manager) Open(ctx context.Context, s Spec) (*Terminal, error) {
	id, err := m.reserve(s.Session)
	if err != nil {
		return nil, err
	}
	defer m.begun.Done()
	t, err := open(ctx, id, s, m.limits)
	m.mu.Lock()
	m.opening[s.Session]--
	if m.opening[s.Session] == 0 {
		delete(m.opening, s.Session)
	}
	closed := m.closed
	if err == nil && !closed {
		m.all = append(m.all, t)
	}
	m.mu.Unlock()
	if err == nil && closed {
		t.Close()
		err = ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	return t, nil
}

// reserve makes room for one more terminal of a session.
func (m *Manager) reserve(session string) (id string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return "", fmt.Errorf("%w: the server is stopping", ErrTooMany)
	}
	own, total := m.opening[session], len(m.all)
	for _, n := range m.opening {
		total += n
	}
	for _, t := range m.all {
		if t.session == session {
			own++
		}
	}
	if own >= m.limits.Session || total >= m.limits.Total {
		i := slices.IndexFunc(m.all, func(t *Terminal) bool { return (t.session == session || own < m.limits.Session) && t.over() })
		switch {
		case i >= 0:
			m.all = slices.Delete(m.all, i, i+1) // it holds nothing any more
		case own >= m.limits.Session:
			return "", fmt.Errorf("%w: this session has %d, the maximum; close one", ErrTooMany, own)
		default:
			return "", fmt.Errorf("%w: there are %d in all sessions, the maximum; close some", ErrTooMany, total)
		}
	}
	m.opening[session]++
	m.begun.Add(1)
	m.ids++
	return fmt.Sprintf("term_%d_%s", m.ids, strings.ToLower(newID())), nil
}

// List returns the terminals of a session, or of all if it is empty, the oldest first.
func (m *Manager) List(session string) []*Terminal {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []*Terminal
	for _, t := range m.all {
		if session == "" || t.session == session {
			out = append(out, t)
		}
	}
	return out
}

// Get returns a terminal of a session, or ErrNotFound.
func (m *Manager) Get(session, id string) (*Terminal, error) {
	for _, t := range m.List(session) {
		if t.id == id && session != "" {
			return t, nil
		}
	}
	return nil, ErrNotFound
}

// Remove ends a terminal, and waits until nothing is left of it.
func (m *Manager) Remove(session, id string) error {
	t, err := m.Get(session, id)
	if err != nil {
		return err
	}
	m.drop(func(o *Terminal) bool { return o == t })
	t.Close()
	return nil
}

// RemoveAll ends the terminals of a session, and waits until nothing is left of them.
func (m *Manager) RemoveAll(session string) {
	closeAll(m.drop(func(t *Terminal) bool { return t.session == session }))
}

// Close ends all terminals, and waits until nothing is left of them. No further ones can
// be opened. It may be called many times.
func (m *Manager) Close() {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	closeAll(m.drop(func(*Terminal) bool { return true }))
	m.begun.Wait()
}

// drop takes terminals out of the list.
func (m *Manager) drop(which func(*Terminal) bool) (dropped []*Terminal) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.all = slices.DeleteFunc(m.all, func(t *Terminal) bool {
		if which(t) {
			dropped = append(dropped, t)
			return true
		}
		return false
	})
	return dropped
}

func closeAll(list []*Terminal) {
	var wait sync.WaitGroup
	for _, t := range list {
		wait.Go(t.Close)
	}
	wait.Wait()
}
