package tui

import "strings"

// highlight colours a row of code: comments, strings, numbers and keywords, as far as they
// can be told without a grammar. inNote says that the row begins inside of a comment, and
// whether the next one does.
func highlight(row, lang string, inNote bool) (line, bool) {
	lang = strings.ToLower(lang)
	switch lang {
	case "", "text", "txt", "plain", "output", "console", "md", "markdown":
		return line{{row, code}}, false
	case "diff", "patch":
		return line{{row, diffLook(row)}}, false
	}
	m := marksOf(lang)
	words := keywordsOf(lang)
	var out line
	add := func(s string, k look) {
		if s == "" {
			return
		}
		if n := len(out); n > 0 && out[n-1].look == k {
			out[n-1].text += s
			return
		}
		out = append(out, span{s, k})
	}
	for row != "" {
		if inNote {
			end := strings.Index(row, m.close)
			if end < 0 {
				add(row, codeNote)
				return out, true
			}
			add(row[:end+len(m.close)], codeNote)
			row, inNote = row[end+len(m.close):], false
			continue
		}
		switch c := row[0]; {
		case m.open != "" && strings.HasPrefix(row, m.open):
			add(m.open, codeNote)
			row, inNote = row[len(m.open):], true
		case m.line != "" && strings.HasPrefix(row, m.line):
			add(row, codeNote)
			row = ""
		case c == '"' || c == '\'' && !m.lisp || c == '`':
			n := stringEnd(row)
			add(row[:n], codeText)
			row = row[n:]
		case c >= '0' && c <= '9':
			n := 1
			for n < len(row) && (isWordByte(row[n]) || row[n] == '.') {
				n++
			}
			add(row[:n], codeNum)
			row = row[n:]
		case isWordByte(c) || c == '_':
			n := 1
			for n < len(row) && (isWordByte(row[n]) || row[n] == '_') {
				n++
			}
			k := code
			if strings.Contains(words, " "+row[:n]+" ") {
				k = codeWord
			}
			add(row[:n], k)
			row = row[n:]
		default:
			add(row[:1], code)
			row = row[1:]
		}
	}
	return out, inNote
}

// stringEnd is where the string that begins the row ends.
func stringEnd(row string) int {
	for i := 1; i < len(row); i++ {
		switch row[i] {
		case '\\':
			i++
		case row[0]:
			return i + 1
		}
	}
	if row[0] == '\'' { // an apostrophe, or a lifetime
		return 1
	}
	return len(row)
}

// marks are how comments are written.
type marks struct {
	line, open, close string
	lisp              bool
}

func marksOf(lang string) marks {
	switch lang {
	case "py", "python", "sh", "bash", "zsh", "shell", "fish", "yaml", "yml", "toml", "rb", "ruby", "r", "perl", "make", "makefile", "dockerfile", "ini", "conf", "elixir", "nix":
		return marks{line: "#"}
	case "sql", "lua", "haskell", "hs", "ada":
		return marks{line: "--"}
	case "html", "xml", "svg", "vue", "svelte":
		return marks{open: "<!--", close: "-->"}
	case "css":
		return marks{open: "/*", close: "*/"}
	case "lisp", "clojure", "scheme", "elisp":
		return marks{line: ";", lisp: true}
	case "json":
		return marks{}
	}
	return marks{line: "//", open: "/*", close: "*/"}
}

func keywordsOf(lang string) string {
	const common = " if else for while return break continue true false null nil const switch case default import in "
	switch lang {
	case "go", "golang":
		return common + " func type struct interface map chan go defer select range package var fallthrough string int error bool byte any "
	case "py", "python":
		return " def class if elif else for while return import from as with try except finally raise lambda pass yield async await in is not and or None True False global nonlocal break continue assert del self "
	case "js", "javascript", "ts", "typescript", "tsx", "jsx", "vue", "svelte":
		return common + " function let var class extends new this async await export from type interface implements undefined typeof instanceof of try catch finally throw yield static readonly string number boolean void "
	case "rs", "rust":
		return common + " fn let mut pub struct enum impl trait use mod match loop where self Self ref move async await dyn crate unsafe as Some None Ok Err "
	case "sh", "bash", "zsh", "shell", "fish":
		return " if then else elif fi for while do done case esac in function return export local cd echo set exit source sudo "
	case "c", "cpp", "c++", "h", "hpp", "cc", "java", "cs", "csharp", "kotlin", "kt", "swift", "scala", "php", "dart", "zig":
		return common + " int char void bool float double long short unsigned struct class enum union public private protected static final new this virtual override template typename using namespace try catch throw let var func fun val def function extends implements self string String "
	case "sql":
		return " SELECT FROM WHERE INSERT INTO UPDATE DELETE SET VALUES JOIN LEFT RIGHT INNER ON GROUP BY ORDER LIMIT CREATE TABLE INDEX ALTER DROP AND OR NOT NULL AS IN IS select from where insert into update delete set values join left right inner on group by order limit create table index alter drop and or not null as in is "
	case "rb", "ruby":
		return common + " def end class module do require unless elsif then yield self begin rescue ensure puts attr_accessor "
	}
	return common + " function class let var def "
}

func diffLook(row string) look {
	switch {
	case strings.HasPrefix(row, "+++"), strings.HasPrefix(row, "---"), strings.HasPrefix(row, "@@"), strings.HasPrefix(row, "diff "), strings.HasPrefix(row, "index "):
		return dim
	case strings.HasPrefix(row, "+"):
		return added
	case strings.HasPrefix(row, "-"):
		return removed
	}
	return code
}
