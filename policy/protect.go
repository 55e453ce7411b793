package policy

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/lazyregexp"
)

// protectedFiles finds files of the tool use that lie in protected folders, or that may.
func (u *use) protectedFiles() (Verdict, match) {
	doubt, found := Verdict{}, no
	if len(u.Protected) == 0 {
		return doubt, no
	}
	files := u.files
	if u.script != nil {
		files = append(slices.Clone(files), u.script.operands...)
	}
	for _, file := range files {
		switch v, m := u.protectedFile(file); m {
		case yes:
			return v, yes
		case maybe:
			doubt, found = v, maybe
		case no:
		}
	}
	if found == no && u.script != nil {
		for _, mention := range u.script.mentions {
			if _, m := u.protectedFile(mention); m != no {
				return Verdict{Behavior: terret.BehaviorAsk, Reason: sentence("%s may lead to the harness's own files, which no tool may touch", show([]word{mention.path}))}, maybe
			}
		}
	}
	return doubt, found
}

func (u *use) protectedFile(file fileUse) (doubt Verdict, found match) {
	denied := func(folder string) (Verdict, match) {
		return Verdict{Behavior: terret.BehaviorDeny, Reason: sentence("No tool may touch %s, which holds the harness's own files", folder)}, yes
	}
	readings, why := u.readings(file)
	if why != "" {
		folder, m := u.unknownProtected(file)
		if m == yes {
			return denied(folder)
		}
		return Verdict{Behavior: terret.BehaviorAsk, Reason: sentence("%s may lead to %s, which no tool may touch", show([]word{file.path}), folder)}, m
	}
	for _, f := range readings {
		// What comes to lie in a folder leaves its other files alone.
		if folder := u.protectedBy(f, file.write && file.search && !file.fills); folder != "" {
			return denied(folder)
		}
		if folder := u.protectedBy(f, file.search); folder != "" {
			doubt, found = Verdict{Behavior: terret.BehaviorAsk, Reason: sentence("%s contains %s, which no tool may touch", file.path.text, folder)}, maybe
		}
	}
	return doubt, found
}

// unknownProtected says whether a partly unknown path leads to a protected folder. A path
// of which the known parts say nothing is left to rules and to people.
func (u *use) unknownProtected(file fileUse) (folder string, m match) {
	if unreadable(strings.ReplaceAll(file.path.text, anyText, "")) != "" {
		return "", no
	}
	for _, folder := range u.Protected {
		for _, at := range u.bothForms(folder) {
			if m := u.mayLeadTo(at, file); m != no {
				return folder, m
			}
		}
	}
	return "", no
}

// bothForms are a folder's path as given and as resolved.
func (s Subject) bothForms(folder string) []string {
	if folder == "" {
		return nil
	}
	all := []string{path.Clean(folder)}
	if r, err := s.resolve(folder); err == nil && r != all[0] {
		all = append(all, r)
	}
	return all
}

func (u *use) mayLeadTo(folder string, file fileUse) match {
	if u.endsInHome(folder, file) {
		return maybe
	}
	for _, cwd := range file.cwds {
		text := join(cwd, file.path.text)
		known := knownFolder(text)
		rest := text[len(known):]
		for _, base := range u.bothForms(known) {
			whole := path.Clean(base + "/" + rest)
			base = path.Clean(knownFolder(whole))
			within := inside(fold(base), fold(folder))
			switch {
			case u.excepted(base):
			case within && file.path.glob && !file.path.cut && !strings.Contains("/"+rest+"/", "/../"):
				return yes
			case within, (file.path.glob || partlyKnown(parts(whole))) && namesReach(parts(whole), parts(folder), file):
				return maybe
			}
		}
	}
	return no
}

// endsInHome reports whether the part of a path that follows an unknown one names the
// folder, as seen from the user's home: the unknown part may be the home.
func (u *use) endsInHome(folder string, file fileUse) bool {
	below, ok := strings.CutPrefix(folder, strings.TrimSuffix(u.Home, "/")+"/")
	before, rest, unknown := strings.Cut(file.path.text, anyText)
	switch {
	case !ok || u.Home == "" || path.IsAbs(before):
		return false
	case len(file.cwds) == 0:
		rest = "/" + file.path.text
	case !unknown || file.path.glob:
		return false
	}
	return strings.Contains(fold(rest)+"/", "/"+fold(below)+"/")
}

// knownFolder is the beginning of a path up to the last slash before anything unknown.
func knownFolder(p string) string {
	known, _, _ := strings.Cut(p, anyText)
	return known[:strings.LastIndexByte(known, '/')+1]
}

func parts(p string) []string { return strings.Split(strings.Trim(fold(p), "/"), "/") }

// partlyKnown reports whether a part of the path is known in part: one of which nothing
// is known says nothing about where the path leads.
func partlyKnown(path []string) bool {
	return slices.ContainsFunc(path, func(p string) bool {
		return strings.Contains(p, anyText) && strings.Trim(p, anyText) != ""
	})
}

// namesReach reports whether names may complete the parts of a path to a folder, to
// something in it, or, if the path is searched, to a folder above it. A star at the
// beginning of a part matches no hidden file, unless the file use says so. It goes
// through the path from its end, so that double stars cost no more than other parts.
func namesReach(path, folder []string, file fileUse) bool {
	hides := func(name string) bool { return strings.HasPrefix(name, ".") && file.path.glob && !file.hidden }
	below := make([]bool, len(folder)+1) // whether path[i+1:] may lead to folder[j:]
	here := make([]bool, len(folder)+1)
	for j := range below {
		below[j] = file.search
	}
	below[len(folder)] = true
	for i, part := range slices.Backward(path) {
		here[len(folder)] = true
		for j := len(folder) - 1; j >= 0; j-- {
			switch {
			case len(part) > 1 && strings.Trim(part, anyText) == "": // a double star
				here[j] = below[j] || !hides(folder[j]) && here[j+1]
			case strings.HasPrefix(part, anyText) && hides(folder[j]), !mayMatch(part, folder[j]):
				here[j] = false
			default:
				here[j] = below[j+1] || i == len(path)-1 && file.path.cut
			}
		}
		below, here = here, below
	}
	return below[0]
}

// maxMentions bounds how many words of a script are looked at.
const maxMentions = 2000

// dotGlobs finds the settings of shells with which a star matches hidden files.
var dotGlobs = lazyregexp.New(`(?i)dotglob|glob_?dots|globignore`)

// mention records a word, whatever it is for, and what becomes of its braces.
func (r *reader) mention(n *syntax.Word, w word) {
	if len(r.subject.Protected) == 0 {
		return
	}
	use := fileUse{cwds: slices.Clone(r.cwds), doubtful: true, by: "a word", hidden: r.dotGlobs}
	add := func(w word) {
		if len(r.out.mentions) < maxMentions {
			use.path = w
			r.out.mentions = append(r.out.mentions, use)
		}
	}
	add(w)
	if _, value, ok := strings.Cut(w.text, "="); ok {
		add(word{text: value, splits: w.splits, glob: w.glob, cut: w.cut})
	}
	if name, rest, _ := strings.Cut(n.Lit(), "/"); strings.HasPrefix(name, "~") && len(name) > 1 {
		add(word{text: join(r.subject.Home, rest)}) // the home of another user, or of this one
		add(word{text: "./" + rest})                // ~+ is the current folder
	}
	if slices.ContainsFunc(n.Parts, func(p syntax.WordPart) bool { _, is := p.(*syntax.ExtGlob); return is }) {
		use.hidden = true // in zsh the parentheses may say so
		add(word{text: w.text, glob: true, cut: w.cut})
	}
	split := &syntax.Word{Parts: slices.Clone(n.Parts)}
	if w.literal() || !syntax.SplitBraces(split) {
		return
	}
	for one, err := range expand.BracesSeq(nil, split) {
		if err != nil || len(r.out.mentions) >= maxMentions {
			return
		}
		expanded, _ := readWord(oneLiteral(one), r.subject)
		add(expanded)
	}
}

// mentionValue records the value of a variable. Where it is used only the shell knows:
// perhaps in the user's home.
func (r *reader) mentionValue(n *syntax.Word) {
	w, _ := readWord(n, r.subject)
	if len(r.subject.Protected) > 0 && len(r.out.mentions) < maxMentions {
		r.out.mentions = append(r.out.mentions, fileUse{path: w, doubtful: true, by: "a word"})
	}
}

// oneLiteral joins the literals that begin a word, so that a tilde is read with what
// follows it.
func oneLiteral(n *syntax.Word) *syntax.Word {
	var text strings.Builder
	for i, part := range n.Parts {
		lit, ok := part.(*syntax.Lit)
		if !ok {
			return &syntax.Word{Parts: append([]syntax.WordPart{&syntax.Lit{Value: text.String()}}, n.Parts[i:]...)}
		}
		text.WriteString(lit.Value)
	}
	return &syntax.Word{Parts: []syntax.WordPart{&syntax.Lit{Value: text.String()}}}
}
