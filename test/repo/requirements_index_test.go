package repo_test

import (
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// testIndex answers whether a "shown by" entry exists in root. Each package is
// parsed once, and never built.
type testIndex struct {
	root     fs.FS
	packages map[string]testPackage
}

// testPackage holds the functions of a folder's test files that go test runs, those that
// need real agents, and the tests that run the scripts of each folder.
type testPackage struct {
	runs, agents map[string]bool
	scripts      map[string]string
	err          error
}

// check returns an error when the entry names nothing that exists, or has none
// of the three forms.
func (x testIndex) check(entry string) error {
	if dir, name, ok := strings.Cut(entry, ":"); ok && strings.HasSuffix(dir, ".e2e.ts") {
		return x.checkBrowserTest(dir, strings.TrimSpace(name))
	} else if ok {
		return x.checkFunction(strings.TrimSpace(dir), strings.TrimSpace(name))
	}
	isScript := path.Ext(entry) == ".txtar"
	isScreen := strings.HasPrefix(entry, "docs/screenshots/")
	if !isScript && !isScreen {
		return fmt.Errorf("%q is no `package: TestName`, no `file.e2e.ts: name of the test`, no .txtar and no docs/screenshots/ file", entry)
	}
	info, err := fs.Stat(x.root, entry)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%q is not a file", entry)
	}
	if isScript {
		return x.checkScript(entry)
	}
	return nil
}

// checkBrowserTest looks for a browser test by how its name begins.
func (x testIndex) checkBrowserTest(file, name string) error {
	source, err := fs.ReadFile(x.root, file)
	if err != nil {
		return err
	}
	before, _, ok := strings.Cut(string(source), `("`+name)
	switch line := before[strings.LastIndexByte(before, '\n')+1:]; {
	case name == "" || !ok:
		return fmt.Errorf("%s has no test %q", file, name)
	case strings.HasSuffix(line, ".skip"), strings.HasSuffix(line, ".todo"), strings.Contains(line, "//"):
		return fmt.Errorf("%s does not run its test %q", file, name)
	}
	return nil
}

func (x testIndex) checkFunction(dir, name string) error {
	name, _, _ = strings.Cut(name, "/")
	pkg := x.load(dir)
	if pkg.err != nil {
		return pkg.err
	}
	if !pkg.runs[name] {
		return fmt.Errorf("package %q has no test, example, fuzz target or benchmark %q that runs", dir, name)
	}
	return x.checkAgents(dir, name)
}

func (x testIndex) load(dir string) testPackage {
	pkg, ok := x.packages[dir]
	if !ok {
		pkg, pkg.err = runnableTests(x.root, dir)
		x.packages[dir] = pkg
	}
	return pkg
}

// runnableTests names what go test can run in the test files of dir: functions
// with the right name and signature, and examples with an output comment.
func runnableTests(root fs.FS, dir string) (pkg testPackage, err error) {
	entries, err := fs.ReadDir(root, dir)
	if err != nil {
		return pkg, err
	}
	var files []*ast.File
	runs := map[string]bool{}
	fset := token.NewFileSet()
	for _, entry := range entries {
		name := entry.Name()
		if !strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "_") || strings.HasPrefix(name, ".") {
			continue
		}
		if ok, err := built(root, dir, name); err != nil || !ok {
			if err != nil {
				return pkg, err
			}
			continue
		}
		source, err := fs.ReadFile(root, path.Join(dir, name))
		if err != nil {
			return pkg, err
		}
		file, err := parser.ParseFile(fset, path.Join(dir, name), source, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return pkg, err
		}
		files = append(files, file)
		for _, decl := range file.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && isTestFunction(fn) {
				runs[fn.Name.Name] = true
			}
		}
	}
	if len(files) == 0 {
		return pkg, fmt.Errorf("package %q has no test files", dir)
	}
	for _, example := range doc.Examples(files...) {
		if example.Output != "" || example.EmptyOutput {
			runs["Example"+example.Name] = true
		}
	}
	return testPackage{runs: runs, agents: needAgents(files), scripts: scriptFolders(files)}, nil
}

// isTestFunction reports whether fn is TestXxx(*testing.T), FuzzXxx(*testing.F)
// or BenchmarkXxx(*testing.B).
func isTestFunction(fn *ast.FuncDecl) bool {
	params := fn.Type.Params.List
	if fn.Recv != nil || fn.Type.Results != nil || fn.Type.TypeParams != nil || len(params) != 1 || len(params[0].Names) > 1 {
		return false
	}
	pointer, ok := params[0].Type.(*ast.StarExpr)
	if !ok {
		return false
	}
	selector, ok := pointer.X.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	for prefix, param := range map[string]string{"Test": "T", "Fuzz": "F", "Benchmark": "B"} {
		rest, ok := strings.CutPrefix(fn.Name.Name, prefix)
		first, _ := utf8.DecodeRuneInString(rest)
		if ok && selector.Sel.Name == param && !unicode.IsLower(first) {
			return true
		}
	}
	return false
}
