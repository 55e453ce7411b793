package policy

import "strings"

// sedCommand accepts sed scripts that only print, delete and substitute: others
// may write files or run commands.
func sedCommand(_ *reader, c *call) {
	scripts, given := 0, false
	for i := 1; i < len(c.words); i++ {
		w := c.words[i]
		switch {
		case !w.literal() && w.mayBeFlag():
			c.opaque("a computed argument may be a script for sed")
			return
		case w.text == "-e" || w.text == "--expression":
			given = true
			if i++; i >= len(c.words) || !sedSafe(c.words[i]) {
				c.opaque("the script may make sed write a file or run something")
				return
			}
		case strings.HasPrefix(w.text, "-") && len(w.text) > 1:
			if i == 0 || !sedOption(w.text) {
				c.opaque("with " + show([]word{w}) + ", sed runs a script that is not seen")
				return
			}
		case !given && scripts == 0 && w.text != "": // an empty word may belong to -i
			scripts++
			if !sedSafe(w) {
				c.opaque("the script may make sed write a file or run something")
				return
			}
		}
	}
}

// sedOption reports whether an option of sed takes no script.
func sedOption(w string) bool {
	switch w {
	case "--quiet", "--silent", "--regexp-extended", "--debug", "--posix", "--sandbox", "--null-data", "--separate", "--in-place", "--help", "--version":
		return true
	}
	if rest, ok := strings.CutPrefix(w, "-i"); ok {
		return strings.Trim(rest, ".~abcdefghijklmnopqrstuvwxyz") == ""
	}
	return !strings.HasPrefix(w, "--") && strings.Trim(w[1:], "nErsuz") == ""
}

// sedSafe reads a sed script as far as it is made of addresses and of commands
// that stay inside.
func sedSafe(w word) bool {
	s := w.text
	if !w.literal() {
		return false
	}
	for s != "" {
		var ok bool
		if s, ok = sedStep(s); !ok {
			return false
		}
	}
	return true
}

// sedStep reads one address, command or separator.
func sedStep(s string) (rest string, ok bool) {
	switch c := s[0]; {
	case strings.IndexByte(" \t\n;,!+~$0123456789{}pdDgGhHnNqxP=", c) >= 0:
		return s[1:], true
	case c == '/' || c == '\\' && len(s) > 1:
		if c == '\\' {
			s = s[1:]
		}
		rest, ok = sedUntil(s[1:], s[0])
		return strings.TrimLeft(rest, "I"), ok
	case (c == 's' || c == 'y') && len(s) > 1 && s[1] != '\n' && s[1] != '\\':
		rest, ok = sedUntil(s[2:], s[1])
		if ok {
			rest, ok = sedUntil(rest, s[1])
		}
		// Of the flags, e runs what was substituted and w writes it.
		return strings.TrimLeft(rest, "gpiI0123456789"), ok
	}
	return s, false
}

// sedUntil skips to behind the next delimiter that is not escaped. Inside a
// class a delimiter may stand for itself; such a script is not accepted.
func sedUntil(s string, delimiter byte) (rest string, ok bool) {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case delimiter:
			return s[i+1:], true
		case '[':
			end := strings.IndexByte(s[i:], ']')
			if end < 0 || strings.IndexByte(s[i:i+end], delimiter) >= 0 || strings.IndexByte(s[i:i+end], '\\') >= 0 {
				return s, false
			}
		case '\n':
			return s, false
		}
	}
	return s, false
}

// awkCommand accepts awk programs that only print.
func awkCommand(_ *reader, c *call) {
	for i := 1; i < len(c.words); i++ {
		w := c.words[i]
		switch {
		case !w.literal():
			c.opaque("what awk runs is computed")
			return
		case w.text == "-F" || w.text == "-v":
			i++
			if i < len(c.words) && !c.words[i].literal() {
				c.opaque("an argument of awk is computed")
				return
			}
		case strings.HasPrefix(w.text, "-F") || strings.HasPrefix(w.text, "-v"):
		case w.text == "--":
		case strings.HasPrefix(w.text, "-"):
			c.opaque("with " + show([]word{w}) + ", awk runs a program that is not seen")
			return
		default:
			if !awkSafe(w.text) {
				c.opaque("the program may make awk write a file or run something")
			}
			return
		}
	}
}

func awkSafe(program string) bool {
	program = strings.ReplaceAll(program, "||", "")
	for _, risky := range []string{"system", "getline", "|", ">", "@", "close", "fflush", "extension"} {
		if strings.Contains(program, risky) {
			return false
		}
	}
	return true
}
