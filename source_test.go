package terret_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret"
)

// sourceFiles parses the package as it stands on disk, without its tests.
func sourceFiles(t *testing.T) []*ast.File {
	t.Helper()
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	fset := token.NewFileSet()
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return files
}

// declaredConstants gives the values of all constants of a string type, by name.
func declaredConstants(t *testing.T, typeName string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, file := range sourceFiles(t) {
		for _, decl := range file.Decls {
			group, ok := decl.(*ast.GenDecl)
			if !ok || group.Tok != token.CONST {
				continue
			}
			for _, spec := range group.Specs {
				value := spec.(*ast.ValueSpec)
				if ident, ok := value.Type.(*ast.Ident); ok && ident.Name == typeName {
					out[value.Names[0].Name] = unquote(t, value.Values[0])
				}
			}
		}
	}
	if len(out) == 0 {
		t.Fatalf("there are no constants of type %s", typeName)
	}
	return out
}

func unquote(t *testing.T, e ast.Expr) string {
	t.Helper()
	literal, ok := e.(*ast.BasicLit)
	if !ok {
		t.Fatalf("%T is not a literal", e)
	}
	s, err := strconv.Unquote(literal.Value)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// kindConstants are the constants of type Kind, by name.
func kindConstants(t *testing.T) map[string]terret.Kind {
	t.Helper()
	out := map[string]terret.Kind{}
	for _, file := range sourceFiles(t) {
		for _, decl := range file.Decls {
			constants, ok := decl.(*ast.GenDecl)
			if !ok || constants.Tok != token.CONST {
				continue
			}
			for _, spec := range constants.Specs {
				v := spec.(*ast.ValueSpec)
				if of, ok := v.Type.(*ast.Ident); ok && of.Name == "Kind" {
					out[v.Names[0].Name] = terret.Kind(unquote(t, v.Values[0]))
				}
			}
		}
	}
	return out
}

// TestEveryDataTypeIsCatalogued fails for a struct that has a kind of its own and
// is missing in Kinds, so that it would be read as Opaque.
func TestEveryDataTypeIsCatalogued(t *testing.T) {
	declared := map[terret.Kind]string{}
	constants := kindConstants(t)
	for _, file := range sourceFiles(t) {
		for _, decl := range file.Decls {
			method, ok := decl.(*ast.FuncDecl)
			if !ok || method.Recv == nil || method.Name.Name != "kind" {
				continue
			}
			receiver := method.Recv.List[0].Type.(*ast.Ident).Name
			if receiver == "Opaque" {
				continue
			}
			name := method.Body.List[0].(*ast.ReturnStmt).Results[0].(*ast.Ident).Name
			if name != "Kind"+receiver {
				t.Errorf("%s is of kind %s, want Kind%s", receiver, name, receiver)
			}
			kind, ok := constants[name]
			if !ok {
				t.Errorf("there is no constant %s", name)
			}
			if other := declared[kind]; other != "" {
				t.Errorf("%s and %s are both of kind %s", receiver, other, kind)
			}
			declared[kind] = receiver
			if !kind.Known() {
				t.Errorf("%s of kind %s is not in the catalogue", receiver, kind)
			}
		}
	}
	if got, want := len(declared), len(terret.Kinds()); got != want {
		t.Errorf("%d data types for %d kinds", got, want)
	}
}

// TestConstantsOfTheVocabulary holds the words to those that are written down.
func TestConstantsOfTheVocabulary(t *testing.T) {
	for typeName, words := range map[string]string{
		"Gate":           "permission pre_tool prompt question plan stop subagent_stop compact trust",
		"Visibility":     "ui internal log",
		"Origin":         "user queue steer bus background",
		"Role":           "user assistant tool",
		"BlockType":      "text thinking tool_use tool_result image document",
		"ToolClass":      "execute read edit search fetch agent mcp think other",
		"Behavior":       "allow deny answer reject approve revise block ask passthrough",
		"DecisionSource": "rule policy user timeout channel agent_exit interrupt",
		"Scope":          "once session always",
		"Policy":         "ask accept-edits deny-unless-allowed plan rules auto-approve",
		"SessionState":   "pending starting idle busy waiting compacting retrying interrupting failed stale closed",
		"TurnState":      "queued running completed failed interrupted killed",
		"AgentState":     "idle processing failed restarting terminated",
		"RequestState":   "open decided",
		"Tested":         "yes newer older",
		"Oversight":      "all asked none",
		"Provider":       "agent driver harness",
	} {
		var got []string
		for _, value := range declaredConstants(t, typeName) {
			got = append(got, value)
		}
		want := strings.Fields(words)
		slices.Sort(got)
		slices.Sort(want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -vocabulary +constants\n%s", typeName, diff)
		}
	}
}
