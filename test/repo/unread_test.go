package repo_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// field is a field of a struct, however its package was loaded.
type field struct {
	pkg, file, name string
	line            int
}

func (s *loaded) field(v *types.Var) field {
	at := s.fset.Position(v.Pos())
	return field{v.Pkg().Path(), filepath.Base(at.Filename), v.Name(), at.Line}
}

// wanted are fields that somebody must read, with the name by which people know them.
type wanted map[field]string

// add adds the fields of a struct, and of the structs in it that are ours.
func (w wanted) add(s *loaded, name string, t types.Type) { w.walk(s, name, t, map[types.Type]bool{}) }

func (w wanted) walk(s *loaded, name string, t types.Type, seen map[types.Type]bool) {
	switch t := t.(type) {
	case *types.Pointer:
		w.walk(s, name, t.Elem(), seen)
		return
	case *types.Slice:
		w.walk(s, name, t.Elem(), seen)
		return
	case *types.Map:
		w.walk(s, name, t.Elem(), seen)
		return
	case *types.Named:
		if t.Obj().Pkg() == nil || seen[t] {
			return
		}
		if _, ours := inModule(t.Obj().Pkg().Path()); !ours && !strings.HasPrefix(t.Obj().Pkg().Path(), "bait") {
			return
		}
		seen[t] = true
	}
	fields, ok := t.Underlying().(*types.Struct)
	if !ok {
		return
	}
	for i := range fields.NumFields() {
		v := fields.Field(i)
		known := wireName(v, reflect.StructTag(fields.Tag(i)))
		switch {
		case v.Embedded() || v.Name() == "Body": // they only hold others
			w.walk(s, name, v.Type(), seen)
		case known == "":
		default:
			w[s.field(v)] = name + "." + known
			w.walk(s, name+"."+known, v.Type(), seen)
		}
	}
}

// wireName is what a field is called by whoever sets it; empty if nobody does.
func wireName(v *types.Var, tag reflect.StructTag) string {
	for _, kind := range []string{"json", "query", "path", "header"} {
		if name, _, _ := strings.Cut(tag.Get(kind), ","); name != "" && name != "-" {
			return name
		}
	}
	if tag == "" && v.Exported() {
		return v.Name()
	}
	return ""
}

// read removes the fields that the packages read.
func (w wanted) read(all []*loaded) {
	for _, s := range all {
		for _, file := range s.files {
			written := s.written(file)
			ast.Inspect(file, func(n ast.Node) bool {
				sel, ok := n.(*ast.SelectorExpr)
				if !ok || written[sel] {
					return true
				}
				if picked := s.info.Selections[sel]; picked != nil && picked.Kind() == types.FieldVal {
					delete(w, s.field(picked.Obj().(*types.Var)))
				}
				return true
			})
		}
	}
}

// written are the selections in a file that only write: what is assigned to, and a
// field that is copied into the same field of another value.
func (s *loaded) written(file *ast.File) map[*ast.SelectorExpr]bool {
	out := map[*ast.SelectorExpr]bool{}
	mark := func(e ast.Expr) {
		if sel, ok := ast.Unparen(e).(*ast.SelectorExpr); ok {
			out[sel] = true
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if n.Tok == token.ASSIGN {
				for _, e := range n.Lhs {
					mark(e)
				}
			}
		case *ast.KeyValueExpr:
			key, ok := n.Key.(*ast.Ident)
			sel, isSel := ast.Unparen(n.Value).(*ast.SelectorExpr)
			if !ok || !isSel || s.info.Selections[sel] == nil {
				break
			}
			if to, ok := s.info.Uses[key].(*types.Var); ok && to.IsField() {
				if from, ok := s.info.Selections[sel].Obj().(*types.Var); ok && s.field(from) == s.field(to) {
					mark(sel)
				}
			}
		}
		return true
	})
	return out
}

// requests adds all that routes take: the inputs of handlers, and the bodies that are
// read by hand.
func (w wanted) requests(s *loaded) {
	for _, file := range s.files {
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			name, _ := ast.Unparen(call.Fun).(*ast.Ident)
			switch {
			case name == nil:
			case (name.Name == "handle" || name.Name == "handleStream") && len(call.Args) >= 3:
				if fn, ok := s.info.TypeOf(call.Args[2]).(*types.Signature); ok && fn.Params().Len() == 2 {
					w.add(s, s.name, fn.Params().At(1).Type())
				}
			case name.Name == "readBody" && len(call.Args) == 2:
				w.add(s, s.name, s.info.TypeOf(call.Args[1]))
			}
			return true
		})
	}
}

func lookup(t *testing.T, all []*loaded, path, name string) (*loaded, types.Type) {
	t.Helper()
	for _, s := range all {
		if s.path == path {
			if o := s.types.Scope().Lookup(name); o != nil {
				return s, o.Type()
			}
		}
	}
	t.Fatalf("there is no %s in %s", name, path)
	return nil, nil
}

// unreadOnPurpose are fields that nobody reads, and why.
var unreadOnPurpose = map[string]string{
	"httpapi.opts.verbose": "the routes of an older program took it; all that it asked for is always told",
}

// TestNothingIsIgnored fails for a key of the configuration, a field of a request and
// an option that is taken and that no line of the product reads.
func TestNothingIsIgnored(t *testing.T) {
	t.Parallel()
	all := modulePackages(t)
	w := wanted{}
	for path, names := range map[string][]string{
		"internal/server/config": {"Config"}, ".": {"SessionOptions", "TurnOptions", "Settings"}, "internal/server/persona": {"PromptRequest"},
	} {
		for _, name := range names {
			s, typ := lookup(t, all, path, name)
			w.add(s, name, typ)
		}
	}
	before := len(w)
	at := slices.IndexFunc(all, func(s *loaded) bool { return strings.HasSuffix(s.path, "httpapi") })
	w.requests(all[at])
	if before < 50 || len(w)-before < 50 {
		t.Fatalf("only %d options and %d fields of requests were found", before, len(w)-before)
	}
	w.read(all)
	for f, name := range w {
		if unreadOnPurpose[name] == "" {
			t.Errorf("%s (%s:%d) is accepted, and nobody reads it: wire it, or remove it", name, f.file, f.line)
		}
	}
	for name := range unreadOnPurpose {
		if !slices.Contains(slices.Collect(maps.Values(w)), name) {
			t.Errorf("%s is read, or does not exist: take it off the list", name)
		}
	}
}

// TestIgnoredIsFound holds that the test above sees what it is for.
func TestIgnoredIsFound(t *testing.T) {
	t.Parallel()
	const text = `package bait
type Inner struct { Used, Unused string }
type Config struct {
	Read    string ` + "`json:\"read\"`" + `
	Unread  string ` + "`json:\"unread\"`" + `
	Written string ` + "`json:\"written\"`" + `
	Copied  string ` + "`json:\"copied\"`" + `
	Hidden  string ` + "`json:\"-\"`" + `
	Inner   Inner  ` + "`json:\"inner\"`" + `
	List    []Inner
}
type body struct { Body struct { Asked, Ignored string } }
func handle(s, route any, fn any) {}
func readBody(r any, into any) error { return nil }
func serve(ctx any, in *body) error { println(in.Body.Asked); return nil }
func use(c Config) Config {
	c.Written = "x"
	println(c.Read, c.Inner.Used, c.List)
	handle(nil, nil, serve)
	var in struct { ByHand string }
	readBody(nil, &in)
	return Config{Copied: c.Copied}
}
`
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "bait.go", text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	s := &loaded{path: "bait", name: "bait", files: []*ast.File{file}, fset: fset}
	if err := s.check("bait", nil); err != nil {
		t.Fatal(err)
	}
	w := wanted{}
	_, config := lookup(t, []*loaded{s}, "bait", "Config")
	w.add(s, "Config", config)
	w.requests(s)
	w.read([]*loaded{s})
	got := slices.Sorted(maps.Values(w))
	want := []string{"Config.copied", "Config.inner.Unused", "Config.unread", "Config.written", "bait.ByHand", "bait.Ignored"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(fmt.Sprint("-want +found:\n", diff))
	}
}
