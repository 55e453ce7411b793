// Command termpic turns the screen of a terminal, as `tmux capture-pane -e -p` prints it, into
// an SVG picture; with the names of files, it turns the screens in them into one that moves.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"html"
	"io"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	cellWidth  = 8.4
	lineHeight = 19
	margin     = 16
	barHeight  = 30
)

// palette maps the colours that our programs use, on a dark ground.
var palette = map[string]string{
	"30": "#5c6370", "31": "#e06c75", "32": "#98c379", "33": "#e5c07b",
	"34": "#61afef", "35": "#c678dd", "36": "#56b6c2", "37": "#d7dae0", "39": "#d7dae0",
}

func main() {
	title := flag.String("title", "terret", "title of the window")
	each := flag.Duration("each", 200*time.Millisecond, "how long each of several screens is shown")
	flag.Parse()
	if err := run(*title, *each, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "termpic:", err)
		os.Exit(1)
	}
}

func run(title string, each time.Duration, names []string) error {
	if len(names) == 0 {
		only, err := read(os.Stdin)
		if err != nil {
			return err
		}
		return draw(os.Stdout, title, each, []screen{only})
	}
	var screens []screen
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		next, err := read(f)
		_ = f.Close()
		if err != nil {
			return err
		}
		screens = append(screens, next)
	}
	return draw(os.Stdout, title, each, screens)
}

// style is how text looks.
type style struct {
	colour, ground string
	bold, dim      bool
}

// span is a run of text that looks the same.
type span struct {
	style
	column int
	text   string
}

// screen is what a terminal shows.
type screen struct {
	lines   [][]span
	columns int
}

func read(in io.Reader) (screen, error) {
	var sc screen
	var st style
	s := bufio.NewScanner(in)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		spans, width := parse(s.Text(), &st)
		sc.lines = append(sc.lines, spans)
		sc.columns = max(sc.columns, width)
	}
	for len(sc.lines) > 0 && len(sc.lines[len(sc.lines)-1]) == 0 {
		sc.lines = sc.lines[:len(sc.lines)-1]
	}
	return sc, s.Err()
}

func draw(out io.Writer, title string, each time.Duration, screens []screen) error {
	columns, rows := 60, 0
	for _, sc := range screens {
		columns, rows = max(columns, sc.columns), max(rows, len(sc.lines))
	}
	w := bufio.NewWriter(out)
	width, height := float64(columns)*cellWidth+2*margin, rows*lineHeight+barHeight+2*margin
	fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%d" viewBox="0 0 %.0f %d" role="img" aria-label="%s in a terminal">`+"\n",
		width, height, width, height, html.EscapeString(title))
	fmt.Fprintf(w, `<rect width="100%%" height="100%%" rx="10" fill="#1e2127"/>`+"\n")
	for i, c := range []string{"#e06c75", "#e5c07b", "#98c379"} {
		fmt.Fprintf(w, `<circle cx="%d" cy="%d" r="6" fill="%s"/>`+"\n", margin+6+i*20, barHeight/2+4, c)
	}
	fmt.Fprintf(w, `<g font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace" font-size="14" xml:space="preserve">`+"\n")
	if len(screens) == 1 {
		for i, spans := range screens[0].lines {
			for _, sp := range spans {
				writeSpan(w, sp, lineAt(i))
			}
		}
	} else {
		play(w, each, screens)
	}
	fmt.Fprint(w, "</g>\n</svg>\n")
	return w.Flush()
}

// lineAt is where the text of a line stands.
func lineAt(i int) float64 { return float64(barHeight + margin + i*lineHeight + lineHeight - 5) }

// play draws screens that follow each other, again and again, and only the last one for those
// who want nothing to move. A line is written once, however many screens show it.
func play(w io.Writer, each time.Duration, screens []screen) {
	var style, uses strings.Builder
	lines := map[string]int{}
	ids := func(sc screen) (list []int) {
		for _, spans := range sc.lines {
			var b strings.Builder
			for _, sp := range spans {
				writeSpan(&b, sp, 0)
			}
			id, known := lines[b.String()]
			if !known {
				id = len(lines)
				lines[b.String()] = id
				fmt.Fprintf(w, `<defs><g id="l%d">%s</g></defs>`+"\n", id, b.String())
			}
			list = append(list, id)
		}
		return list
	}
	whole := each * time.Duration(len(screens))
	at := func(i int) float64 { return 100 * float64(i) / float64(len(screens)) }
	for from := 0; from < len(screens); {
		shown := ids(screens[from])
		to := from + 1
		for to < len(screens) && slices.Equal(shown, ids(screens[to])) {
			to++
		}
		last := ""
		if to == len(screens) {
			last = " last"
		}
		fmt.Fprintf(&style, "@keyframes s%d{0%%{visibility:hidden}%.3f%%{visibility:visible}%.3f%%{visibility:hidden}}\n", from, at(from), at(to))
		fmt.Fprintf(&uses, `<g class="s%s" style="animation-name:s%d">`, last, from)
		for i, id := range shown {
			fmt.Fprintf(&uses, `<use href="#l%d" y="%.0f"/>`, id, lineAt(i))
		}
		uses.WriteString("</g>\n")
		from = to
	}
	fmt.Fprintf(w, "<style>.s{visibility:hidden;animation:%dms step-end infinite}\n", whole.Milliseconds())
	fmt.Fprint(w, style.String(), "@media(prefers-reduced-motion){.s{animation:none}.last{visibility:visible}}</style>\n", uses.String())
}

func writeSpan(w io.Writer, sp span, y float64) {
	attrs := ""
	if sp.bold {
		attrs += ` font-weight="bold"`
	}
	if sp.dim {
		attrs += ` opacity="0.6"`
	}
	wide := float64(utf8.RuneCountInString(sp.text)) * cellWidth
	if sp.ground != "" {
		fmt.Fprintf(w, `<rect x="%.1f" y="%.0f" width="%.1f" height="%d" fill="%s"/>`+"\n", margin+float64(sp.column)*cellWidth, y-lineHeight+5, wide, lineHeight, sp.ground)
	}
	colour := sp.colour
	if colour == "" {
		colour = palette["39"]
	}
	fmt.Fprintf(w, `<text x="%.1f" y="%.0f" fill="%s"%s textLength="%.1f">%s</text>`+"\n",
		margin+float64(sp.column)*cellWidth, y, colour, attrs, wide, strings.ReplaceAll(html.EscapeString(sp.text), " ", "\u00a0")) // of other spaces only one is kept
}

// parse splits a line at its escape sequences and spaces at its ends; st is the
// style as it goes on from line to line.
func parse(line string, st *style) (spans []span, width int) {
	column := 0
	for line != "" {
		text, rest, found := strings.Cut(line, "\x1b[")
		if st.ground != "" && text != "" { // also where nothing is written
			spans = append(spans, span{*st, column, text})
			width = column + utf8.RuneCountInString(text)
		} else if trimmed := strings.TrimRight(text, " "); trimmed != "" {
			lead := len(trimmed) - len(strings.TrimLeft(trimmed, " "))
			spans = append(spans, span{*st, column + lead, trimmed[lead:]})
			width = column + utf8.RuneCountInString(trimmed)
		}
		column += utf8.RuneCountInString(text)
		if !found {
			break
		}
		codes, after, ok := strings.Cut(rest, "m")
		if !ok {
			break
		}
		st.applyAll(strings.Split(codes, ";"))
		line = after
	}
	return spans, width
}

// applyAll applies codes, of which some colours take five: 38;2 and red, green, blue, or 48
// for what is behind the text.
func (s *style) applyAll(codes []string) {
	for i := 0; i < len(codes); i++ {
		if i+4 < len(codes) && (codes[i] == "38" || codes[i] == "48") && codes[i+1] == "2" {
			colour := "rgb(" + strings.Join(codes[i+2:i+5], ",") + ")"
			if codes[i] == "38" {
				s.colour = colour
			} else {
				s.ground = colour
			}
			i += 4
			continue
		}
		s.apply(codes[i])
	}
}

func (s *style) apply(code string) {
	switch code {
	case "", "0":
		*s = style{}
	case "1":
		s.bold = true
	case "2":
		s.dim = true
	case "22":
		s.bold, s.dim = false, false
	case "49":
		s.ground = ""
	default:
		if c, ok := palette[code]; ok {
			s.colour = c
		}
	}
}
