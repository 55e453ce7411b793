package shellread

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Agree reports whether a script is plain. The file is what the library made of
// the same source. The source holds no control characters but newline and tab.
func Agree(source string, file *syntax.File) bool {
	strict, ok := Strict(source)
	if !ok {
		return false
	}
	l := library{form: newForm(len(source)), ok: true}
	l.list(file.Stmts)
	return l.ok && strict.equal(l.form)
}

// Library writes down what the library has read. It gives up on nodes that no
// plain script has.
func Library(file *syntax.File) (*Form, bool) {
	l := library{form: &Form{}, ok: true}
	l.list(file.Stmts)
	return l.form, l.ok
}

type library struct {
	form *Form
	ok   bool
}

func (l *library) fail() { l.ok = false }

func (l *library) list(list []*syntax.Stmt) {
	for _, s := range list {
		l.statement(s)
		if s.Background {
			l.form.operator("&")
		} else {
			l.form.operator(";")
		}
	}
}

func (l *library) statement(s *syntax.Stmt) {
	if s.Coprocess || s.Disown {
		l.fail()
	}
	if s.Negated {
		l.form.operator("!")
	}
	if s.Cmd != nil {
		l.command(s.Cmd)
	} else {
		l.form.operator("call")
	}
	for _, r := range s.Redirs {
		l.redirection(r)
	}
}

func (l *library) command(c syntax.Command) {
	switch n := c.(type) {
	case *syntax.CallExpr:
		l.form.operator("call")
		for _, a := range n.Assigns {
			l.assignment(a)
		}
		for _, w := range n.Args {
			l.word(w)
		}
	case *syntax.DeclClause:
		l.declaration(n)
	case *syntax.BinaryCmd:
		l.statement(n.X)
		l.form.operator(n.Op.String())
		l.statement(n.Y)
	case *syntax.Subshell:
		l.form.operator("(")
		l.list(n.Stmts)
		l.form.operator(")")
	case *syntax.Block:
		l.form.operator("{")
		l.list(n.Stmts)
		l.form.operator("}")
	case *syntax.TimeClause:
		l.form.operator("time")
		if n.PosixFormat || n.Stmt == nil {
			l.fail()
			return
		}
		l.statement(n.Stmt)
	case *syntax.IfClause:
		l.condition(n)
	case *syntax.WhileClause:
		l.form.operator(map[bool]string{false: "while", true: "until"}[n.Until])
		l.list(n.Cond)
		l.body(n.Do)
	case *syntax.ForClause:
		l.loop(n)
	case *syntax.TestClause:
		l.form.operator("[[")
		l.test(n.X)
		l.form.operator("]]")
	default:
		l.fail()
	}
}

// declaration writes export and readonly as the simple commands that they are.
func (l *library) declaration(n *syntax.DeclClause) {
	l.form.operator("call")
	l.form.token(markWord, "")
	l.form.text(markText, n.Variant.Value)
	for _, a := range n.Args {
		if a.Append || a.Index != nil || a.Array != nil || n.Variant.Value != "export" && n.Variant.Value != "readonly" {
			l.fail()
			return
		}
		switch {
		case a.Name == nil && a.Value != nil:
			l.word(a.Value)
			continue
		case a.Name == nil:
			l.fail()
			return
		}
		l.form.token(markWord, "")
		l.form.text(markText, a.Name.Value)
		if !a.Naked {
			l.form.text(markText, "=")
		}
		if a.Value != nil {
			l.parts(a.Value.Parts)
		}
	}
}

func (l *library) condition(n *syntax.IfClause) {
	l.form.operator("if")
	l.list(n.Cond)
	l.form.operator("then")
	l.list(n.Then)
	for n = n.Else; n != nil; n = n.Else {
		if n.ThenPos.IsValid() {
			l.form.operator("elif")
			l.list(n.Cond)
			l.form.operator("then")
		} else {
			l.form.operator("else")
		}
		l.list(n.Then)
	}
	l.form.operator("fi")
}

func (l *library) body(list []*syntax.Stmt) {
	l.form.operator("do")
	l.list(list)
	l.form.operator("done")
}

func (l *library) loop(n *syntax.ForClause) {
	iter, ok := n.Loop.(*syntax.WordIter)
	if !ok || n.Select || n.Braces || !iter.InPos.IsValid() {
		l.fail()
		return
	}
	l.form.operator("for")
	l.form.token(markAssign, iter.Name.Value)
	for _, w := range iter.Items {
		l.word(w)
	}
	l.body(n.Do)
}

// test writes the words of [[ ]] in their order.
func (l *library) test(x syntax.TestExpr) {
	switch n := x.(type) {
	case *syntax.Word:
		l.word(n)
	case *syntax.UnaryTest:
		l.form.token(markWord, "")
		l.form.text(markText, n.Op.String())
		l.test(n.X)
	case *syntax.BinaryTest:
		l.test(n.X)
		l.form.token(markWord, "")
		l.form.text(markText, n.Op.String())
		l.test(n.Y)
	default:
		l.fail()
	}
}

func (l *library) assignment(a *syntax.Assign) {
	if a.Append || a.Naked || a.Name == nil || a.Index != nil || a.Array != nil {
		l.fail()
		return
	}
	l.form.token(markAssign, a.Name.Value)
	if a.Value != nil {
		l.parts(a.Value.Parts)
	}
}

func (l *library) redirection(r *syntax.Redirect) {
	fd := ""
	if r.N != nil {
		fd = r.N.Value
	}
	l.form.token(markRedirect, fd+r.Op.String())
	l.word(r.Word)
	if r.Op != syntax.Hdoc {
		if r.Hdoc != nil {
			l.fail()
		}
		return
	}
	var text strings.Builder
	if r.Hdoc != nil {
		for _, part := range r.Hdoc.Parts {
			lit, ok := part.(*syntax.Lit)
			if !ok {
				l.fail()
				return
			}
			text.WriteString(lit.Value)
		}
	}
	l.form.body(text.String())
}

func (l *library) word(w *syntax.Word) {
	l.form.token(markWord, "")
	l.parts(w.Parts)
}

func (l *library) parts(parts []syntax.WordPart) {
	for _, part := range parts {
		switch p := part.(type) {
		case *syntax.Lit:
			l.unquoted(p.Value)
		case *syntax.SglQuoted:
			if p.Dollar {
				l.fail()
			}
			l.form.text(markQuoted, p.Value)
		case *syntax.DblQuoted:
			if p.Dollar {
				l.fail()
			}
			l.form.text(markQuoted, "")
			for _, inner := range p.Parts {
				if lit, ok := inner.(*syntax.Lit); ok {
					l.form.text(markQuoted, unescape(lit.Value, "$`\"\\"))
					continue
				}
				l.expansion(inner, true)
			}
		default:
			l.expansion(part, false)
		}
	}
}

// unquoted writes text outside quotes, in which a backslash quotes what follows.
func (l *library) unquoted(s string) {
	for s != "" {
		text, rest, found := strings.Cut(s, `\`)
		if text != "" {
			l.form.text(markText, text)
		}
		if !found {
			return
		}
		if rest == "" {
			l.fail()
			return
		}
		n := runeLen(rest)
		l.form.text(markQuoted, rest[:n])
		s = rest[n:]
	}
}

// unescape takes the backslash from before the given characters.
func unescape(s, escaped string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && strings.IndexByte(escaped, s[i+1]) >= 0 {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func (l *library) expansion(part syntax.WordPart, quoted bool) {
	switch p := part.(type) {
	case *syntax.ParamExp:
		l.parameter(p, quoted)
	case *syntax.CmdSubst:
		if p.TempFile || p.ReplyVar {
			l.fail()
		}
		l.form.substitution(quoted, map[bool]string{true: "`"}[p.Backquotes])
		l.list(p.Stmts)
		l.form.operator(")")
	case *syntax.ProcSubst:
		if p.Op != syntax.CmdIn && p.Op != syntax.CmdOut {
			l.fail()
		}
		l.form.substitution(quoted, p.Op.String())
		l.list(p.Stmts)
		l.form.operator(")")
	default:
		l.fail()
	}
}

func (l *library) parameter(p *syntax.ParamExp, quoted bool) {
	odd := p.Flags != nil || p.Excl || p.Length || p.Width || p.IsSet || p.NestedParam != nil || p.Index != nil ||
		p.Split != syntax.OptUnset || p.GlobSubst != syntax.OptUnset || p.RcExpand != syntax.OptUnset ||
		len(p.Modifiers) > 0 || p.Slice != nil || p.Repl != nil || p.Names != 0
	if odd || p.Param == nil {
		l.fail()
		return
	}
	operator, text := "", ""
	if p.Exp != nil {
		operator = p.Exp.Op.String()
		if p.Exp.Word != nil {
			text = p.Exp.Word.Lit()
			if text == "" && len(p.Exp.Word.Parts) > 0 {
				l.fail()
			}
		}
	}
	l.form.variable(quoted, p.Param.Value, operator, text)
}
