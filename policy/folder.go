package policy

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// chdir notes that the rest may run in another directory. Whether it does is not
// known, so that both count.
func (r *reader) chdir(dir word, certain bool) {
	if !dir.literal() || !certain || r.loops || len(r.cwds) == 0 || 2*len(r.cwds) > maxDirs {
		r.cwds = nil
		return
	}
	for _, cwd := range slices.Clone(r.cwds) {
		if next := path.Clean(join(cwd, dir.text)); !slices.Contains(r.cwds, next) {
			r.cwds = append(r.cwds, next)
		}
	}
}

// insideRoots reports whether a folder that a command names lies inside the
// roots, wherever the command runs and links lead.
func (r *reader) insideRoots(dir word, cwds []string) bool {
	if !dir.literal() && dir.glob && !dir.cut && !mayGoUp("/"+dir.text) {
		dir = word{text: "./" + knownFolder(dir.text)} // a star matches no folder above
		if path.IsAbs(dir.text[2:]) {
			dir.text = dir.text[2:]
		}
	}
	if !dir.literal() || len(cwds) == 0 {
		return false
	}
	for _, cwd := range cwds {
		f, err := r.subject.forms(join(cwd, dir.text))
		if err != nil || slices.ContainsFunc(f.resolved, func(p string) bool { return !r.subject.inRoots(p) }) {
			return false
		}
	}
	return true
}

// and reads X && Y: Y runs only where X has led.
func (r *reader) and(n *syntax.BinaryCmd) {
	before := r.cwds
	syntax.Walk(n.X, r.visit)
	either := r.cwds
	if dirs, ok := r.success(n.X, before); ok {
		r.cwds = dirs
	}
	syntax.Walk(n.Y, r.visit)
	r.cwds = union(either, r.cwds)
}

// union lists the folders of both lists; none means unknown.
func union(a, b []string) []string {
	if len(a) == 0 || len(b) == 0 {
		return nil
	}
	all := slices.Clone(a)
	for _, dir := range b {
		if !slices.Contains(all, dir) {
			all = append(all, dir)
		}
	}
	if len(all) > maxDirs {
		return nil
	}
	return all
}

// success returns where the shell is after a statement that succeeded, and
// whether that is known: the statement is a cd, or a chain of && with one.
func (r *reader) success(s *syntax.Stmt, before []string) (dirs []string, ok bool) {
	if s.Negated || s.Background || r.loops || len(before) == 0 {
		return nil, false
	}
	switch n := s.Cmd.(type) {
	case *syntax.CallExpr:
		if len(n.Args) != 2 || len(n.Assigns) > 0 || n.Args[0].Lit() != "cd" {
			return nil, false
		}
		dir, doubt := readWord(n.Args[1], r.subject)
		if doubt != "" || !dir.literal() || dir.text == "" || strings.HasPrefix(dir.text, "-") || strings.HasPrefix(dir.text, "+") {
			return nil, false
		}
		for _, cwd := range before {
			dirs = append(dirs, path.Clean(join(cwd, dir.text)))
		}
		return dirs, true
	case *syntax.BinaryCmd:
		if n.Op != syntax.AndStmt {
			return nil, false
		}
		left, ok := r.success(n.X, before)
		if !ok {
			return nil, false
		}
		if right, ok := r.success(n.Y, left); ok {
			return right, true
		}
		return left, !mayChange(n.Y)
	}
	return nil, false
}

// mayChange reports whether a statement may lead to another folder.
func mayChange(s *syntax.Stmt) bool {
	found := false
	syntax.Walk(s, func(node syntax.Node) bool {
		if call, ok := node.(*syntax.CallExpr); ok && len(call.Args) > 0 {
			switch name := call.Args[0].Lit(); name {
			case "cd", "pushd", "popd", "eval", "source", ".", "builtin", "command", "":
				found = true
			}
		}
		return !found
	})
	return found
}
