package repo_test

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/token"
	"io"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

// agentVariable is set where the real agents are: tests that look at it are skipped
// elsewhere.
const agentVariable = "TERRET_CONFORMANCE"

// conformanceFile runs the tests with real agents.
const conformanceFile = "scripts/conformance.sh"

// built reports whether a test file is part of its package where the tests are run.
func built(root fs.FS, dir, name string) (bool, error) {
	c := build.Default
	c.GOOS, c.GOARCH = "linux", "amd64"
	c.OpenFile = func(p string) (io.ReadCloser, error) { return root.Open(path.Clean(p)) }
	return c.MatchFile(dir, name)
}

// needAgents names the functions of test files that look whether the real agents are
// there, themselves or by what they call.
func needAgents(files []*ast.File) map[string]bool {
	uses := map[string][]string{}
	need := map[string]bool{}
	looks := func(n ast.Node) bool {
		lit, ok := n.(*ast.BasicLit)
		return ok && lit.Kind == token.STRING && strings.Trim(lit.Value, "`\"") == agentVariable
	}
	for _, file := range files {
		for _, decl := range file.Decls {
			if g, ok := decl.(*ast.GenDecl); ok {
				for _, spec := range g.Specs {
					if v, ok := spec.(*ast.ValueSpec); ok {
						for i, value := range v.Values {
							need[v.Names[i].Name] = need[v.Names[i].Name] || looks(value)
						}
					}
				}
			}
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || fn.Body == nil || fn.Recv != nil {
				continue
			}
			ast.Inspect(fn.Body, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok {
					uses[fn.Name.Name] = append(uses[fn.Name.Name], id.Name)
				} else if looks(n) {
					need[fn.Name.Name] = true
				}
				return true
			})
		}
	}
	for changed := true; changed; {
		changed = false
		for name, used := range uses {
			if !need[name] && slices.ContainsFunc(used, func(u string) bool { return need[u] }) {
				need[name], changed = true, true
			}
		}
	}
	return need
}

var (
	conformanceLine = regexp.MustCompile(`(?m)^run "[^"]*" (.*)$`)
	conformanceOnly = regexp.MustCompile(`-run '([^'/]*)`)
)

// conforms reports whether the script of the conformance tests runs a test of a package.
func conforms(root fs.FS, dir, test string) bool {
	script, err := fs.ReadFile(root, conformanceFile)
	if err != nil {
		return false
	}
	for _, line := range conformanceLine.FindAllStringSubmatch(string(script), -1) {
		only := conformanceOnly.FindStringSubmatch(line[1])
		if !slices.Contains(strings.Fields(line[1]), "./"+dir) {
			continue
		}
		if only == nil {
			return true
		}
		if named, err := regexp.Compile(only[1]); err == nil && named.MatchString(test) {
			return true
		}
	}
	return false
}

// checkAgents returns an error for a test that needs real agents and is not run where
// they are.
func (x testIndex) checkAgents(dir, test string) error {
	if x.packages[dir].agents[test] && !conforms(x.root, dir, test) {
		return fmt.Errorf("%s: %s is skipped without the real agents, and %s does not run it", dir, test, conformanceFile)
	}
	return nil
}

// checkScript looks for the test that runs the scripts of a folder.
func (x testIndex) checkScript(file string) error {
	dir, rest, ok := strings.Cut(path.Dir(file), "testdata/")
	if dir = strings.TrimSuffix(dir, "/"); dir == "" {
		dir = "."
	}
	pkg := x.load(dir)
	if pkg.err != nil {
		return pkg.err
	}
	by := pkg.scripts["testdata/"+rest]
	if !ok || by == "" {
		return fmt.Errorf("no test of package %q runs %s", dir, file)
	}
	return x.checkAgents(dir, by)
}

// scriptFolders names the tests that run the scripts of each folder below testdata.
func scriptFolders(files []*ast.File) map[string]string {
	out := map[string]string{}
	for _, file := range files {
		for _, decl := range file.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || fn.Body == nil || !isTestFunction(fn) {
				continue
			}
			ast.Inspect(fn.Body, func(n ast.Node) bool {
				if lit, ok := n.(*ast.BasicLit); ok && strings.HasPrefix(lit.Value, `"testdata/`) {
					out[strings.Trim(lit.Value, `"`)] = fn.Name.Name
				}
				return true
			})
		}
	}
	return out
}
