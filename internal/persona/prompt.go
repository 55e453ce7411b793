package persona

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/terret-dev/terret"
)

// Bounds of a system prompt.
const (
	// maxTokens is the most that a system prompt may have. A token is taken to be
	// four characters.
	maxTokens     = 16_000
	charsPerToken = 4
	// maxContext is how much is taken of README.md and of AGENTS.md, in bytes.
	maxContext = 4 << 10
)

// product is the name in the prompt, unless another is given.
const product = "Terret"

// modeTexts tell the agent how it is used.
var modeTexts = map[terret.Mode]string{
	terret.ModeWorkbench: "Interactive workbench mode. Engage conversationally. Explain your reasoning. Ask for clarification when needed.",
	terret.ModePipeline:  "Pipeline execution mode. Execute the task efficiently with minimal interaction. Report results concisely.",
	terret.ModeDirect:    "Direct terminal mode. Execute commands as requested. Minimal commentary.",
}

// PromptRequest says what a system prompt is for.
type PromptRequest struct {
	Dir     string // the project's folder
	Persona *terret.Persona
	Mode    terret.Mode // empty means direct
	Product string      // empty means Terret
	Append  string      // a person's own text, which comes last
}

// Prompt is a system prompt.
type Prompt struct {
	Text   string
	Tokens int      // at a guess
	Notes  []string // what was left out or cut, and why
}

// Prompt puts a system prompt together, to be added to the agent's own: who and
// where it is, README.md and AGENTS.md of the project, the persona's file, what the
// mode asks for, and the person's text. Where that is too much, the persona's file is
// cut first, then AGENTS.md, then README.md, and nothing else.
func (l *Library) Prompt(r PromptRequest) (Prompt, error) {
	if r.Mode == "" {
		r.Mode = terret.ModeDirect
	}
	if err := r.Mode.Validate(); err != nil {
		return Prompt{}, err
	}
	if r.Product == "" {
		r.Product = product
	}
	root, err := open(r.Dir)
	if err != nil {
		return Prompt{}, err
	}
	defer func() { _ = root.Close() }()
	var notes []string
	parts := promptParts{
		base: fmt.Sprintf("You are operating within %s.\nProject root: %s\nMode: %s", r.Product, onOneLine(root.Name()), r.Mode),
		mode: modeTexts[r.Mode],
		own:  strings.TrimSpace(r.Append),
	}
	for _, name := range []string{"README.md", "AGENTS.md"} {
		text, note := l.context(root, name)
		if note != "" {
			notes = append(notes, note)
		}
		parts.texts = append(parts.texts, section{"Contents of " + name + ":", name, text})
	}
	if r.Persona != nil {
		text, err := l.instructions(root, *r.Persona)
		if err != nil {
			return Prompt{}, err
		}
		file := r.Persona.SourceFile
		parts.texts = append(parts.texts, section{"Instructions of the persona " + r.Persona.ID + " (" + file + "):", file, text})
	}
	text, cuts, err := parts.join(maxTokens * charsPerToken)
	if err != nil {
		return Prompt{}, err
	}
	tokens := (utf8.RuneCountInString(text) + charsPerToken - 1) / charsPerToken
	return Prompt{Text: text, Tokens: tokens, Notes: append(notes, cuts...)}, nil
}

// onOneLine keeps a folder's name from being more than a name.
func onOneLine(name string) string {
	if strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) || r == utf8.RuneError }) {
		return strconv.Quote(name)
	}
	return name
}

// context is the beginning of a file that tells about the project, or empty.
func (l *Library) context(root *os.Root, name string) (text, note string) {
	content, more, err := l.read(root, name, maxContext)
	if errors.Is(err, fs.ErrNotExist) {
		return "", ""
	}
	if err != nil {
		return "", name + " is left out: " + err.Error()
	}
	if more {
		for n := 1; n < utf8.UTFMax && n <= len(content); n++ { // not in the middle of a character
			if last := content[len(content)-n:]; utf8.RuneStart(last[0]) {
				if !utf8.FullRune(last) {
					content = content[:len(content)-n]
				}
				break
			}
		}
		note = fmt.Sprintf("%s is cut to its first %d KB", name, maxContext>>10)
	}
	return readable(string(content)), note
}

// readable makes text of what may be anything.
func readable(s string) string {
	s = strings.ReplaceAll(strings.TrimPrefix(s, "\uFEFF"), "\r\n", "\n")
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return utf8.RuneError
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	return strings.TrimSpace(s)
}

// instructions is the persona's whole file.
func (l *Library) instructions(root *os.Root, p terret.Persona) (string, error) {
	name, isPersona := strings.CutPrefix(path.Base(p.SourceFile), prefix)
	if p.SourceFile != path.Join(folder, prefix+name) || !isPersona || !strings.HasSuffix(name, suffix) {
		return "", terret.Invalid("persona", "%q is not the file of a persona", p.SourceFile)
	}
	_, doc, err := l.persona(root, p.SourceFile, p.ID)
	return strings.TrimSpace(doc.Text), err
}

// section is a file in the prompt.
type section struct{ head, file, text string }

// promptParts are the parts of a prompt.
type promptParts struct {
	base, mode, own string
	texts           []section // what is cut: the last first
}

const (
	between = "\n\n"
	cutMark = "\n[cut: the rest is too long]"
)

// join puts the parts together in at most so many characters.
func (p promptParts) join(limit int) (text string, cuts []string, err error) {
	size := utf8.RuneCountInString
	left := limit - size(p.base) - size(between) - size(p.mode)
	if p.own != "" {
		left -= size(between) + size(p.own)
	}
	if left < 0 {
		return "", nil, terret.Invalid("system_append", "the text is too long: a system prompt has at most %d characters", limit)
	}
	all := []string{p.base}
	for _, s := range p.texts {
		if s.text == "" {
			continue
		}
		whole := s.head + between + s.text
		room := left - size(between)
		switch {
		case size(whole) <= room:
		case room <= size(s.head)+size(between)+size(cutMark):
			cuts = append(cuts, s.file+" is left out: the system prompt is too long")
			left = 0 // for what comes behind, too
			continue
		default:
			whole = string([]rune(whole)[:room-size(cutMark)]) + cutMark
			cuts = append(cuts, s.file+" is cut: the system prompt is too long")
		}
		all = append(all, whole)
		left = room - size(whole)
	}
	all = append(all, p.mode)
	if p.own != "" {
		all = append(all, p.own)
	}
	return strings.Join(all, between), cuts, nil
}
