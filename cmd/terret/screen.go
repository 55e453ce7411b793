package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/terret-dev/terret/tui/draft"
)

// screen writes a conversation to a terminal or a pipe: the agent's words to one
// stream, activity to the other. It is safe for concurrent use.
type screen struct {
	words, talk io.Writer
	colour      bool // talk supports colours and cursor movement

	mu      sync.Mutex
	midLine bool // the last words did not end their line
	status  string
	since   time.Time
	frame   int
	drawn   bool
	stop    chan struct{}
	ticker  sync.WaitGroup
	editor  *editor         // of a line that a person types; nil if nobody is asked
	held    strings.Builder // the agent's words meanwhile, unless it is live

	types  bool      // a person can type while a turn runs: the screen knows where words end
	apart  bool      // words go elsewhere than talk
	began  time.Time // the turn
	queue  []string  // what waits behind it
	row    string    // of the words' last line, what is in its last row; empty if that is all free
	rowFor int       // columns of the terminal then
}

const (
	dim   = "\x1b[2m"
	bold  = "\x1b[1m"
	red   = "\x1b[31m"
	green = "\x1b[32m"
	amber = "\x1b[33m"
	cyan  = "\x1b[36m"
	reset = "\x1b[0m"
)

// paint colours our own text.
func (s *screen) paint(colour, text string) string {
	if !s.colour {
		return text
	}
	return colour + text + reset
}

// say writes the agent's words as they come.
func (s *screen) say(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.editor == nil, s.live() && s.apart:
		s.write(text)
	case s.live():
		s.editor.hide()
		s.goOn()
		s.write(text)
		s.goBelow()
		s.editor.draw()
	default:
		s.held.WriteString(text)
	}
}

// write writes the agent's words; s.mu must be held.
func (s *screen) write(text string) {
	s.clear()
	text = printable(text)
	fmt.Fprint(s.words, text)
	if text != "" {
		s.midLine = !strings.HasSuffix(text, "\n")
		s.follow(text)
	}
}

// endWords ends an unfinished line of words.
func (s *screen) endWords() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if held := s.held.String(); held != "" && !strings.HasSuffix(held, "\n") {
		s.held.WriteByte('\n')
	}
	s.breakLine()
}

func (s *screen) breakLine() {
	if s.midLine {
		s.clear()
		if s.needsBreak() {
			fmt.Fprint(s.words, "\n")
		}
		s.midLine, s.row = false, ""
	}
}

// line writes a line of activity.
func (s *screen) line(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.editor != nil { // the news come above it
		s.editor.hide()
		defer s.editor.draw()
	}
	s.clear()
	s.breakLine()
	fmt.Fprintf(s.talk, format+"\n", args...)
}

// prompt writes a question without ending the line.
func (s *screen) prompt(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
	s.breakLine()
	fmt.Fprint(s.talk, text)
}

// busy shows a status and the elapsed time, until idle.
func (s *screen) busy(status string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status, s.since = status, time.Now()
	s.tick()
}

// tick has the status move, until idle; s.mu must be held.
func (s *screen) tick() {
	if !s.colour || s.stop != nil {
		return
	}
	s.stop = make(chan struct{})
	stop := s.stop
	s.ticker.Go(func() {
		t := time.NewTicker(100 * time.Millisecond)
		defer t.Stop()
		for {
			select {
			case <-t.C:
				s.draw()
			case <-stop:
				return
			}
		}
	})
}

// idle removes the status and waits for its ticker. While a person types ahead, there always
// is one.
func (s *screen) idle() {
	s.mu.Lock()
	s.clear()
	s.status = ""
	if s.live() {
		s.mu.Unlock()
		return
	}
	stop := s.stop
	s.stop = nil
	s.mu.Unlock()
	if stop != nil {
		close(stop)
		s.ticker.Wait()
	}
}

var frames = []string{"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"}

func (s *screen) draw() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.frame++
	if s.live() {
		s.drawHead()
		return
	}
	if s.status == "" || s.midLine || s.editor != nil {
		return
	}
	took := elapsed(time.Since(s.since))
	columns, _ := size(s.talk) // a line that wraps could not be removed
	fmt.Fprintf(s.talk, "\r\x1b[K%s%s %s %s%s", dim, frames[s.frame%len(frames)], fit(oneLine(s.status), min(60, columns-len(took)-4)), took, reset)
	s.drawn = true
}

// clear removes the status line; s.mu must be held.
func (s *screen) clear() {
	if s.drawn {
		fmt.Fprint(s.talk, "\r\x1b[K")
		s.drawn = false
	}
}

// edit prompts for a line that a person edits, until edited.
func (s *screen) edit(l wanted) *editor {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
	e := &editor{Draft: l.draft, out: s.talk, live: l.live, prompt: l.prompt[strings.LastIndexByte(l.prompt, '\n')+1:]}
	if e.Draft == nil {
		e.Draft = draft.New(l.past)
	}
	e.size = func() (columns, lines int) { return size(s.talk) }
	s.editor = e
	if l.live {
		s.goBelow()
		s.tick()
		e.head = s.head
		fmt.Fprint(s.talk, tellPastes)
		e.draw()
		return e
	}
	s.breakLine()
	fmt.Fprint(s.talk, tellPastes+l.prompt)
	e.begin()
	if e.Text != "" {
		e.draw()
	}
	return e
}

// edited ends that. The line stays if it was completed.
func (s *screen) edited(completed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	live := s.live()
	s.editor.stop(completed)
	s.editor = nil
	if live {
		s.goOn()
	}
	if s.held.Len() > 0 {
		s.write(s.held.String())
		s.held.Reset()
	}
}

// press passes a key on to the editor that is open.
func (s *screen) press(k key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.editor.press(k)
}

// change changes the text in the editor that is open.
func (s *screen) change(e *editor, how func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	how()
	e.draw()
}

// redraw draws the line that is edited anew.
func (s *screen) redraw() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.editor.resume()
}

func elapsed(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return d.Round(time.Second).String()
}

// printable makes an agent's text safe to show: it escapes control characters that
// could move the cursor, recolour or retitle the terminal.
func printable(text string) string {
	if strings.IndexFunc(text, unsafeRune) < 0 && utf8.ValidString(text) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		switch {
		case !unsafeRune(r):
			b.WriteRune(r)
		case r < 0x20:
			b.WriteRune('␀' + r)
		case r == 0x7f:
			b.WriteRune('␡')
		default:
			b.WriteRune(utf8.RuneError)
		}
	}
	return b.String()
}

// unsafeRune reports control characters, and those that change the direction of text
// and could hide what a command does.
func unsafeRune(r rune) bool {
	return r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r))
}

// oneLine joins text into one line.
func oneLine(text string) string { return strings.Join(strings.Fields(printable(text)), " ") }

// note prints a message from terret itself.
func (a *app) note(format string, args ...any) {
	text := printable(fmt.Sprintf(format, args...))
	if a.colour(a.err) {
		text = dim + text + reset
	}
	fmt.Fprintln(a.err, text)
}
