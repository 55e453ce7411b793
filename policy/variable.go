package policy

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/terret-dev/terret/internal/lazyregexp"
)

// harmlessEnv are variables that may be set for a command: none of them makes a program
// run another one, load code or look for it elsewhere.
var harmlessEnv = set("CI DEBUG VERBOSE LANG LANGUAGE LC_ALL LC_CTYPE LC_COLLATE LC_MESSAGES LC_NUMERIC LC_TIME " +
	"TZ TERM COLORTERM NO_COLOR FORCE_COLOR CLICOLOR CLICOLOR_FORCE COLUMNS LINES GOOS GOARCH GOARM GOAMD64 CGO_ENABLED " +
	"GOMAXPROCS GOGC GOMEMLIMIT GO111MODULE GOTRACEBACK GORACE GOEXPERIMENT NODE_ENV RUST_BACKTRACE RUST_LOG CARGO_TERM_COLOR " +
	"PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE PYTHONHASHSEED PYTHONIOENCODING PYTHONUTF8 " +
	"RAILS_ENV RACK_ENV MIX_ENV APP_ENV ENVIRONMENT LOG_LEVEL PORT HOST")

// specialNames are lower-case names with a meaning for a shell.
var specialNames = set("path fpath cdpath manpath mailpath module_path argv status prompt psvar watch signals fignore " +
	"aliases galiases saliases functions commands builtins options parameters nameddirs userdirs historywords history " +
	"modules jobstates jobtexts jobdirs dirstack keymaps widgets zle_hooks precmd_functions preexec_functions " +
	"chpwd_functions periodic_functions zshaddhistory_functions zshexit_functions histchars home term user shell")

var localName = lazyregexp.New(`^[a-z][a-z0-9_]*$`)

func set(names string) map[string]bool {
	m := map[string]bool{}
	for name := range strings.FieldsSeq(names) {
		m[name] = true
	}
	return m
}

// assigned records that a variable is set. The script's own variables are harmless:
// using one as a command or as an option is asked about anyway.
func (r *reader) assigned(name string, exported bool) {
	own := localName.MatchString(name) && !specialNames[name] &&
		!strings.HasSuffix(name, "_proxy") && !strings.HasPrefix(name, "npm_config_")
	if harmlessEnv[name] || own && !exported {
		return
	}
	r.doubt("it sets " + name + ", which may change what commands do")
}

func (r *reader) assignment(a *syntax.Assign, exported bool) {
	if a.Name == nil {
		r.doubt("it sets a variable whose name is computed")
		return
	}
	r.assigned(a.Name.Value, exported)
	if a.Value != nil {
		r.mentionValue(a.Value)
	}
	if a.Index != nil {
		r.arithmetic(a.Index)
	}
	if a.Array != nil {
		for _, elem := range a.Array.Elems {
			r.arithmetic(elem.Index)
		}
	}
}

// declaration reads export, declare, local, readonly and typeset.
func (r *reader) declaration(n *syntax.DeclClause) {
	for _, a := range n.Args {
		if a.Naked && a.Name == nil && a.Value != nil {
			switch w := r.word(a.Value); w.text {
			case "-x", "-r", "-g", "-a", "-A", "-p", "--":
				continue
			}
			r.doubt(n.Variant.Value + " has an option or a word that is computed")
			continue
		}
		r.assignment(a, n.Variant.Value != "local")
	}
}

// arithmetic accepts only numbers: the shell evaluates the content of variables,
// including substitutions in the index of an array.
func (r *reader) arithmetic(x syntax.ArithmExpr) {
	if x == nil {
		return
	}
	ok := true
	syntax.Walk(x, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Word:
			ok = ok && n.Lit() != "" && strings.Trim(n.Lit(), "0123456789") == ""
			return false
		case *syntax.BinaryArithm, *syntax.UnaryArithm, *syntax.ParenArithm, nil:
			return true
		}
		ok = false
		return false
	})
	if !ok {
		r.doubt("arithmetic evaluates what its variables hold")
	}
}

// expansion reads a parameter expansion; some evaluate or assign.
func (r *reader) expansion(n *syntax.ParamExp) {
	switch {
	case n.Excl || n.Names != 0:
		r.doubt("${!x} evaluates what a variable holds")
	case n.Flags != nil || n.NestedParam != nil || len(n.Modifiers) > 0 || n.Width || n.IsSet:
		r.doubt("it uses an expansion of other shells")
	}
	if n.Index != nil {
		if w, ok := n.Index.(*syntax.Word); !ok || w.Lit() != "@" && w.Lit() != "*" {
			r.arithmetic(n.Index)
		}
	}
	if n.Slice != nil {
		r.arithmetic(n.Slice.Offset)
		r.arithmetic(n.Slice.Length)
	}
	if n.Exp == nil {
		return
	}
	switch n.Exp.Op {
	case syntax.OtherParamOps:
		r.doubt("${x@…} may evaluate what a variable holds")
	case syntax.AssignUnset, syntax.AssignUnsetOrNull:
		if n.Param != nil {
			r.assigned(n.Param.Value, false)
		}
	default: // the others only read
	}
}

// comparison reads a binary operator of [[ ]]; those on numbers evaluate.
func (r *reader) comparison(n *syntax.BinaryTest) {
	switch n.Op {
	case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
		for _, side := range []syntax.TestExpr{n.X, n.Y} {
			if w, ok := side.(*syntax.Word); !ok || strings.Trim(w.Lit(), "0123456789") != "" || w.Lit() == "" {
				r.doubt("a comparison of numbers evaluates what its variables hold")
			}
		}
	default: // the others compare text
	}
}
