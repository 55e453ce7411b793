package policy

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/terret-dev/terret/policy/internal/shellread"
)

// script is everything that a shell command may do: every command that it may run and
// every file that it redirects to, wherever they are.
type script struct {
	calls []call
	files []fileUse
	// operands are files that its commands name in their arguments.
	operands []fileUse
	// mentions are all its words: what one of them names may reach a program as input,
	// or in a variable.
	mentions []fileUse
	// doubts say why it may run more than its calls.
	doubts []string
	// refused says why it was not parsed at all.
	refused string
	// dynamic says that only the running shell knows some of it.
	dynamic bool
	// odd says that it is not in the plain subset of package shellread: a shell may
	// read it differently than we do.
	odd bool
}

// call is one simple command.
type call struct {
	words []word
	cwds  []string // it runs in one of these; none means unknown
	// vouched says that it needs no allow rule of its own: it is harmless, or what it
	// starts is judged.
	vouched bool
	// denyOnly says that a rule for the call that starts it also allows it.
	denyOnly bool
	// doubt says why it may run commands that we do not see.
	doubt string
	// runsFile says that the doubt is only what a file of commands does.
	runsFile bool
	// pin is how many of its words an allow rule must name without a star; more than it
	// has means that no rule will do. With exact, the rule must have no further words.
	pin   int
	exact bool
	// loose says that nothing is known about the program.
	loose bool
	// read says that its words were read with the table: we know the files that it
	// uses.
	read bool
	// star says that a rule for it may end in a star.
	star bool
	// sub is the position of the program's subcommand, after the program's own options;
	// 0 if it has none.
	sub int
	// needs are files that it writes, for which a rule with a star may not suffice.
	needs []need
}

// need is a file that a call writes.
type need struct {
	file   fileUse
	always bool // it needs a rule for the file wherever the file is
}

const (
	maxCalls = 1000
	maxWords = 2000 // per call
	maxDepth = 5    // of nested shells
	maxInner = 8    // of nested wrappers
	maxDirs  = 16   // of possible working directories
)

// reader collects a script.
type reader struct {
	subject Subject
	out     *script
	source  string
	cwds    []string
	depth   int // of shells
	inners  int // of wrappers
	gnu     bool
	loops   bool
	// dotGlobs says that stars may match hidden files.
	dotGlobs bool
}

// readScript analyses a shell command.
func readScript(source string, s Subject, cwd string) *script {
	r := &reader{subject: s, out: &script{}, cwds: []string{cwd}, gnu: systemIsGNU}
	r.parse(source)
	return r.out
}

// readArgv analyses a command that is run without a shell.
func readArgv(argv []string, s Subject, cwd string) *script {
	r := &reader{subject: s, out: &script{}, cwds: []string{cwd}, gnu: systemIsGNU}
	for _, arg := range argv {
		if reason := unreadable(arg); reason != "" || len(arg) > maxSource {
			r.out.refused = "it is too long or contains " + reason
			return r.out
		}
	}
	r.command(literals(argv...))
	return r.out
}

// merge adds what another script does.
func (s *script) merge(t *script) {
	s.calls = append(s.calls, t.calls...)
	s.files = append(s.files, t.files...)
	s.operands = append(s.operands, t.operands...)
	s.mentions = append(s.mentions, t.mentions...)
	s.doubts = append(s.doubts, t.doubts...)
	s.dynamic = s.dynamic || t.dynamic
	s.odd = s.odd || t.odd
	if s.refused == "" {
		s.refused = t.refused
	}
}

func (r *reader) doubt(why string) {
	if why != "" && !slices.Contains(r.out.doubts, why) {
		r.out.doubts = append(r.out.doubts, why)
	}
}

// parse reads a source and collects what it does.
func (r *reader) parse(source string) {
	if reason := scan(source); reason != "" {
		r.out.refused = reason
		return
	}
	if r.depth > maxDepth {
		r.doubt("it starts shells within shells within shells")
		return
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(source), "")
	if err != nil {
		r.out.refused = "it does not follow the shell's grammar"
		return
	}
	if !shellread.Agree(source, file) {
		r.out.odd = true
		r.doubt("it is not in plain shell, and shells may read it in different ways")
	}
	outer := r.source
	r.source = source
	r.dotGlobs = r.dotGlobs || dotGlobs.MatchString(source)
	for node := range syntax.Preorder(file) {
		switch node.(type) {
		case *syntax.ForClause, *syntax.WhileClause, *syntax.FuncDecl:
			r.loops = true
		}
	}
	syntax.Walk(file, r.visit)
	r.source = outer
}

// nested parses a source that a command of this script passes to a shell.
func (r *reader) nested(source string) {
	r.depth++
	r.parse(source)
	r.depth--
}

// visit handles one node. The walk reaches every node of the tree, so that it misses no
// substitution, however deep.
func (r *reader) visit(node syntax.Node) bool {
	if len(r.out.calls) > maxCalls {
		r.doubt("it is a list of more than a thousand commands")
		return false
	}
	switch n := node.(type) {
	case *syntax.CallExpr:
		r.call(n)
	case *syntax.BinaryCmd:
		if n.Op == syntax.AndStmt {
			r.and(n)
			return false
		}
	case *syntax.Stmt:
		if n.Coprocess || n.Disown {
			r.doubt("it starts a process with a syntax that differs between shells")
		}
		for _, redirect := range n.Redirs {
			r.redirect(redirect)
		}
		if len(n.Redirs) > 0 {
			r.nullCommand(n)
		}
	case *syntax.Word:
		w, doubt := readWord(n, r.subject)
		r.out.dynamic = r.out.dynamic || !w.literal()
		r.doubt(doubt)
		r.mention(n, w)
	case *syntax.CmdSubst:
		r.out.dynamic = true
		if n.TempFile || n.ReplyVar {
			r.doubt("${ …; } is a substitution in some shells only")
		}
		if n.Backquotes && strings.Contains(r.slice(n), `\`) {
			r.doubt("backquotes contain a backslash, which shells read differently")
		}
	case *syntax.ProcSubst:
		r.out.dynamic = true
		if n.Op == syntax.CmdInTemp {
			r.doubt("=(…) is a substitution in some shells only")
		}
	default:
		r.visitRare(node)
	}
	return true
}

// visitRare looks at the constructs that set variables, evaluate or define.
func (r *reader) visitRare(node syntax.Node) {
	switch n := node.(type) {
	case *syntax.ParamExp:
		r.expansion(n)
	case *syntax.DeclClause:
		r.declaration(n)
	case *syntax.ForClause:
		if iter, ok := n.Loop.(*syntax.WordIter); ok {
			r.assigned(iter.Name.Value, false)
		}
		if n.Select {
			r.doubt("select reads what to do when it runs")
		}
	case *syntax.ArithmExp:
		r.arithmetic(n.X)
	case *syntax.ArithmCmd:
		r.arithmetic(n.X)
	case *syntax.CStyleLoop:
		for _, x := range []syntax.ArithmExpr{n.Init, n.Cond, n.Post} {
			r.arithmetic(x)
		}
	case *syntax.LetClause:
		r.doubt("let evaluates its words")
	case *syntax.FuncDecl:
		r.doubt("a function may take the name of a command")
	case *syntax.CoprocClause:
		r.doubt("coproc starts a process in the background")
	case *syntax.TestDecl:
		r.doubt("it defines a test")
	case *syntax.BinaryTest:
		r.comparison(n)
	case *syntax.UnaryTest:
		if n.Op == syntax.TsVarSet || n.Op == syntax.TsRefVar {
			r.doubt("-v evaluates the index of a variable")
		}
	}
}

func (r *reader) slice(n syntax.Node) string {
	from, to := int(n.Pos().Offset()), int(n.End().Offset())
	if from > to || to > len(r.source) {
		return `\`
	}
	return r.source[from:to]
}

func (r *reader) word(w *syntax.Word) word {
	out, doubt := readWord(w, r.subject)
	r.doubt(doubt)
	return out
}

// call reads a simple command: assignments, then words.
func (r *reader) call(n *syntax.CallExpr) {
	for _, a := range n.Assigns {
		r.assignment(a, len(n.Args) > 0)
	}
	if len(n.Args) == 0 {
		return
	}
	words := make([]word, len(n.Args))
	for i, arg := range n.Args {
		words[i] = r.word(arg)
		r.mention(arg, words[i]) // before the command changes the folder
	}
	r.command(words)
}

// nullCommand notes that zsh runs a command for redirections without one: cat, or for
// one that only reads, a pager.
func (r *reader) nullCommand(n *syntax.Stmt) {
	if c, ok := n.Cmd.(*syntax.CallExpr); n.Cmd != nil && (!ok || len(c.Args) > 0) {
		return
	}
	if len(n.Redirs) == 1 && n.Redirs[0].Op == syntax.RdrIn {
		r.doubt("some shells run a pager for a redirection without a command")
	}
	r.out.calls = append(r.out.calls, call{words: literals("cat"), cwds: slices.Clone(r.cwds), vouched: true, read: true})
}

// devices are files that may be read and written freely.
var devices = map[string]bool{
	"/dev/null": true, "/dev/stdin": true, "/dev/stdout": true, "/dev/stderr": true, "/dev/zero": true,
}

// redirect records the file that a redirection opens.
func (r *reader) redirect(n *syntax.Redirect) {
	if n.N != nil && strings.HasPrefix(n.N.Value, "{") {
		r.doubt("a redirection sets a variable")
	}
	write := true
	switch n.Op {
	case syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
		return
	case syntax.RdrIn:
		write = false
	case syntax.DplIn, syntax.DplOut:
		if fd := strings.TrimSuffix(n.Word.Lit(), "-"); n.Word.Lit() != "" && strings.Trim(fd, "0123456789") == "" {
			return
		}
		write = n.Op == syntax.DplOut
	default: // all others open a file to write
	}
	w := r.word(n.Word)
	if devices[w.text] {
		return
	}
	if strings.HasPrefix(w.text, "!") {
		r.doubt(">! redirects to the next word in some shells")
	}
	if strings.HasPrefix(w.text, "/dev/tcp/") || strings.HasPrefix(w.text, "/dev/udp/") {
		r.doubt("a redirection opens a network connection")
	}
	r.out.files = append(r.out.files, fileUse{path: w, cwds: slices.Clone(r.cwds), write: write, by: "a redirection"})
}
