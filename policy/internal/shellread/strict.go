package shellread

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Strict reads a script that is in the plain subset. It reports false for any
// other. The source holds no control characters but newline and tab.
func Strict(source string) (*Form, bool) {
	r := &strict{src: source, form: newForm(len(source))}
	end, ok := r.list()
	if !ok || end != "" || r.pos < len(r.src) || r.pending != nil {
		return r.form, false
	}
	return r.form, true
}

// strict reads by recursive descent. Its methods return false to give up; what
// was written until then means nothing.
type strict struct {
	src     string
	pos     int
	form    *Form
	pending *hereDocument // begins after the next newline
	depth   int           // of substitutions
}

// hereDocument is one whose text has not been read yet.
type hereDocument struct {
	end    string // the line that ends it
	quoted bool
}

func runeLen(s string) int {
	_, n := utf8.DecodeRuneInString(s)
	return n
}

// next returns the character at the reader's place, 0 at the end.
func (r *strict) next() byte { return r.at(0) }

func (r *strict) at(i int) byte {
	if r.pos+i < len(r.src) {
		return r.src[r.pos+i]
	}
	return 0
}

func (r *strict) has(prefix string) bool { return strings.HasPrefix(r.src[r.pos:], prefix) }

// before returns the character before the reader's place, a newline at the start.
func (r *strict) before() byte {
	if r.pos == 0 {
		return '\n'
	}
	return r.src[r.pos-1]
}

// blanks skips spaces, tabs, continued lines and a comment.
func (r *strict) blanks() bool {
	for {
		switch c := r.next(); {
		case c == ' ' || c == '\t':
			r.pos++
		case r.has("\\\n"):
			// The backslash stands between two words: no word is cut in two, and
			// what follows begins none that would be a comment.
			if b := r.before(); b != ' ' && b != '\t' || r.pending != nil {
				return false
			}
			r.pos += 2
			if rest := strings.TrimLeft(r.src[r.pos:], " \t"); rest == "" || rest[0] == '#' || rest[0] == '\n' {
				return false
			}
		case c == '#':
			return r.comment()
		default:
			return true
		}
	}
}

// comment skips to the end of the line.
func (r *strict) comment() bool {
	if strings.IndexByte(" \t\n;", r.before()) < 0 || r.depth > 0 {
		return false
	}
	text, _, _ := strings.Cut(r.src[r.pos:], "\n")
	r.pos += len(text)
	return !strings.Contains(text, `\`)
}

// lines skips blanks, newlines and comments, and reads a here-document that
// begins on the next line.
func (r *strict) lines() bool {
	for {
		if !r.blanks() {
			return false
		}
		if r.next() != '\n' {
			return true
		}
		r.pos++
		if r.pending != nil && !r.body() {
			return false
		}
	}
}

// body reads the text of a here-document.
func (r *strict) body() bool {
	doc, text := r.pending, r.src[r.pos:]
	r.pending = nil
	for n := 0; n <= len(text); {
		line, _, more := strings.Cut(text[n:], "\n")
		if line == doc.end {
			r.pos += n + len(line)
			if more {
				r.pos++ // the newline after the end of the text ends no command
			}
			r.form.body(text[:n])
			return doc.quoted || !strings.ContainsAny(text[:n], "$`\\")
		}
		if !more {
			return false
		}
		n += len(line) + 1
	}
	return false
}

// delimits reports whether a character ends a word.
func delimits(c byte) bool { return c == 0 || strings.IndexByte(" \t\n;&|<>()", c) >= 0 }

// keyword returns the letters at the reader's place if they are a whole word
// outside quotes.
func (r *strict) keyword() string {
	n := 0
	for c := r.at(n); c >= 'a' && c <= 'z' || c == '{' || c == '}' || c == '!' || c == '[' || c == ']'; c = r.at(n) {
		n++
	}
	if !delimits(r.at(n)) {
		return ""
	}
	return r.src[r.pos : r.pos+n]
}

// keywords may stand where a command begins, and are no commands.
var keywords = []string{
	"if", "then", "elif", "else", "fi", "for", "while", "until", "do", "done", "case", "esac", "in",
	"{", "}", "!", "[[", "]]", "function", "select", "time", "coproc",
}

// unlike are commands whose words bash or another shell reads differently from
// those of a simple command.
var unlike = []string{
	"declare", "typeset", "local", "nameref", "let", "integer", "float", "private", "foreach", "end", "repeat", "nocorrect", "noglob", "always",
}

// list reads commands until one of the given keywords, which it skips and
// returns. A list without them ends with the source. A closing parenthesis is
// given as such.
func (r *strict) list(ends ...string) (end string, ok bool) {
	for {
		if !r.lines() {
			return "", false
		}
		if r.pos == len(r.src) {
			return "", len(ends) == 0
		}
		if r.next() == ')' {
			if !slices.Contains(ends, ")") || r.pending != nil {
				return "", false
			}
			r.pos++
			return ")", true
		}
		if word := r.keyword(); slices.Contains(ends, word) && word != "" {
			r.pos += len(word)
			return word, true
		}
		if !r.chain() || !r.separator() {
			return "", false
		}
	}
}

// separator reads what ends a command of a list.
func (r *strict) separator() bool {
	switch c := r.next(); {
	case c == '&' && r.at(1) != '&' && r.at(1) != '|' && r.at(1) != '!':
		r.form.operator("&")
		r.pos++
	case c == ';' && r.at(1) != ';' && r.at(1) != '&' && r.at(1) != '|':
		r.form.operator(";")
		r.pos++
	case c == '\n' || c == 0 || c == ')':
		r.form.operator(";")
	default:
		return false
	}
	return true
}

// chain reads pipes with && and || between them.
func (r *strict) chain() bool {
	for {
		if !r.pipe() {
			return false
		}
		if !r.has("&&") && !r.has("||") {
			return true
		}
		r.form.operator(r.src[r.pos : r.pos+2])
		r.pos += 2
		if !r.lines() {
			return false
		}
	}
}

// pipe reads commands with | between them.
func (r *strict) pipe() bool {
	switch r.keyword() {
	case "!":
		r.form.operator("!")
		r.pos++
		if c := r.next(); c != ' ' && c != '\t' {
			return false
		}
	case "time":
		r.form.operator("time")
		r.pos += len("time")
		if !r.blanks() || r.next() == '-' {
			return false
		}
	}
	if !r.blanks() {
		return false
	}
	for {
		if !r.command() || !r.blanks() {
			return false
		}
		switch {
		case r.has("||") || r.next() != '|':
			return true
		case r.has("|&"):
			r.form.operator("|&")
			r.pos += 2
		default:
			r.form.operator("|")
			r.pos++
		}
		if !r.lines() {
			return false
		}
	}
}

// command reads one command, simple or not, with its redirections.
func (r *strict) command() bool {
	word := r.keyword()
	switch {
	case r.next() == '(':
		r.pos++
		if r.next() == '(' {
			return false
		}
		r.form.operator("(")
		return r.until(")") && r.redirections()
	case word == "" || !slices.Contains(keywords, word):
		if slices.Contains(unlike, word) {
			return false
		}
		return r.simple()
	}
	r.pos += len(word)
	r.form.operator(word)
	switch word {
	case "{":
		if c := r.next(); c != ' ' && c != '\n' && c != '\t' {
			return false
		}
		return r.until("}") && r.redirections()
	case "if":
		return r.condition() && r.redirections()
	case "while", "until":
		return r.until("do") && r.until("done") && r.redirections()
	case "for":
		return r.loop() && r.redirections()
	case "[[":
		return r.test() && r.redirections()
	}
	return false
}

// until reads a list that has at least one command, and the keyword at its end.
func (r *strict) until(ends ...string) bool {
	before := len(r.form.tokens)
	end, ok := r.list(ends...)
	if !ok || len(r.form.tokens) == before {
		return false
	}
	r.form.operator(end)
	return true
}

// condition reads what follows if.
func (r *strict) condition() bool {
	if !r.until("then") {
		return false
	}
	for {
		before := len(r.form.tokens)
		end, ok := r.list("elif", "else", "fi")
		if !ok || len(r.form.tokens) == before {
			return false
		}
		r.form.operator(end)
		switch end {
		case "fi":
			return true
		case "else":
			return r.until("fi")
		}
		if !r.until("then") {
			return false
		}
	}
}

// loop reads what follows for.
func (r *strict) loop() bool {
	if !r.blanks() {
		return false
	}
	name := r.name()
	if name == "" || !r.blanks() || r.keyword() != "in" {
		return false
	}
	r.form.token(markAssign, name)
	r.pos += len("in")
	for {
		if !r.blanks() {
			return false
		}
		if c := r.next(); c == ';' || c == '\n' {
			r.pos++
			break
		}
		if !r.word() {
			return false
		}
	}
	if !r.lines() || r.keyword() != "do" {
		return false
	}
	r.pos += len("do")
	r.form.operator("do")
	return r.until("done")
}

// testOperators stand between two words of [[ ]].
var testOperators = []string{"=", "==", "!=", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef"}

// test reads what follows [[: a word, an operator and a word, or two words with an
// operator between them.
func (r *strict) test() bool {
	var words []string
	for {
		if c := r.next(); c != ' ' && c != '\t' || !r.blanks() {
			return false
		}
		if r.keyword() == "]]" {
			r.pos += 2
			r.form.operator("]]")
			break
		}
		start := r.pos
		if !r.word() {
			return false
		}
		words = append(words, r.src[start:r.pos])
	}
	if len(words) > 1 && words[0] == "!" {
		words = words[1:]
	}
	switch len(words) {
	case 1:
		return words[0] != "!" && (len(words[0]) != 2 || words[0][0] != '-') // an operator alone is an error
	case 2:
		return len(words[0]) == 2 && words[0][0] == '-' && words[0][1] >= 'a' && words[0][1] <= 'z'
	case 3:
		return slices.Contains(testOperators, words[1])
	}
	return false
}
