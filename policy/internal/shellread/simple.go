package shellread

import (
	"slices"
	"strings"
)

// simple reads assignments, words and redirections up to the end of a command.
func (r *strict) simple() bool {
	r.form.operator("call")
	words, assigns, both, exports := 0, 0, false, false
	var redirects []byte
	for {
		if !r.blanks() {
			return false
		}
		switch {
		case r.redirects():
			both = both || r.next() == '&'
			before := len(r.form.tokens)
			if !r.redirection() {
				return false
			}
			redirects = append(redirects, r.form.tokens[before:]...)
			r.form.tokens = r.form.tokens[:before]
		case delimits(r.next()) && !r.process():
			r.form.tokens = append(r.form.tokens, redirects...)
			r.form.last = 0
			return words+assigns+len(redirects) > 0 && r.next() != '('
		case both:
			return false // dash ends the command at &>, and runs what follows
		case words == 0 && r.assigns() != "":
			assigns++
			name := r.assigns()
			r.pos += len(name) + 1
			r.form.token(markAssign, name)
			if !r.parts(true) {
				return false
			}
		case exports && (len(redirects) > 0 || !r.exported()), words == 0 && r.unclear():
			return false
		default:
			words++
			start := r.pos
			if !r.argument() {
				return false
			}
			name := r.src[start:r.pos]
			exports = exports || words == 1 && (name == "export" || name == "readonly")
		}
	}
}

// assigns returns the name of the variable that an assignment at the reader's
// place sets.
func (r *strict) assigns() string {
	n := nameLen(r.src[r.pos:])
	if n == 0 || r.at(n) != '=' {
		return ""
	}
	return r.src[r.pos : r.pos+n]
}

// exported reports whether what follows export is a name, an assignment or an
// option: other words are names only when the shell runs.
func (r *strict) exported() bool {
	n := nameLen(r.src[r.pos:])
	if n == 0 && r.next() == '-' {
		n = 1 + nameLen(r.src[r.pos+1:])
		return n > 1 && delimits(r.at(n))
	}
	return n > 0 && (r.at(n) == '=' || delimits(r.at(n)))
}

// argument reads a word of a simple command. Keywords of braces and tests among
// the arguments are not plain, and neither is an assignment to a part of an array.
func (r *strict) argument() bool {
	switch word := r.keyword(); word {
	case "{", "}", "[[", "]]":
		return false
	case "!":
	default:
		if r.next() == '!' && (r.at(1) != '=' || !delimits(r.at(2))) {
			return false
		}
	}
	if n := nameLen(r.src[r.pos:]); n > 0 && (r.at(n) == '[' || r.at(n) == '+' && r.at(n+1) == '=') {
		return false
	}
	return r.word()
}

// unclear reports whether the name of a command is one that the readers do not agree on:
// a keyword after a redirection, or a name with = in it that assigns nothing.
func (r *strict) unclear() bool {
	n := 0
	for !delimits(r.at(n)) {
		n++
	}
	name := r.src[r.pos : r.pos+n]
	return slices.Contains(keywords, name) || strings.Contains(name, "=")
}

// redirections reads those that follow a compound command.
func (r *strict) redirections() bool {
	for {
		if !r.blanks() {
			return false
		}
		if !r.redirects() {
			return delimits(r.next()) && r.next() != '('
		}
		if !r.redirection() {
			return false
		}
	}
}

// redirects reports whether a redirection begins at the reader's place.
func (r *strict) redirects() bool {
	i := 0
	if c := r.next(); c >= '0' && c <= '9' {
		i = 1
	}
	switch r.at(i) {
	case '<', '>':
		return i == 1 || !r.process()
	case '&':
		return i == 0 && r.at(1) == '>'
	}
	return false
}

// process reports whether <( or >( is at the reader's place.
func (r *strict) process() bool { return r.has("<(") || r.has(">(") }

var redirectOperators = []string{"<<<", "<<", "<>", "<&", "<", ">>", ">&", ">|", ">", "&>>", "&>"}

// redirection reads a redirection with its word.
func (r *strict) redirection() bool {
	fd := ""
	if c := r.next(); c >= '0' && c <= '9' {
		fd = r.src[r.pos : r.pos+1]
		r.pos++
	}
	operator := ""
	for _, op := range redirectOperators {
		if r.has(op) {
			operator = op
			break
		}
	}
	r.pos += len(operator)
	r.form.token(markRedirect, fd+operator)
	// A sign after the operator makes another one of it in some shell, and a
	// comment or a continued line has no place here.
	if strings.IndexByte("-!|&(<>#", r.next()) >= 0 && r.next() != 0 && !duplicates(operator, r.next()) {
		return false
	}
	for r.next() == ' ' || r.next() == '\t' {
		r.pos++
	}
	if operator == "<<" {
		return r.hereDocument()
	}
	start := r.pos
	if c := r.next(); delimits(c) || strings.IndexByte("!#\\", c) >= 0 || !r.word() {
		return false
	}
	target := r.src[start:r.pos]
	if operator == ">&" || operator == "<&" {
		return strings.Trim(target, "0123456789") == "" || target == "-" || operator == ">&" && target != "p" && fd == ""
	}
	return true
}

// duplicates reports whether the sign after an operator closes a descriptor.
func duplicates(operator string, c byte) bool {
	return c == '-' && (operator == ">&" || operator == "<&")
}

// hereDocument reads the word after <<. The text follows after the line.
func (r *strict) hereDocument() bool {
	if r.pending != nil {
		return false
	}
	quote := r.next()
	if quote != '\'' && quote != '"' {
		quote = 0
	} else {
		r.pos++
	}
	end := r.name()
	if end == "" || quote != 0 && r.next() != quote {
		return false
	}
	r.form.token(markWord, "")
	if quote != 0 {
		r.pos++
		r.form.text(markQuoted, end)
	} else {
		r.form.text(markText, end)
	}
	r.pending = &hereDocument{end: end, quoted: quote != 0}
	return delimits(r.next()) && r.next() != '('
}

// nameLen returns how long the name is that a text begins with.
func nameLen(s string) int {
	n := 0
	for n < len(s) && (s[n] == '_' || s[n] >= 'a' && s[n] <= 'z' || s[n] >= 'A' && s[n] <= 'Z' || n > 0 && s[n] >= '0' && s[n] <= '9') {
		n++
	}
	return n
}

// name reads a name, and returns nothing if there is none.
func (r *strict) name() string {
	n := nameLen(r.src[r.pos:])
	r.pos += n
	return r.src[r.pos-n : r.pos]
}
