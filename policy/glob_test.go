package policy

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// instances lists the texts that a text with unknown parts may be, of a small
// alphabet.
func instances(text string) []string {
	all := []string{""}
	for _, c := range text {
		var next []string
		for _, prefix := range all {
			switch string(c) {
			case anyText:
				for _, s := range []string{"", "a", "b", "ab", "a" + wordSep + "b", wordSep} {
					next = append(next, prefix+s)
				}
			case maybeWords:
				for _, s := range []string{"", wordSep, wordSep + "a", wordSep + "a" + wordSep + "b"} {
					next = append(next, prefix+s)
				}
			default:
				next = append(next, prefix+string(c))
			}
		}
		all = next
	}
	return all
}

// matches is covers for a text without unknown parts, as one would write it down.
func matches(pattern, text string) bool {
	switch {
	case pattern == "":
		return text == ""
	case pattern[:1] == anyText:
		for i := 0; i <= len(text); i++ {
			if matches(pattern[1:], text[i:]) {
				return true
			}
		}
		return false
	}
	return text != "" && text[0] == pattern[0] && matches(pattern[1:], text[1:])
}

// TestOverlap compares covers and mayMatch with trying all texts.
func TestOverlap(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	pick := func(alphabet string, n int) string {
		var b strings.Builder
		for range random.IntN(n) {
			b.WriteByte(alphabet[random.IntN(len(alphabet))])
		}
		return b.String()
	}
	for range 20_000 {
		pattern := pick("ab"+wordSep+anyText, 6)
		text := pick("ab"+wordSep+anyText, 5)
		all, some := true, false
		for _, s := range instances(text) {
			m := matches(pattern, s)
			all, some = all && m, some || m
		}
		// Whether a pattern covers is not decided fully: it may say no.
		if covers(pattern, text) && !all {
			t.Fatalf("%q does not cover %q", pattern, text)
		}
		if some && !mayMatch(pattern, text) {
			t.Fatalf("%q may match %q", pattern, text)
		}
	}
	for range 20_000 {
		pattern := pick("ab"+wordSep+anyText, 6)
		text := pick("ab"+wordSep+anyText+maybeWords, 4)
		for _, s := range instances(text) {
			if matches(pattern, s) && !mayMatch(pattern, text) {
				t.Fatalf("%q may match %q, as %q", pattern, text, s)
			}
		}
	}
}

func TestCovers(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		pattern, text string
		covers, may   bool
	}{
		{"git", "git", true, true},
		{"git", "gi", false, false},
		{"git*", "git", true, true},
		{"git*", "github", true, true},
		{"*", "?", true, true},
		{"a*", "?", false, true},
		{"a*", "a?", true, true},
		{"a*b", "a?", false, true},
		{"a*b", "a?b", true, true},
		{"a", "?", false, true},
		{"ab", "b?", false, false},
		{"", "", true, true},
		{"", "?", false, true},
		{"git push *", "git push?", false, true},
		{"git push", "git~", false, true},
		{"git push", "git~ push", false, true},
		{"git push", "gi~t push", false, true}, // the words may be none
		{"git push", "git~x", false, false},
		{"lsof *", "ls~", false, false},
		{"ls *", "ls~", false, true},
		{"ls", "ls~", false, true},
	} {
		replace := strings.NewReplacer("*", anyText, "?", anyText, " ", wordSep, "~", maybeWords)
		pattern, text := replace.Replace(test.pattern), replace.Replace(test.text)
		if got := covers(pattern, text); got != test.covers && !strings.Contains(test.text, "~") {
			t.Errorf("%q covers %q: %v", test.pattern, test.text, got)
		}
		if got := mayMatch(pattern, text); got != test.may {
			t.Errorf("%q may match %q: %v", test.pattern, test.text, got)
		}
	}
}

// TestVanishingWords is about expansions that turn out to be no word at all.
func TestVanishingWords(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		rule, command string
		want          string
	}{
		{"Bash(git push)", "git push $nothing", "ask"},
		{"Bash(git push)", "git $nothing push", "ask"},
		{"Bash(foo push)", "foo push \"$nothing\"", "allow"}, // an empty word is a word
		{"Bash(foo push)", "foo pull $nothing", "allow"},
		{"Bash(rm *)", "rm $x", "deny"},
		{"Bash(rm)", "rm $x", "ask"},
		{"Bash(rm x)", "rm $a x $b", "ask"},
		{"Bash(lsof *)", "ls $x", "allow"},
	} {
		if got := Judge(bash(row.command), deny(row.rule), "auto-approve"); string(got.Behavior) != row.want {
			t.Errorf("%s, with %s denied: %s (%s), want %s", row.command, row.rule, got.Behavior, got.Reason, row.want)
		}
	}
}

// TestWords is about what is known of a word before the shell runs.
func TestWords(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"a": "a", "'a b'": "a b", `"a b"`: "a b", `a\ b`: "a b", `a"b"'c'`: "abc", `"a\"b"`: `a"b`, `"\a"`: `\a`, "''": "",
		"$x": "…", `"$x"`: "…", "a$x": "a…", "a${x}b": "a…b", "$HOME": "/home/dev", `"$HOME/a"`: "/home/dev/a", "~": "/home/dev", "~/a": "/home/dev/a", "~b": "…", "a~": "a~", "=a": "…", "a=b": "a=b",
		"*": "…", "a*": "a…", "*.go": "….go", "[a]": "…", "a[b]c": "a…", "?": "…", "{a,b}": "…", "a{b,c}": "a…", "{}": "{}", "a{b}": "a{b}", "{1..3}": "…", "stash@{0}": "stash@{0}",
		"$(a)": "…", `"a$(b)c"`: "a…c", "`a`": "…", "<(a)": "/dev/fd/63", "$x=b": "……", "$x~": "……", "HEAD^": "HEAD^", "a#b": "a#b", `\*`: "*", "'*'": "*", "$'a\\nb'": "a\nb", "$'\\x41'": "A", "$'\\x1'": "…",
	} {
		u := newUse(bash("w " + source))
		if len(u.script.calls) == 0 {
			t.Errorf("%s: it was not read", source)
			continue
		}
		last := u.script.calls[0]
		for _, c := range u.script.calls {
			if c.words[0].text == "w" {
				last = c
			}
		}
		if got := strings.ReplaceAll(last.words[1].text, anyText, "…"); got != want {
			t.Errorf("%s: %q, want %q", source, got, want)
		}
	}
}
