package glob_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/terret-dev/terret/internal/glob"
)

// expand lists the patterns without braces that a valid pattern stands for.
func expand(p string) []string {
	depth, open, class := 0, 0, false
	var parts []string
	from := 0
	for i := 0; i < len(p); i++ {
		switch c := p[i]; {
		case c == '\\':
			i++
		case class:
			class = c != ']'
		case c == '[':
			class = true
		case c == '{':
			if depth++; depth == 1 {
				open, from = i, i+1
			}
		case c == ',' && depth == 1:
			parts = append(parts, p[from:i])
			from = i + 1
		case c == '}':
			if depth--; depth == 0 {
				var all []string
				for _, part := range append(parts, p[from:i]) {
					all = append(all, expand(p[:open]+part+p[i+1:])...)
				}
				return all
			}
		}
	}
	return []string{p}
}

func anyMatches(t *testing.T, patterns, names []string) bool {
	t.Helper()
	for _, p := range patterns {
		for _, name := range names {
			ok, err := doublestar.Match(p, name)
			if err != nil {
				t.Fatalf("%q: %v", p, err)
			}
			if ok {
				return true
			}
		}
	}
	return false
}

// compare compares match with doublestar's answer for the names. It returns 1 if it matches.
func compare(t *testing.T, match func(string) bool, pattern string, plain []string, name string, names []string) int {
	t.Helper()
	misses := slices.ContainsFunc(plain, func(p string) bool {
		slash := strings.Contains(p, "[^") || strings.Contains(p, "[!")
		return strings.HasSuffix(p, "**/") || slash && strings.Count(p, "*") > 1
	})
	want, got := anyMatches(t, []string{pattern}, names), match(name)
	switch {
	case want && !got, got && !want && !misses && !anyMatches(t, plain, names):
		t.Fatalf("%q matches %q: %v, want %v", pattern, name, got, want)
	case got:
		return 1
	}
	return 0
}

func up(name string) []string {
	all := []string{name}
	for name != "/" && name != "." {
		i := strings.LastIndexByte(name, '/')
		switch {
		case i < 0:
			name = "."
		case i == 0:
			name = "/"
		default:
			name = name[:i]
		}
		all = append(all, name)
	}
	return all
}

// TestDoublestar compares with doublestar, which gives patterns their meaning. Whatever
// matches for it must match. It misses some names that should match: it sees braces behind
// the end of a name only directly there, so that a*{,b} does not match a. And it goes back to
// the last star only, which is wrong if there are stars before a **/ at the end or around a
// class that matches a slash. There we may match if one of the patterns without braces does.
func TestDoublestar(t *testing.T) {
	pieces := []string{
		"a", "b", "a", "/", "/", "*", "**", "/**", "**/", "/**/", "?", "{", "}", ",", "{a,b}", "{a/,}", "{,b}", "[ab]", "[^a]", "[!/]",
		"[a-c]", "[-a]", "[a-]", "[a-b-c]", "[,]", "[}]", `[\]]`, `\*`, `\/`, `\`, "]", "é", "-", "{a,{b,*}}", ".",
	}
	letters := []string{"a", "b", "c", "/", "/", "é", "*", "-", "]", ",", ".", "\xff"}
	source := rand.New(rand.NewPCG(1, 2))
	text := func(from []string, most int) string {
		var b strings.Builder
		for range source.IntN(most + 1) {
			b.WriteString(from[source.IntN(len(from))])
		}
		return b.String()
	}
	valid, matched := 0, 0
	for range 20_000 {
		pattern := text(pieces, 7)
		g, err := glob.Compile(pattern)
		if (err == nil) != doublestar.ValidatePattern(pattern) {
			t.Fatalf("%q: %v, want it valid: %v", pattern, err, doublestar.ValidatePattern(pattern))
		}
		if err != nil {
			continue
		}
		valid++
		plain := expand(pattern)
		for range 12 {
			name := text(letters, 6)
			matched += compare(t, g.Match, pattern, plain, name, []string{name})
			clean := "/" + strings.Trim(strings.ReplaceAll(strings.ReplaceAll(name, "//", "/"), "//", "/"), "/")
			for _, p := range []string{clean, strings.TrimPrefix(clean, "/")} {
				if p != "" {
					compare(t, g.MatchUp, pattern, plain, p, up(p))
				}
			}
		}
	}
	if valid < 5_000 || matched < 5_000 {
		t.Errorf("only %d patterns were valid, and %d names matched", valid, matched)
	}
}

// TestOrdinary shows that patterns as people write them mean exactly what they meant.
func TestOrdinary(t *testing.T) {
	patterns := []string{
		"**/*.go", "src/**", "src/**/*.{ts,tsx}", "{src,test}/**", ".env*", "**/.env", "/a/**/b", "*.[ch]", "docs/*/x?.md", "{a,b}/{c,d}", "**", "*",
	}
	names := []string{
		"a.go", "x/a.go", "x/y/a.go", "src", "src/", "src/a", "src/a/b.ts", "src/b.tsx", "test", "test/x/y", ".env", ".env.local", "x/.env",
		"/a/b", "/a/x/b", "/a/x/y/b", "a.c", "a.h", "docs/a/x1.md", "docs/x1.md", "a/c", "b/d", "c/a", "", "/",
	}
	for _, p := range patterns {
		g, err := glob.Compile(p)
		if err != nil {
			t.Fatal(p, err)
		}
		for _, name := range names {
			if want, _ := doublestar.Match(p, name); g.Match(name) != want {
				t.Errorf("%q matches %q: %v, want %v", p, name, !want, want)
			}
		}
	}
}

// TestTime does not end in a lifetime if time is exponential.
func TestTime(t *testing.T) {
	name := "/" + strings.Repeat("a", 2000)
	for _, p := range []string{
		"/" + strings.Repeat("{a,a}", 300) + "b",
		"/" + strings.Repeat("{*,a*}", 300) + "b",
		"/" + strings.Repeat("{", 300) + "a" + strings.Repeat(",a}", 300) + "b",
		"/" + strings.Repeat("{,}", 500) + "b",
		strings.Repeat("{**/,}", 300) + "b",
		strings.Repeat("/**", 300) + "/b",
		"/" + strings.Repeat("a*", 500) + "b",
	} {
		g, err := glob.Compile(p)
		if err != nil {
			t.Fatal(err)
		}
		if g.Match(name) || g.MatchUp(name+"/c") {
			t.Errorf("%.20q… matches", p)
		}
	}
}
