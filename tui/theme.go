package tui

import "strings"

// look says what a text is; a theme says how that looks. The low bits are its colour, the
// others add to it.
type look uint16

const (
	plain look = iota
	dim
	needs // what needs a person
	works // what runs
	bad   // what failed
	good
	added
	removed
	addedWord
	removedWord
	code
	codeWord // keywords
	codeText // strings
	codeNote // comments
	codeNum
	heading
	link
	border
	accent // the key to press, the cursor's place
	colours
)

const (
	bold look = 1 << (iota + 8)
	italic
	underline
	struck
	selected // the row under the cursor
)

const colourMask = 1<<8 - 1

// theme is how looks are drawn: the SGR parameters of each, and the signs that are used.
type theme struct {
	name   string
	sgr    [colours]string
	bold   string
	chosen string // selected rows
	signs  *signs
}

// signs are the characters of which the screen is made, for terminals with Unicode or not.
type signs struct {
	needs, works, done, failed, idle     string
	fold, open, tool, bar, cross, line   string
	corner                               [4]string // of a card: ┌ ┐ └ ┘
	prompt, dot, bullet, ellipsis, arrow string
	up, down                             string
}

func unicodeSigns() *signs {
	return &signs{
		needs: "●", works: "◐", done: "✓", failed: "✕", idle: "○", fold: "▸", open: "▾", tool: "›", bar: "│", cross: "┬", line: "─",
		corner: [4]string{"┌", "┐", "└", "┘"}, prompt: "›", dot: "·", bullet: "•", ellipsis: "…", arrow: "→", up: "↑", down: "↓",
	}
}

func asciiSigns() *signs {
	return &signs{
		needs: "!", works: "*", done: "+", failed: "x", idle: "-", fold: ">", open: "v", tool: ">", bar: "|", cross: "+", line: "-",
		corner: [4]string{"+", "+", "+", "+"}, prompt: ">", dot: "-", bullet: "*", ellipsis: "...", arrow: "->", up: "^", down: "v",
	}
}

// themeNames are the themes to choose from.
func themeNames() []string { return []string{"dark", "light", "high-contrast", "none", "ascii"} }

// themeNamed returns the theme of that name; dark if there is none.
func themeNamed(name string) *theme {
	t := &theme{name: name, bold: "1", chosen: "7", signs: unicodeSigns()}
	switch name {
	case "light":
		t.chosen = "48;2;221;228;238"
		t.sgr = [colours]string{
			dim: "38;2;98;105;118", needs: "38;2;150;88;0", works: "38;2;20;92;185", bad: "38;2;190;24;34", good: "38;2;20;112;58",
			added: "38;2;16;100;48", removed: "38;2;165;22;30", addedWord: "38;2;10;70;32;48;2;190;235;200", removedWord: "38;2;120;10;18;48;2;255;205;205",
			code: "38;2;60;66;78", codeWord: "38;2;120;40;150", codeText: "38;2;16;100;48", codeNote: "38;2;98;105;118", codeNum: "38;2;150;72;0",
			heading: "38;2;20;92;185", link: "38;2;20;92;185", border: "38;2;178;184;196", accent: "38;2;20;92;185",
		}
	case "high-contrast":
		t.sgr = [colours]string{
			dim: "37", needs: "93", works: "96", bad: "91", good: "92", added: "92", removed: "91", addedWord: "30;102", removedWord: "30;101",
			code: "97", codeWord: "95", codeText: "92", codeNote: "37", codeNum: "93", heading: "97", link: "96", border: "97", accent: "93",
		}
	case "none", "ascii": // attributes only: no colour at all
		t.sgr = [colours]string{addedWord: "4", removedWord: "4", link: "4", accent: "1", needs: "1"}
		if name == "ascii" {
			t.signs = asciiSigns()
		}
	default:
		t.name, t.chosen = "dark", "48;2;44;50;62"
		t.sgr = [colours]string{
			dim: "38;2;134;142;156", needs: "38;2;242;182;76", works: "38;2;108;172;250", bad: "38;2;246;110;114", good: "38;2;120;200;140",
			added: "38;2;134;206;150", removed: "38;2;240;130;130", addedWord: "38;2;210;250;218;48;2;30;82;48", removedWord: "38;2;255;220;220;48;2;104;36;40",
			code: "38;2;200;206;216", codeWord: "38;2;196;150;240", codeText: "38;2;160;206;140", codeNote: "38;2;134;142;156", codeNum: "38;2;240;176;110",
			heading: "38;2;150;196;255", link: "38;2;108;172;250", border: "38;2;70;76;90", accent: "38;2;108;172;250",
		}
	}
	return t
}

// draw is the line as the terminal takes it.
func (t *theme) draw(b *strings.Builder, l line) {
	now := ""
	for _, s := range l {
		if p := t.params(s.look); p != now && s.text != "" {
			if now != "" {
				b.WriteString("\x1b[m")
			}
			if p != "" {
				b.WriteString("\x1b[" + p + "m")
			}
			now = p
		}
		if t.signs.ellipsis == "..." {
			b.WriteString(toASCII(s.text))
		} else {
			b.WriteString(s.text)
		}
	}
	if now != "" {
		b.WriteString("\x1b[m")
	}
}

func (t *theme) params(k look) string {
	var p []string
	add := func(s string) {
		if s != "" {
			p = append(p, s)
		}
	}
	add(t.sgr[k&colourMask])
	for _, a := range [...]struct {
		bit look
		sgr string
	}{{bold, t.bold}, {italic, "3"}, {underline, "4"}, {struck, "9"}, {selected, t.chosen}} {
		if k&a.bit != 0 {
			add(a.sgr)
		}
	}
	return strings.Join(p, ";")
}

// toASCII replaces each character that is not ASCII by as many of them as it is wide.
func toASCII(s string) string {
	if plainASCII(s) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch r {
		case '…':
			b.WriteByte('~')
		case '−', '–', '—', '─':
			b.WriteByte('-')
		case '·', '•':
			b.WriteByte('-')
		case '│':
			b.WriteByte('|')
		case '’', '‘':
			b.WriteByte('\'')
		case '“', '”':
			b.WriteByte('"')
		default:
			if r < 0x80 {
				b.WriteRune(r)
			} else {
				b.WriteString("??"[:min(2, width(string(r)))])
			}
		}
	}
	return b.String()
}
