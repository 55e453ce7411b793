package shellread

import "strings"

// word reads a word.
func (r *strict) word() bool {
	r.form.token(markWord, "")
	return r.parts(false)
}

// parts reads the parts of a word up to what delimits it. Only the value of an
// assignment may be empty.
func (r *strict) parts(empty bool) bool {
	start := r.pos
	if r.process() {
		kind := r.src[r.pos : r.pos+2]
		return r.inside(false, kind, kind) && delimits(r.next()) && r.next() != '(' && !r.process()
	}
	for text := false; ; {
		plain := text // what comes before
		text = false
		switch c := r.next(); {
		case delimits(c):
			// A word in braces or of digits before < or > would name a descriptor,
			// and a parenthesis would make it a function, an array or a glob.
			all := r.src[start:r.pos]
			named := strings.HasSuffix(all, "}") || all != "" && strings.Trim(all, "0123456789") == ""
			return c != '(' && (empty || all != "") && (c != '<' && c != '>' || !named && !r.process())
		case c == '\\':
			r.pos++
			if c = r.next(); c == 0 || c == '\n' {
				return false
			}
			n := runeLen(r.src[r.pos:])
			r.form.text(markQuoted, r.src[r.pos:r.pos+n])
			r.pos += n
		case c == '\'':
			if !r.single() {
				return false
			}
		case c == '"':
			if !r.double() {
				return false
			}
		case c == '$':
			if !r.dollar(false) {
				return false
			}
		case c == '`':
			if !r.backquote(false) {
				return false
			}
		case c == '#' && !plain:
			return false // a comment, or to one of the readers one
		default:
			text = true
			r.form.text(markText, r.src[r.pos:r.pos+1])
			r.pos++
		}
	}
}

// single reads '…'.
func (r *strict) single() bool {
	text, _, closed := strings.Cut(r.src[r.pos+1:], "'")
	if !closed || r.pending != nil && strings.Contains(text, "\n") {
		return false
	}
	r.form.text(markQuoted, text)
	r.pos += len(text) + 2
	return true
}

// double reads "…".
func (r *strict) double() bool {
	r.pos++
	r.form.text(markQuoted, "")
	for {
		switch c := r.next(); c {
		case 0:
			return false
		case '"':
			r.pos++
			return true
		case '\\':
			switch c := r.at(1); c {
			case 0, '\n':
				return false
			case '$', '`', '"', '\\':
				r.form.text(markQuoted, string(c))
				r.pos += 2
			default:
				r.form.text(markQuoted, `\`)
				r.pos++
			}
		case '$':
			if !r.dollar(true) {
				return false
			}
		case '`':
			if !r.backquote(true) {
				return false
			}
		case '\n':
			if r.pending != nil {
				return false
			}
			fallthrough
		default:
			r.form.text(markQuoted, r.src[r.pos:r.pos+1])
			r.pos++
		}
	}
}

// dollar reads what begins with $.
func (r *strict) dollar(quoted bool) bool {
	r.pos++
	c := r.next()
	switch {
	case c == '{':
		return r.braces(quoted)
	case c == '(':
		if r.at(1) == '(' {
			return false
		}
		return r.inside(quoted, "(", "")
	case nameLen(r.src[r.pos:]) > 0:
		r.form.variable(quoted, r.name(), "", "")
		return r.next() < 0x80 && r.noSubscript() // zsh takes other letters for a part of the name
	case c >= '0' && c <= '9' || c == '?' || c == '@' || c == '*':
		r.form.variable(quoted, string(c), "", "")
		r.pos++
		if next := r.next(); next >= '0' && next <= '9' {
			return false // the tenth parameter in some shells
		}
		return r.noSubscript()
	case quoted && strings.IndexByte("\" |)/.,\\", c) >= 0 && c != 0:
		r.form.text(markQuoted, "$")
		return true
	case !quoted && strings.IndexByte(" \t\n;|&)", c) >= 0 && c != 0 || c == 0:
		r.form.text(markText, "$") // at the end of a word it stands for itself
		return !quoted
	}
	return false
}

// noSubscript reports whether what follows an expansion is no part of it in any
// shell.
func (r *strict) noSubscript() bool {
	c := r.at(1)
	letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
	return r.next() != '[' && (r.next() != ':' || !letter)
}

var expansionOperators = []string{":-", ":+", "-", "+", "%%", "%", "##", "#"}

// braces reads ${name} and the operators on it that take plain text.
func (r *strict) braces(quoted bool) bool {
	r.pos++
	name := r.name()
	if c := r.next(); name == "" && c >= '0' && c <= '9' {
		name = string(c)
		r.pos++
	}
	operator, text := "", ""
	for _, op := range expansionOperators {
		if r.has(op) {
			operator = op
			r.pos += len(op)
			break
		}
	}
	for operator != "" {
		c := r.next()
		if nameLen(string(c)) == 0 && strings.IndexByte("0123456789./:,@*?-", c) < 0 || c == 0 {
			break
		}
		text += string(c)
		r.pos++
	}
	if name == "" || r.next() != '}' {
		return false
	}
	r.pos++
	r.form.variable(quoted, name, operator, text)
	return r.next() != '['
}

// inside reads a substitution with its opening parenthesis at the reader's place.
func (r *strict) inside(quoted bool, open, kind string) bool {
	r.pos += len(open)
	if r.next() == '(' || r.pending != nil {
		return false
	}
	start := r.pos
	r.form.substitution(quoted, kind)
	r.depth++
	if !r.until(")") {
		return false
	}
	r.depth--
	end := closing(r.src[start:])
	return end < 0 || start+end+1 == r.pos
}

// closing returns where a shell ends a substitution that only counts parentheses
// outside quotes, or -1 if it finds no end.
func closing(s string) int {
	depth := 0
	var quote byte
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && quote != '\'':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"' || c == '`':
			quote = c
		case c == '(':
			depth++
		case c == ')':
			if depth == 0 {
				return i
			}
			depth--
		}
	}
	return -1
}

// backquote reads `…` around words that have no quotes and no expansions.
func (r *strict) backquote(quoted bool) bool {
	text, _, closed := strings.Cut(r.src[r.pos+1:], "`")
	plain := strings.IndexFunc(text, func(c rune) bool {
		return c > '~' || nameLen(string(c)) == 0 && !strings.ContainsRune("0123456789 ./=:@%+,-", c)
	}) < 0
	if !closed || !plain || r.pending != nil {
		return false
	}
	inner := &strict{src: text, form: r.form, depth: r.depth + 1}
	r.form.substitution(quoted, "`")
	before := len(r.form.tokens)
	if end, ok := inner.list(); !ok || end != "" || inner.pos < len(text) || len(r.form.tokens) == before {
		return false
	}
	r.form.operator(")")
	r.pos += len(text) + 2
	return true
}
