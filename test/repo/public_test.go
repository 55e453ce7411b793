package repo_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// isInternal reports whether only this module may import the package.
func isInternal(path string) bool {
	return strings.HasPrefix(path, "internal/") || strings.Contains(path, "/internal/") || strings.HasSuffix(path, "/internal")
}

// public are the packages that a stranger may import.
func public(t *testing.T) []*loaded {
	t.Helper()
	var out []*loaded
	for _, s := range modulePackages(t) {
		if s.name != "main" && len(s.files) > 0 && !isInternal(s.path) {
			out = append(out, s)
		}
	}
	return out
}

// TestStrangersCanUseIt holds that what a stranger sees of a package is of types that
// the stranger can name.
func TestStrangersCanUseIt(t *testing.T) {
	t.Parallel()
	for _, s := range public(t) {
		scope := s.types.Scope()
		for _, name := range scope.Names() {
			if o := scope.Lookup(name); o.Exported() {
				e := exposed{t: t, what: s.path + ": " + name, seen: map[types.Type]bool{}}
				e.walk(o.Type(), true)
			}
		}
	}
}

// exposed looks for internal types in what strangers see.
type exposed struct {
	t    *testing.T
	what string
	seen map[types.Type]bool
}

// walk looks at a type. Whole says that the type is declared here, so that its fields
// and methods are looked at, too.
func (e exposed) walk(t types.Type, whole bool) {
	if named, ok := t.(*types.Named); ok {
		e.named(named, whole)
		return
	}
	if e.seen[t] {
		return
	}
	e.seen[t] = true
	switch t := t.(type) {
	case *types.Alias:
		e.walk(t.Rhs(), whole)
	case *types.Pointer:
		e.walk(t.Elem(), false)
	case *types.Slice:
		e.walk(t.Elem(), false)
	case *types.Array:
		e.walk(t.Elem(), false)
	case *types.Chan:
		e.walk(t.Elem(), false)
	case *types.Map:
		e.walk(t.Key(), false)
		e.walk(t.Elem(), false)
	case *types.Signature:
		for _, tuple := range []*types.Tuple{t.Params(), t.Results()} {
			for v := range tuple.Variables() {
				e.walk(v.Type(), false)
			}
		}
	case *types.Struct:
		for f := range t.Fields() {
			if f.Exported() {
				e.at(f.Name()).walk(f.Type(), false)
			}
		}
	case *types.Interface:
		for m := range t.Methods() {
			if m.Exported() {
				e.at(m.Name()).walk(m.Type(), false)
			}
		}
	}
}

func (e exposed) named(t *types.Named, whole bool) {
	if pkg := t.Obj().Pkg(); pkg != nil {
		if path, ours := inModule(pkg.Path()); ours && isInternal(path) {
			e.t.Errorf("%s is of the type %s.%s, which a stranger cannot name", e.what, path, t.Obj().Name())
			return
		}
	}
	for arg := range t.TypeArgs().Types() {
		e.walk(arg, false)
	}
	if !whole || e.seen[t] {
		return
	}
	e.seen[t] = true
	e.walk(t.Underlying(), true)
	for m := range t.Methods() {
		if m.Exported() {
			e.at(m.Name()).walk(m.Type(), false)
		}
	}
}

func (e exposed) at(name string) exposed {
	e.what += "." + name
	return e
}

// suites are packages that only tests use, which show them.
var suites = map[string]bool{"driver/drivertest": true, "store/storetest": true}

// TestExamples holds that each public package has an example in a file that imports
// nothing which a stranger could not.
func TestExamples(t *testing.T) {
	t.Parallel()
	for _, s := range public(t) {
		if !suites[s.path] && !hasExample(t, s.path) {
			t.Errorf("%s has no example that a stranger could have written: make it internal, or show its use", s.path)
		}
	}
}

// hasExample reports whether a file of the package's outside tests has an example and
// imports no internal package.
func hasExample(t *testing.T, dir string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(filepath.FromSlash(dir), "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if exampleIn(t, name, text) {
			return true
		}
	}
	return false
}

func exampleIn(t *testing.T, name string, text []byte) bool {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(file.Name.Name, "_test") {
		return false
	}
	for _, i := range file.Imports {
		path, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		if inside, ours := inModule(path); ours && isInternal(inside) {
			return false
		}
	}
	for _, d := range file.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && strings.HasPrefix(fn.Name.Name, "Example") {
			return true
		}
	}
	return false
}

func TestExamplesCanFail(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"package a_test\nfunc ExampleX() {}": true,
		"package a\nfunc ExampleX() {}":      false,
		"package a_test\nfunc TestX() {}":    false,
		"package a_test\nimport _ \"" + module + "/internal/server/config\"\nfunc Example() {}": false,
		"package a_test\nimport _ \"" + module + "/engine/internal/hub\"\nfunc Example() {}":    false,
		"package a_test\nimport _ \"" + module + "/engine\"\nfunc Example() { println(1) }\n":   true,
	} {
		if got := exampleIn(t, "x_test.go", []byte(text)); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}
