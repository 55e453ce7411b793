package repo_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// loaded is a package of this module, parsed and with all types known.
type loaded struct {
	path  string // within the module, "." for the root
	name  string
	files []*ast.File
	types *types.Package
	info  *types.Info
	fset  *token.FileSet
}

// moduleSource is the module as it stands on disk, without its tests, on this system.
// It is read once for all tests.
var moduleSource = sync.OnceValues(readModule)

func readModule() ([]*loaded, error) {
	cmd := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Name,Dir,GoFiles,Export,Standard", "./...")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	type listed struct {
		ImportPath, Name, Dir, Export string
		GoFiles                       []string
	}
	exports := map[string]string{}
	var ours []listed
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		exports[p.ImportPath] = p.Export
		if _, ok := inModule(p.ImportPath); ok {
			ours = append(ours, p)
		}
	}
	fset := token.NewFileSet()
	imports := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	var all []*loaded
	for _, p := range ours {
		s := &loaded{name: p.Name, fset: fset}
		s.path, _ = inModule(p.ImportPath)
		for _, name := range p.GoFiles {
			file, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				return nil, err
			}
			s.files = append(s.files, file)
		}
		if err := s.check(p.ImportPath, imports); err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

func (s *loaded) check(path string, imports types.Importer) (err error) {
	s.info = &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{},
	}
	s.types, err = (&types.Config{Importer: imports}).Check(path, s.fset, s.files, s.info)
	return err
}

// modulePackages returns the packages of this module.
func modulePackages(t *testing.T) []*loaded {
	t.Helper()
	all, err := moduleSource()
	if err != nil {
		t.Fatal(err)
	}
	return all
}
