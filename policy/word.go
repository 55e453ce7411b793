package policy

import (
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// word is a word of a command after the shell's expansions, as far as known: in text,
// anyText stands for what only the running shell knows.
type word struct {
	text   string
	splits bool // may turn out to be no word, or several
	glob   bool // only file names are unknown in it
	cut    bool // what follows its last unknown part is left out
}

func (w word) literal() bool { return !strings.Contains(w.text, anyText) }

// mayBeFlag reports whether the word may turn out to be an option.
func (w word) mayBeFlag() bool {
	return strings.HasPrefix(w.text, "-") || strings.HasPrefix(w.text, anyText) || w.splits && !w.literal() && !w.glob
}

// unknown is a completely unknown word.
var unknown = word{text: anyText, splits: true}

func literals(words ...string) []word {
	all := make([]word, len(words))
	for i, w := range words {
		all[i] = word{text: w}
	}
	return all
}

// plain returns the texts of words that are all literal.
func plain(words []word) ([]string, bool) {
	all := make([]string, len(words))
	for i, w := range words {
		if !w.literal() {
			return nil, false
		}
		all[i] = w.text
	}
	return all, true
}

// joined is the words as one text for covers and mayMatch.
func joined(words []word) string {
	var b strings.Builder
	for i, w := range words {
		if i > 0 {
			b.WriteString(wordSep)
		}
		b.WriteString(w.text)
	}
	return b.String()
}

// possible is the words as one text for mayMatch, in which words that may vanish are
// optional.
func possible(words []word) string {
	var b strings.Builder
	for i, w := range words {
		if i > 0 && w.splits && strings.Trim(w.text, anyText) == "" {
			b.WriteString(maybeWords)
			continue
		}
		if i > 0 {
			b.WriteString(wordSep)
		}
		b.WriteString(w.text)
	}
	return b.String()
}

// show is the words as a person would read them.
func show(words []word) string {
	parts := make([]string, len(words))
	for i, w := range words {
		parts[i] = strings.ReplaceAll(w.text, anyText, "…")
	}
	s := strings.Join(parts, " ")
	if runes := []rune(s); len(runes) > 80 {
		s = string(runes[:79]) + "…"
	}
	return s
}

// wordReader turns one syntax word into a word.
type wordReader struct {
	home   string
	vars   map[string]string
	b      strings.Builder
	splits bool
	other  bool // it has an unknown part that is not a glob
	rest   bool // an unknown part already covers what follows
	doubt  string
}

// readWord expands a word. The doubt says why the word may do more than evaluate to a
// text; substitutions inside it are judged separately.
func readWord(w *syntax.Word, s Subject) (word, string) {
	if len(w.Parts) == 1 {
		if lit, ok := w.Parts[0].(*syntax.Lit); ok && !strings.ContainsAny(lit.Value, "\\*?[{~=") {
			return word{text: lit.Value, glob: true}, ""
		}
	}
	r := wordReader{home: s.Home, vars: s.Vars}
	for i, part := range w.Parts {
		r.part(part, w.Parts[i+1:], i == 0)
	}
	return word{text: r.b.String(), splits: r.splits, glob: !r.other, cut: r.rest}, r.doubt
}

func (r *wordReader) write(s string) {
	if !r.rest {
		r.b.WriteString(s)
	}
}

// unknown adds a part that only the running shell knows.
func (r *wordReader) unknown(splits bool) {
	r.write(anyText)
	r.splits = r.splits || splits
	r.other = true
}

// files adds a part that is completed with file names.
func (r *wordReader) files() {
	r.write(anyText)
	r.splits = true
}

func (r *wordReader) part(part syntax.WordPart, later []syntax.WordPart, first bool) {
	switch p := part.(type) {
	case *syntax.Lit:
		r.unquoted(p.Value, later, first)
	case *syntax.SglQuoted:
		r.single(p)
	case *syntax.DblQuoted:
		if p.Dollar {
			r.doubt = `$"…" is translated when it runs`
		}
		for _, inner := range p.Parts {
			r.quoted(inner)
		}
	case *syntax.ParamExp:
		if value, ok := r.variable(p); ok {
			r.write(value)
			return
		}
		r.unknown(true)
	case *syntax.ProcSubst:
		r.write("/dev/fd/63")
	case *syntax.ExtGlob:
		r.doubt = "an extended glob means different things to different shells"
		r.unknown(true)
	default: // substitutions and arithmetic
		r.unknown(true)
	}
}

// quoted reads a part between double quotes.
func (r *wordReader) quoted(part syntax.WordPart) {
	switch p := part.(type) {
	case *syntax.Lit:
		for i := 0; i < len(p.Value); i++ {
			c := p.Value[i]
			if c == '\\' && i+1 < len(p.Value) && strings.IndexByte("$`\"\\\n", p.Value[i+1]) >= 0 {
				i++
				if c = p.Value[i]; c == '\n' {
					continue
				}
			}
			r.write(string([]byte{c}))
		}
	case *syntax.ParamExp:
		if value, ok := r.variable(p); ok {
			r.write(value)
			return
		}
		all := p.Param != nil && (p.Param.Value == "@" || p.Param.Value == "*") || p.Index != nil || p.Excl
		r.unknown(all)
	default:
		r.unknown(false)
	}
}

// variable is the value of a plain expansion of a variable that is known, and
// that no judged command may set: the name is in capitals and none of harmlessEnv.
func (r *wordReader) variable(p *syntax.ParamExp) (string, bool) {
	if p.Param == nil || p.Excl || p.Length || p.Index != nil || p.Slice != nil || p.Repl != nil || p.Exp != nil || p.NestedParam != nil {
		return "", false
	}
	name := p.Param.Value
	value := r.vars[name]
	if name == "HOME" {
		value = r.home
	}
	ok := value != "" && !strings.ContainsAny(value, " \t\n*?[") && !localName.MatchString(name) && !harmlessEnv[name]
	return value, ok
}

func (r *wordReader) single(p *syntax.SglQuoted) {
	if !p.Dollar {
		r.write(p.Value)
		return
	}
	value, ok := ansiC(p.Value)
	if !ok {
		r.doubt = "$'…' holds an escape that shells read differently"
		r.unknown(false)
		return
	}
	r.write(value)
}

// unquoted reads text outside quotes: escapes, globs, braces and the tilde.
func (r *wordReader) unquoted(s string, later []syntax.WordPart, first bool) {
	if first && (strings.HasPrefix(s, "~") || strings.HasPrefix(s, "=") && len(s) > 1) {
		tilde := s == "~" && len(later) == 0 || strings.HasPrefix(s, "~/")
		if !tilde || r.home == "" {
			r.unknown(false)
			r.rest = true
			return
		}
		r.write(r.home)
		s = s[1:]
	}
	if !first && (strings.HasPrefix(s, "~") || strings.HasPrefix(s, "=")) && strings.Trim(r.b.String(), anyText) == "" {
		// In zsh it begins the word if what stands before it turns out empty.
		r.unknown(false)
		r.rest = true
		return
	}
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '\\':
			if i++; i < len(s) && s[i] != '\n' {
				r.write(s[i : i+1])
			}
		case '*', '?':
			r.files()
		case '[':
			if first && len(later) == 0 && strings.Trim(s, "[") == "" {
				r.write("[")
				continue
			}
			r.files()
			r.rest = true
		case '{':
			if !expandsBraces(s[i:], later) {
				r.write("{")
				continue
			}
			r.unknown(true)
			r.rest = true
		default:
			r.write(s[i : i+1])
		}
	}
}

// expandsBraces reports whether an opening brace may begin a list or a range.
func expandsBraces(s string, later []syntax.WordPart) bool {
	if strings.Contains(s, ",") || strings.Contains(s, "..") {
		return true
	}
	for _, part := range later {
		if lit, ok := part.(*syntax.Lit); !ok || strings.ContainsAny(lit.Value, ",.") {
			return true
		}
	}
	return false
}

var ansiSimple = map[byte]string{'n': "\n", 't': "\t", '\\': `\`, '"': `"`, '?': "?"}

// ansiC decodes the text of $'…'. It refuses what shells disagree about, and
// whatever decodes to a control character.
func ansiC(s string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			continue
		}
		if i++; i == len(s) {
			return "", false
		}
		if simple, ok := ansiSimple[s[i]]; ok {
			b.WriteString(simple)
			continue
		}
		digits, base, most := s[i+1:], 16, map[byte]int{'x': 2, 'u': 4, 'U': 8}[s[i]]
		if s[i] >= '0' && s[i] <= '7' {
			digits, base, most = s[i:], 8, 3
			i--
		}
		n := 0
		for n < most && n < len(digits) && isDigit(digits[n], base) {
			n++
		}
		code, err := strconv.ParseUint(digits[:n], base, 32)
		if err != nil || code < ' ' || code > 0x10ffff || base == 8 && code > 0x7e || most == 2 && code > 0x7e {
			return "", false
		}
		b.WriteRune(rune(code))
		i += n
	}
	return b.String(), unreadable(b.String()) == ""
}

func isDigit(c byte, base int) bool {
	if base == 8 {
		return c >= '0' && c <= '7'
	}
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}
