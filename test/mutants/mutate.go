package main

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// mutant is a file with one change.
type mutant struct {
	path     string // absolute
	line     int
	original []byte
	from, to int // what is replaced, in bytes
	by       string
}

// String is where it is and what it does.
func (m mutant) String() string {
	was := strings.Join(strings.Fields(string(m.original[m.from:m.to])), " ")
	by := m.by
	if by == "" {
		by = "nothing"
	}
	return fmt.Sprintf("%s:%d: %s becomes %s", m.path, m.line, was, by)
}

func (m mutant) source() []byte {
	return slices.Concat(m.original[:m.from], []byte(m.by), m.original[m.to:])
}

// mutantsOf lists the mutants of a package, in the order of its files. With a base, only
// those on lines that changed since.
func mutantsOf(ctx context.Context, pkg, base string) ([]mutant, error) {
	names, err := filepath.Glob(filepath.Join(pkg, "*.go"))
	if err != nil {
		return nil, err
	}
	var out []mutant
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		found, err := mutantsIn(name)
		if err != nil {
			return nil, err
		}
		slices.SortStableFunc(found, func(a, b mutant) int { return a.from - b.from })
		if base != "" {
			lines, err := changed(ctx, name, base)
			if err != nil {
				return nil, err
			}
			found = slices.DeleteFunc(found, func(m mutant) bool { return !lines[m.line] })
		}
		out = append(out, found...)
	}
	return out, nil
}

// swaps are operators and what they become.
var swaps = map[token.Token]string{
	token.EQL: "!=", token.NEQ: "==", token.LSS: "<=", token.LEQ: "<", token.GTR: ">=", token.GEQ: ">",
	token.LAND: "||", token.LOR: "&&", token.ADD: "-", token.SUB: "+",
}

// mutantsIn lists the mutants of a file.
func mutantsIn(name string) ([]mutant, error) {
	path, err := filepath.Abs(name)
	if err != nil {
		return nil, err
	}
	source, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path, source, parser.SkipObjectResolution)
	if err != nil || ast.IsGenerated(file) {
		return nil, err
	}
	var out []mutant
	replace := func(from, to token.Pos, by string) {
		at := fset.Position(from)
		out = append(out, mutant{path, at.Line, source, at.Offset, fset.Position(to).Offset, by})
	}
	text := func(n ast.Node) string {
		return string(source[fset.Position(n.Pos()).Offset:fset.Position(n.End()).Offset])
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.BinaryExpr:
			if by := swaps[n.Op]; by != "" {
				replace(n.OpPos, n.OpPos+token.Pos(len(n.Op.String())), by)
			}
		case *ast.IfStmt:
			replace(n.Cond.Pos(), n.Cond.End(), "!("+text(n.Cond)+")")
		case *ast.Ident:
			if by, ok := map[string]string{"true": "false", "false": "true"}[n.Name]; ok {
				replace(n.Pos(), n.End(), by)
			}
		case *ast.BasicLit:
			if i, err := strconv.Atoi(n.Value); n.Kind == token.INT && err == nil {
				replace(n.Pos(), n.End(), strconv.Itoa(i+1))
			}
		case *ast.BlockStmt:
			for _, s := range n.List {
				dropped(s, replace)
			}
		case *ast.CaseClause:
			for _, s := range n.Body {
				dropped(s, replace)
			}
		}
		return true
	})
	return out, nil
}

// dropped leaves a statement out, if the rest may build without it.
func dropped(s ast.Stmt, replace func(from, to token.Pos, by string)) {
	switch s := s.(type) {
	case *ast.ExprStmt, *ast.IncDecStmt, *ast.BranchStmt:
		replace(s.Pos(), s.End(), "")
	case *ast.AssignStmt:
		if s.Tok != token.DEFINE {
			replace(s.Pos(), s.End(), "")
		}
	}
}

var hunk = regexp.MustCompile(`(?m)^@@ -\S+ \+(\d+)(?:,(\d+))? @@`)

// changed are the lines of a file that are not as they were in that revision.
func changed(ctx context.Context, name, base string) (map[int]bool, error) {
	cmd := exec.CommandContext(ctx, "git", "diff", "--unified=0", "--no-color", "--no-ext-diff", base, "--", filepath.Base(name))
	cmd.Dir = filepath.Dir(name)
	diff, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("git diff %s: %w", base, err)
	}
	out := map[int]bool{}
	for _, m := range hunk.FindAllStringSubmatch(string(diff), -1) {
		first, _ := strconv.Atoi(m[1])
		n := 1
		if m[2] != "" {
			n, _ = strconv.Atoi(m[2])
		}
		for i := range n {
			out[first+i] = true
		}
	}
	return out, nil
}
