package shellread

import (
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"
)

func parse(t testing.TB, source string) (*syntax.File, bool) {
	t.Helper()
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(source), "")
	return file, err == nil
}

// TestForms compares what the strict reader writes down with what a person reads,
// and with the library.
func TestForms(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"ls":                        " call ls ;",
		"  ls   -l  ":               " call ls -l ;",
		"ls; ls":                    " call ls ; call ls ;",
		"ls\n\nls\n":                " call ls ; call ls ;",
		"ls & ls":                   " call ls & call ls ;",
		"a && b || c":               " call a && call b || call c ;",
		"a |\n b |& c":              " call a | call b |& call c ;",
		"! a | b":                   " ! call a | call b ;",
		"time a b":                  " time call a b ;",
		`a\ b 'c d'"e"`:             " call a' b 'c de ;",
		`a "x \" \$ \n"`:            ` call a 'x " $ \n ;`,
		`a ""`:                      " call a ' ;",
		"X=1 Y= a":                  " call set:X1 set:Y a ;",
		"X=$(a)":                    " call set:X$( call a ; ) ;",
		"export A=b C":              " call export A=b C ;",
		"a $x ${y} \"$z\"":          ` call a $x $y '"$z ;`,
		"a ${x:-b} ${x%.*}":         " call a $x :-'b $x %'.* ;",
		"a \"$(b c)\"":              ` call a '"$( call b c ; ) ;`,
		"a `b c`":                   " call a $(` call b c ; ) ;",
		"a <(b)":                    " call a $(<( call b ; ) ;",
		"a > f 2>&1 b":              " call a b redirect:> f redirect:2>& 1 ;",
		"(a; b) > f":                " ( call a ; call b ; ) redirect:> f ;",
		"{ a; }":                    " { call a ; } ;",
		"if a; then b; fi":          " if call a ; then call b ; fi ;",
		"if a\nthen b\nelse c\nfi":  " if call a ; then call b ; else call c ; fi ;",
		"for i in a b; do c; done":  " for set:i a b do call c ; done ;",
		"while a; do b; done < f":   " while call a ; do call b ; done redirect:< f ;",
		"[[ -f a ]]":                " [[ -f a ]] ;",
		"[[ ! $x == b* ]] && c":     " [[ ! $x == b* ]] && call c ;",
		"a # b (c) 'd":              " call a ;",
		"# b\na":                    " call a ;",
		"a \\\n  b":                 " call a b ;",
		"a <<'E' | b\n$(c)\nE\nd":   " call a redirect:<< 'E | call b ; call d ; <<|$(c)\n",
		"a <<E\nb\nE":               " call a redirect:<< E ; <<|b\n",
		"a \"$(b <<'E'\nc\nE\n)\"":  " call a '\"$( call b redirect:<< 'E ; ) ; <<|c\n",
		"a {b,c} d{1..2} ~ HEAD^ *": " call a {b,c} d{1..2} ~ HEAD^ * ;",
		"a x#y é":                   " call a x#y é ;",
		"a <<< \"$x\"":              ` call a redirect:<<< '"$x ;`,
		"a &> f":                    " call a redirect:&> f ;",
		"> f":                       " call redirect:> f ;",
		"find . ! -name a":          " call find . ! -name a ;",
		"[ a != b ]":                " call [ a != b ] ;",
		"a -run=^$ ./b":             " call a -run=^$ ./b ;",
		"a $":                       " call a $ ;",
		"":                          "",
	} {
		form, ok := Strict(source)
		if !ok || form.String() != want {
			t.Errorf("%q: %q, %v, want %q", source, form, ok, want)
			continue
		}
		file, ok := parse(t, source)
		if !ok {
			t.Errorf("%q: the library does not take it", source)
			continue
		}
		if full, ok := Library(file); !ok || !form.equal(full) || !Agree(source, file) {
			t.Errorf("%q: the library reads %q, %v", source, full, ok)
		}
	}
}

// strange are scripts that are not plain, each for its own reason.
var strange = []string{
	// Comments.
	"a #\\\nb", "a # x\\\nb", "a # \\", "a;# \\\nb", "echo $(a # b\n)", "a &# b", "a |# b\nc", "a(# b",
	// Lines that are continued.
	"a\\\nb", "a\\\n b", "a \\\n# b", "a \\\n", "a \\\n\nb", "\"a\\\nb\"", "a > \\\nb", "a <<E \\\nb\nE\n",
	// Here-documents.
	"a <<E\n$b\nE\n", "a <<E\n`b`\nE\n", "a <<E\nb\\\nE\nE\n", "a <<-E\n\tb\n\tE\n", "a <<E <<F\nE\nF\n", "a <<E", "a <<E\nb", "a <<'E F'\nE F\n",
	"a <<\\E\nE\n", "a <<E'F'\nEF\n", "a <<$E\n$E\n", "$(a <<E)\nE\n", "a <<E \"b\nc\"\nE\n", "a <<E $(b\n)\nE\n", "a <<E(b)\nE\n", "a <<'E\nE\n",
	"a \"$(b <<'E'\n)\" # '\nE\n)\"",
	// Expansions.
	"a $((1))", "a $[1]", "((a))", "a ${x/y/z}", "a ${!x}", "a ${#x}", "a ${x:1}", "a ${x@P}", "a ${x:=y}", "a ${x:-$(b)}", "a ${x:-\"b\"}", "a ${x[1]}",
	"a $xé", "a \"$xé\"", "a $x[1]", "a ${x}[1]", "a $x:h", "a \"$x:h\"", "a $10", "a $$", "a $!", "a $#", "a $-", "a $'b'", "a $\"b\"", "a ${", "a $(", "a ${ b; }",
	"a `b 'c'`", "a `b \\`c\\``", "a `$b`", "a `", "a ``", "a $()", "a <()", "a b<(c)", "a <(b)c", "a =(b)", "a $( (b))c)",
	// Words.
	"a 'b", "a \"b", "a \\", "a !b", "a !!", "!a", "a {", "a }", "a [[", "a b(c)", "a (b)", "a@(b)", "x=(a b)", "x[1]=a", "x+=a", "a x=(b)", "a x[1]=b",
	"a {b}>c", "a 12>b", "a 2>", "a >!b", "a > !b", "a >>|b", "a >& p", "a <& b", "a 2>& b", "a <<< ", "a &> b c", "a > #b",
	// Commands.
	"f() { a; }", "function f { a; }", "case a in b) c;; esac", "select a in b; do c; done", "coproc a", "for a; do b; done", "for ((;;)); do a; done",
	"for a in b; { c; }", "for a b in c; do d; done", "if a; then b", "if; then b; fi", "while a; do b", "do", "done", "fi", "then", "in", "esac", "{ a }", "{a; }",
	"( )", "()", "((", "( (a)", "a)", "a; )", "a ;; b", "a ; ; b", "a & & b", "a &| b", "a &! b", "&& a", "a &&", "a |", "| a", "a || | b", "! ! a", "!", "time", "time -p a",
	"[[ a && b ]]", "[[ a || b ]]", "[[ (a) ]]", "[[ a < b ]]", "[[ ]]", "[[ -x ]]", "[[ ! -f ]]", "<a !", "a >(b)>(c)", "a \"b\"#c", "a $b#c", "a ${b}#", "a \\b#c", "export a=b > c d", "x!y=z", "x}y=z[1]", "^=a[b]c d", "> a done", "x!=z", "[[ a", "[[ a =~ (b) ]]", "[[ a =~ b ]]", "[[ -e}f a ]]", "[[ a b ]]", "[[ a -foo b ]]", "[[ a == b c ]]", "[[ ! ]]", "[[ ! ! a ]]", "[[ -F a ]]", "declare a=b", "local a=b", "typeset a", "let a=1", "export a[1]=b", "export a+=b", "export \"a=b\"", "export $a", "export \\a=b", "export a?=b", "export -", "export --a",
	"repeat 2 a", "foreach a", "noglob a", "a; }", "if a; then b; fi c", "(a) b", "{ a; } b", "a | ! b", "a\n)",
}

func TestStrange(t *testing.T) {
	t.Parallel()
	for _, source := range strange {
		if form, ok := Strict(source); ok {
			t.Errorf("%q: taken for %q", source, form)
		}
		if file, ok := parse(t, source); ok && Agree(source, file) {
			t.Errorf("%q: both readers agree", source)
		}
	}
}

// TestDisagreement shows that a difference between the readers counts: the file
// is not what the source says.
func TestDisagreement(t *testing.T) {
	t.Parallel()
	for source, other := range map[string]string{
		"a b": "a c", "a 'b'": "a b", "a; b": "a & b", "a | b": "a |& b", "a > b": "a >> b", "a \"$b\"": "a $b", "a <<E\nb\nE\n": "a <<E\nc\nE\n", "(a)": "{ a; }", "a b c": "a 'b c'",
		"if a; then b; fi": "while a; do b; done", "while a; do b; done": "until a; do b; done", "a `b`": "a $(b)", "a <(b)": "a >(b)", "x=a b": "y=a b", "a 2> b": "a > b",
	} {
		file, ok := parse(t, other)
		if !ok {
			t.Fatal(other)
		}
		if Agree(source, file) {
			t.Errorf("%q is taken for %q", source, other)
		}
	}
}

// FuzzAgree looks for scripts that make a reader panic, or of which the strict
// reader drops a word.
func FuzzAgree(f *testing.F) {
	for _, source := range strange {
		f.Add(source)
	}
	f.Add("if a; then b; elif c; then d; fi; for i in x; do y; done")
	f.Fuzz(func(t *testing.T, source string) {
		if len(source) > 1000 || strings.IndexFunc(source, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r == 0xfffd }) >= 0 {
			return
		}
		form, ok := Strict(source)
		if !ok {
			return
		}
		if file, ok := parse(t, source); ok {
			Agree(source, file)
		}
		// Whatever is read strictly can be read with a command after it.
		if more, ok := Strict(source + "\nz"); ok && !strings.HasPrefix(string(more.tokens), string(form.tokens)) {
			t.Errorf("%q is %q, and with a line after it %q", source, form, more)
		}
	})
}
