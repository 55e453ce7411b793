package worktree

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// maxSlug bounds the names of branches. 40 hexadecimal digits would be a commit to git.
const maxSlug = 39

// Slug makes the name of a branch of a text that people wrote: lower-case letters, digits and
// single dashes, from its first line. It is empty if nothing of the text can be in such a name.
func Slug(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	var words []string
	length := -1 // no dash before the first
	for word := range strings.FieldsFuncSeq(strings.ToLower(line), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') }) {
		if len(words) > 0 && length+1+len(word) > maxSlug {
			break
		}
		word = word[:min(len(word), maxSlug)]
		words, length = append(words, word), length+1+len(word)
	}
	return strings.Join(words, "-")
}

// Made is what a worktree was made as.
type Made struct {
	Branch string // its own branch; who worked there may have left it
	Base   string // the branch that was checked out in the origin, or "" if there was none
}

// MadeAs says what the worktree with that id was made as.
func MadeAs(home, id string) Made {
	b, err := os.ReadFile(filepath.Join(home, folder, id, branchName))
	if err != nil { // an older one, or one of a race
		return Made{Branch: branchPrefix + id}
	}
	branch, base, _ := strings.Cut(strings.TrimSuffix(string(b), "\n"), "\n")
	return Made{branch, base}
}

// freeName is a name for the branch of a new worktree, which no branch has, here or at a remote.
func (g *git) freeName(ctx context.Context, id, wish string) (string, error) {
	slug := Slug(wish)
	for n := 1; slug != "" && n < 100; n++ {
		name := slug
		if n > 1 {
			name += "-" + strconv.Itoa(n)
		}
		if name == "head" { // some file systems do not tell it from HEAD
			continue
		}
		taken, err := g.run(ctx, "for-each-ref", "--count=1", "--ignore-case", "--format=x", "refs/heads/"+name, "refs/remotes/*/"+name, "refs/tags/"+name)
		if taken == "" || err != nil {
			return name, err
		}
	}
	return branchPrefix + id, nil
}

// note writes what a worktree is made as.
func (m Made) note(home, id string) error {
	return os.WriteFile(filepath.Join(home, folder, id, branchName), []byte(m.Branch+"\n"+m.Base+"\n"), 0o600)
}
